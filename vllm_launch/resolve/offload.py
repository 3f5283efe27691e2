"""Where KV cache goes beside the GPUs' memory: by an option, into a shared store, or nowhere."""

from __future__ import annotations

from ..errors import UsageError, did_you_mean
from ..model.record import Record
from .stores import check_offload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.choice import Choice
    from ..model.recipe import Recipe
    from ..model.source import Arguments, Variables
    from ..model.strategy import KvStore, Strategy
    from ..model.taxonomy import Companion, KvOffloadOption
    from .resolver import Words


class Offload(Record):
    """What was picked: an option or a store."""

    option: KvOffloadOption | None = None
    store: KvStore | None = None
    instances: int = 1  # that share the store

    def args(self, role: str | None) -> Arguments:
        """What a server is given; ``role`` is a pool's, or None."""
        if self.option is not None:
            return self.option.args
        if self.store is None:
            return ()
        if role is None:
            return self.store.vllm.vllm_args
        return self.store.pd.prefill.args if role == "prefill" else self.store.pd.decode.args

    @property
    def companion(self) -> Companion | None:
        """What an option runs beside each server."""
        return self.option.companion if self.option is not None else None

    @property
    def env(self) -> Variables:
        """The variables of every server."""
        if self.option is not None:
            return self.option.env
        return self.store.vllm.env if self.store is not None else ()


def offload_of(choice: Choice, recipe: Recipe, strategy: Strategy, words: Words) -> Offload | None:
    """The KV offload option of a choice, or the store that it names instead.

    Raises UsageError or NothingFits for what does not go with the recipe, strategy or hardware.
    """
    name, instances = choice.kv_offload, choice.request.instances
    option = words.taxonomy.kv_offload.get(name) if name else None
    store = None
    if option is not None:
        check_offload(option, recipe, strategy, choice.hardware)
    elif name is not None:
        store = _store(name, words)
    if store is None and instances is not None:
        raise UsageError(
            "instances share a KV store, and none is asked for",
            hint="give --kv-offload kv_store_…, or leave --instances out",
        )
    if strategy.deploy_type == "pd_cluster" and (instances or 1) > 1:
        raise UsageError(
            "several instances of a pd_cluster are not one deployment",
            hint="leave --instances out, and size the pools with --prefill and --decode",
        )
    if store is not None:
        return Offload(store=store, instances=instances or store.default_instances)
    return Offload(option=option) if option is not None else None


def _store(name: str, words: Words) -> KvStore:
    """The store of that name. Raises UsageError with what there is instead."""
    try:
        return words.kv_store(name)
    except UsageError:
        options, stores = tuple(words.taxonomy.kv_offload), words.kv_stores()
        near = did_you_mean(name, (*options, *stores))
        known = f"options: {', '.join(options)}; stores: {', '.join(stores) or 'none'}"
        raise UsageError(
            f"{name!r} is no KV offload option and no KV store",
            hint=" ".join(filter(None, (near, known))),
        ) from None
