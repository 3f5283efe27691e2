"""Access to the model: offline mode, gated repositories."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .disk import reads_weights
from .units import counted, quoted
from .unread import not_saved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .situation import Situation

# Owners that gate most of what they publish. Only a hint, and said as one.
_GATED = ("meta-llama/", "google/gemma", "CohereLabs/", "black-forest-labs/")


def reachable(situation: Situation) -> Iterable[Finding] | None:
    """Offline mode, with all files in the cache."""
    weights, hub = situation.system.weights, situation.system.hub
    if not reads_weights(situation):
        return None
    if hub is None or weights is None:
        return not_saved(situation, "hub")
    if not hub.offline:
        return None
    if weights.local or weights.complete:
        return []
    if weights.present and weights.expected is None and weights.present_bytes:
        return []  # weights of a form that has no index
    model = situation.process.model
    lacking = (
        f"{counted(len(weights.missing), 'weight file')} of {model}" if weights.missing else ""
    )
    absent = f"{lacking} missing" if lacking else f"{model} is not there"
    return [
        Finding(
            severity="fail",
            what=f"{hub.offline} is set, and in the cache ({hub.cache}) {absent}",
            why="Nothing may be downloaded, so the server stops at once.",
            remedy="Download the model beforehand, or unset the variable.",
            command=f"{hub.offline}=0 hf download {quoted(model)}",
            cause=hub.offline,
        )
    ]


def allowed(situation: Situation) -> Iterable[Finding] | None:
    """Access to gated models."""
    weights, hub = situation.system.weights, situation.system.hub
    if not reads_weights(situation):
        return None
    if hub is None or weights is None:
        return not_saved(situation, "hub")
    if weights.local or weights.complete or hub.offline:
        return []
    model = situation.process.model
    by_status = {
        401: _refused(model, hub.token),
        403: Finding(
            severity="fail",
            what=f"the hub refuses {model} to this token (403)",
            why="The model is gated, and this account has not been let in.",
            remedy=f"Ask for access at https://huggingface.co/{model}.",
            cause="HF_TOKEN",
        ),
        404: Finding(
            severity="fail",
            what=f"the hub has no {model} (404)",
            why="The name is wrong, or the repository is private and the token is not its owner's.",
            remedy="Check the name, and the token.",
        ),
    }
    status = situation.system.hub_status
    if status is not None:
        return [by_status[status]] if status in by_status else []
    if hub.token or not model.startswith(_GATED):
        return []
    return [
        Finding(
            severity="warn",
            what=f"no token for the hub, and {model.partition('/')[0]} gates its models",
            why="The download of a gated model is refused without one.",
            remedy="Accept the model's terms on its page, then log in or export HF_TOKEN.",
            command="hf auth login",
            cause="HF_TOKEN",
        )
    ]


def _refused(model: str, has_token: bool) -> Finding:
    return Finding(
        severity="fail",
        what=f"the hub asks for a {'valid ' if has_token else ''}token for {model} (401)",
        why="The model is gated or private.",
        remedy="Log in with a token that may read it, or export HF_TOKEN.",
        command="hf auth login",
        cause="HF_TOKEN",
    )


def callers_home(situation: Situation) -> Iterable[Finding] | None:
    """Under sudo the home directory changes, and the cache with it."""
    weights, hub = situation.system.weights, situation.system.hub
    if not reads_weights(situation):
        return None
    if hub is None or weights is None:
        return not_saved(situation, "hub")
    if weights.local:
        return None
    if weights.complete or not hub.elsewhere:
        return []
    return [
        Finding(
            severity="warn",
            what=f"{situation.process.model} is in {hub.elsewhere}, and {hub.cache} is looked into",
            why="sudo changed the home directory: the model would be downloaded again.",
            remedy="Start without sudo, or name the cache that has it.",
            command=f"export HF_HUB_CACHE={quoted(hub.elsewhere)}",
            cause="HF_HUB_CACHE",
        )
    ]


CHECKS = (
    Check(
        code="SUDO_HOME",
        subject="model",
        about="the cache that is looked into is the one that has the model",
        run=callers_home,
    ),
    Check(
        code="HF_OFFLINE",
        subject="model",
        about="offline mode, with the model in the cache",
        run=reachable,
    ),
    Check(
        code="HF_GATED",
        subject="model",
        about="a token for gated models; its value is never read out",
        run=allowed,
    ),
)
