"""detect: what GPUs this host has, and which profile they are."""

from __future__ import annotations

import os

from ..catalog.shelf import Shelf
from ..host.facts import read_host
from ..host.node import with_images, with_node
from ..resolve.masks import visible
from ..resolve.match import match_profile
from ..streams import answer, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the host's facts and the matched profile; save them where asked to."""
    facts = with_node(read_host())
    if settings["with_hostname"]:
        facts = facts.replace(hostname=os.uname().nodename)
    profiles = (
        Shelf(settings.listed("recipes_dir"), settings.listed("sources"))
        .libraries[0]
        .taxonomy.hardware_profiles
    )
    seen = visible(facts.gpus, os.environ)
    match = match_profile(seen.gpus, profiles)
    if settings["save"]:
        from ..host.facts_file import save

        save(with_images(facts), settings["save"])
        remark(f"wrote {settings['save']}\n")
    if settings["output"] == "json":
        from ..render.detection import detection_record
        from ..render.envelope import envelope

        answer(envelope("host", detection_record(facts, match)))
    else:
        from ..render.detection import detection

        answer(detection(facts, match, seen))
    return 0
