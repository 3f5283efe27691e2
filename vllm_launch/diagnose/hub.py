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
        hint="huggingface",
        pattern=r"(?:couldn't connect to|Failed to connect to|Max retries exceeded).*huggingface"
        r"|huggingface\.co.*Max retries exceeded",
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
        code="MODEL_INCOMPLETE",
        hint="can",
        pattern=r"Can't load (?:tokenizer|the configuration|image processor|feature extractor)"
        r"|Cannot (?:find|load) (?:the )?tokenizer",
        what="the model has no tokenizer or configuration that can be read",
        remedy="Have the missing files downloaded anew; check names them.",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="MODEL_INCOMPLETE",
        hint="does not appear to have",
        pattern=r"does not appear to have a file named",
        what="a file of the model is missing",
        remedy="Have the missing files downloaded anew; check names them.",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="HF_BUSY",
        hint="429",
        pattern=r"429 Client Error|429 Too Many Requests",
        what="the hub takes no more requests from here for now",
        remedy="Wait, and log in: with a token more are taken.",
        next=Try(instead="hf auth login"),
    ),
    Symptom(
        code="HF_XET",
        hint="cas service error",
        pattern=r"CAS service error",
        what="the hub's storage for large files was not reached, or refused",
        remedy="Download without it; a proxy may let huggingface.co through and not its storage.",
        next=Try(options=("--env", "HF_HUB_DISABLE_XET=1")),
    ),
    Symptom(
        code="CACHE_RIGHTS",
        hint="permission denied",
        pattern=r"Permission denied: '[^']*(?:huggingface|\.cache|/hub)\b",
        what="the cache is another user's, as after a run by root or in a container",
        remedy="Give it back to this user, or name another with HF_HOME.",
        next=Try(instead='sudo chown -R "$USER" ~/.cache'),
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
