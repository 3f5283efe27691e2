"""The model's files: access, downloads, disk."""

from __future__ import annotations

from .symptom import Symptom, Try

HUB = (
    Symptom(
        code="HF_GATED",
        hint="gated",
        pattern=r"gated repo|GatedRepoError|awaiting a review from the repo authors"
        r"|restricted and you are not in the authorized list",
        what="the model is gated, and this token has no access to it",
        remedy="Ask for access on the model's page, then hand a token on by name.",
        next=Try(instead="hf auth login"),
    ),
    Symptom(
        code="HF_GATED",
        hint="401",
        pattern=r"401 Client Error|Invalid (?:user|username or) (?:token|password)"
        r"|Invalid credentials in Authorization header",
        what="the hub refused the token, or there was none",
        remedy="Export a token that is valid; the launcher hands it on by name.",
        next=Try(instead="hf auth login"),
    ),
    Symptom(
        code="HF_OFFLINE",
        hint="offline",
        pattern=r"(?:outgoing traffic has been disabled|HF_HUB_OFFLINE|LocalEntryNotFoundError)"
        r"|offline mode is enabled",
        what="the hub is not to be asked, and the model is not in the cache",
        remedy="Download it first, or unset HF_HUB_OFFLINE.",
        next=Try(instead="unset HF_HUB_OFFLINE"),
    ),
    Symptom(
        code="HF_OFFLINE",
        hint="connect to",
        pattern=r"(?:couldn't connect to|Failed to connect to|Max retries exceeded).*huggingface"
        r"|couldn't connect to 'https://huggingface\.co'",
        what="the hub cannot be reached, and the model is not in the cache",
        remedy="Mend the network or the proxy, or copy the model into the cache.",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="HF_NAME",
        hint="model identifier",
        pattern=r"is not a local folder and is not a valid model identifier"
        r"|RepositoryNotFoundError|404 Client Error.*huggingface",
        what="the hub has no such model, or hides it from this token",
        remedy="Look at the name; a private one needs a token.",
        next=Try(subcommand="explain"),
    ),
    Symptom(
        code="MODEL_INCOMPLETE",
        hint="safetensor",
        pattern=r"SafetensorError|(?:IncompleteMetadata|HeaderTooLarge|InvalidHeader)"
        r"|Cannot find any model weights",
        what="a file of the weights is cut short or missing",
        remedy="Have the missing files downloaded anew; check names them.",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="DISK",
        hint="no space left on device",
        pattern=r"No space left on device|\[Errno 28\]|os error 28",
        what="the disk is full",
        remedy="Free space, or put the hub's cache elsewhere.",
        next=Try(instead="export HF_HOME=/large/disk"),
    ),
)
