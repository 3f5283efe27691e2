"""fit: which variants fit under which strategies, and what would do where they do not."""

from __future__ import annotations

import os

from ..host.checkpoint import find, read
from ..model.choice import Request
from ..resolve.fit import Load, fits
from ..resolve.resolver import Resolver
from ..streams import answer
from .find import find_model
from .hardware import for_hardware

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..commandline import Invocation
    from ..model.checkpoint import Checkpoint
    from ..model.taxonomy import HardwareProfile
    from ..resolve.fit import Fit
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the table of variants and strategies."""
    found = find_model(invocation.argument or "", settings)
    request, _ = for_hardware(Request(), settings, found.library.taxonomy, found)
    load = Load(
        checkpoint=_checkpoint(found),
        max_model_len=settings["max_model_len"],
        concurrency=settings["concurrency"] or 1,
    )
    hardware, table = table_for(found, request, load)
    if settings["output"] == "json":
        from ..render.envelope import envelope
        from ..render.fit import fit_record

        verified = found.checkpoint is None
        answer(envelope("fit", fit_record(hardware, table, verified=verified)))
    else:
        from ..render.fit import fit_text

        answer(fit_text(hardware, table))
    return 0


def table_for(
    found: Found, request: Request, load: Load
) -> tuple[HardwareProfile, tuple[Fit, ...]]:
    """What of a recipe fits where it is planned for. Raises UsageError for unknown hardware."""
    resolver = Resolver(found.recipe, found.library)
    hardware = resolver.chooser.hardware(request)
    if found.checkpoint is not None:
        from ..resolve.unrecorded import planned

        recipe = planned(found.recipe, found.checkpoint, hardware)
        resolver = Resolver(recipe, found.library)
    return hardware, fits(resolver, request, hardware, load)


def _checkpoint(found: Found) -> Checkpoint | None:
    """The model's own config, where it is local or in the hub cache."""
    path = find(found.model_path or found.recipe.model.model_id, os.environ)
    return read(path) if path is not None else None
