"""Kubernetes manifests: one YAML stream, which ``kubectl apply -f`` takes as it is."""

from __future__ import annotations

from .. import ExportFile, commented
from ..yamltext import yaml_stream
from .addresses import Addresses
from .groups import groups
from .notes import notes
from .settings import settings_of
from .workloads import documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .. import Brief


def files(brief: Brief) -> tuple[ExportFile, ...]:
    """The manifests of a deployment, in the order in which they are to be made.

    Raises UsageError for what no manifest can say: no image, a placeholder that nothing fills.
    """
    settings = settings_of(brief)
    found = groups(brief.parts)
    addresses = Addresses.of(brief, settings, found)
    objects = documents(brief, settings, found, addresses)
    header = commented(brief.replace(header=(*brief.header, *notes(brief, settings, found))))
    return (ExportFile(name=f"{settings.name}.yaml", text=header + yaml_stream(objects)),)
