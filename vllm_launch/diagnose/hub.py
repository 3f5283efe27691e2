"""The model's files: access, downloads, disk."""

from __future__ import annotations

from .symptom import Symptom, Try

HUB = (
    *(
        Symptom(
            code="HF_NAME",
            hint=hint,
            pattern=pattern,
            what="the hub has no such model, or hides it from this token",
            remedy="Look at the name; a private one needs a token.",
            next=Try(subcommand="explain"),
        )
        for hint, pattern in (
            ("model identifier", r"is not a local folder and is not a valid model identifier"),
            ("repositorynotfounderror", r"RepositoryNotFoundError"),
            ("repository not found", r"Repository Not Found for url"),
        )
    ),
    Symptom(
        code="HF_GATED",
        hint="gated",
        pattern=r"access (?:a )?gated repo|GatedRepoError|awaiting a review from the repo authors"
        r"|restricted and you are not in the authorized list|is a gated repository",
        what="the model is gated, and this token has no access to it",
        remedy="Ask for access on the model's page, then hand a token on by name.",
        next=Try(instead="hf auth login"),
    ),
    Symptom(
        code="HF_GATED",
        hint="401",
        pattern=r"^(?!.*RepositoryNotFound).*401 Client Error"
        r"|Invalid (?:user|username or) (?:token|password)"
        r"|Invalid credentials in Authorization header",
        what="the hub refused the token, or there was none",
        remedy="Export a token that is valid; the launcher hands it on by name.",
        next=Try(instead="hf auth login"),
    ),
    *(
        Symptom(
            code="HF_OFFLINE",
            hint=said,
            pattern=said,
            what="the hub is not to be asked, and the model is not in the cache",
            remedy="Download it first, or unset HF_HUB_OFFLINE.",
            next=Try(instead="unset HF_HUB_OFFLINE"),
        )
        for said in ("outgoing traffic has been disabled", "offline mode is enabled")
    ),
    Symptom(
        code="HF_OFFLINE",
        hint="locate the file on the hub",
        pattern=r"trying to locate the file on the Hub and we cannot find",
        what="the hub cannot be reached, and the model is not in the cache",
        remedy="Mend the network or the proxy, or copy the model into the cache.",
        next=Try(subcommand="check"),
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
        hint="backend tokenizer",
        pattern=r"Couldn't instantiate the backend tokenizer",
        what="the model has no tokenizer that can be read, or a package that reads it is missing",
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
        pattern=r"(?:HfHubHTTPError|huggingface).*\b429\b"
        r"|\b429 (?:Client Error|Too Many).*huggingface|HTTPError: 429",
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
        pattern=r"^(?!.*(?:/dev/shm|shared memory|posix_fallocate))"
        r"(?!.*(?:<|: '?)/(?:psm_|sem\.|torch_\d))"
        r".*(?:No space left on device|\[Errno 28\]|os error 28)",
        what="the disk is full",
        remedy="Free space, or put the hub's cache elsewhere.",
        next=Try(instead="export HF_HOME=/large/disk"),
    ),
    Symptom(
        code="DISK",
        hint="disk quota exceeded",
        pattern=r"Disk quota exceeded",
        what="this user may write no more to that disk",
        remedy="Free space, or put the hub's cache elsewhere.",
        next=Try(instead="export HF_HOME=/large/disk"),
    ),
    Symptom(
        code="DISK",
        hint="read-only file system",
        pattern=r"Read-only file system",
        what="the server writes to a place that can only be read",
        remedy="Put the caches where it may write: HF_HOME and VLLM_CACHE_ROOT say where.",
        next=Try(options=("--env", "VLLM_CACHE_ROOT=/tmp/vllm")),
    ),
)
