"""Which variants of many recipes fit a machine: the verdicts of fit, the machine read once."""

from __future__ import annotations

from ..errors import LaunchError
from ..model.choice import Request
from ..resolve.fit import Load
from ..streams import remark
from .fit import table_for
from .hardware import for_hardware

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..catalog.shelf import Shelf
    from ..resolve.on_host import Host
    from ..settings import Settings


def fitting_variants(
    shelf: Shelf, ids: Iterable[str], settings: Settings
) -> dict[str, tuple[str, ...]]:
    """The variants of each recipe that fit one machine under some strategy.

    A recipe that cannot be read is told about, and has none. Raises LaunchError where there is no
    such machine.
    """
    hosts: dict[int, Host | None] = {}  # by the words that they were matched with
    fitting: dict[str, tuple[str, ...]] = {}
    for recipe_id in ids:
        fitting[recipe_id] = ()
        try:
            found = shelf.find(recipe_id)
        except LaunchError as error:
            remark(f"warning: {error.message}\n")
            continue
        words = found.library.taxonomy
        request, hosts[id(words)] = for_hardware(
            Request(), settings, words, found, hosts.get(id(words))
        )
        _, table = table_for(found, request, Load())
        here = (fit.variant for fit in table if fit.fits and fit.nodes == 1)
        fitting[recipe_id] = tuple(dict.fromkeys(here))
    return fitting
