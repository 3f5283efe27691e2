"""fit: which variants fit under which strategies, and what would do where they do not."""

from __future__ import annotations

import os
import sys

from ..catalog.shelf import Shelf
from ..host.checkpoint import find, read
from ..model.choice import Request
from ..resolve.fit import Load, fits
from ..resolve.resolver import Resolver
from .plan import for_hardware

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
    found = Shelf(settings.listed("recipes_dir"), settings.listed("sources")).find(
        invocation.argument or ""
    )
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

        sys.stdout.write(envelope("fit", fit_record(hardware, table)))
    else:
        from ..render.fit import fit_text

        sys.stdout.write(fit_text(hardware, table))
    return 0


def table_for(
    found: Found, request: Request, load: Load
) -> tuple[HardwareProfile, tuple[Fit, ...]]:
    """What of a recipe fits where it is planned for. Raises NothingFits where nothing could."""
    library = found.library
    resolver = Resolver(found.recipe, library.taxonomy, library.strategy, library.kv_store)
    hardware = resolver.choose(request.replace(variant=found.variant)).hardware
    return hardware, fits(resolver, request, hardware, load)


def _checkpoint(found: Found) -> Checkpoint | None:
    """The model's own config, where it is local or in the hub cache."""
    path = find(found.model_path or found.recipe.model.model_id, os.environ)
    return read(path) if path is not None else None
