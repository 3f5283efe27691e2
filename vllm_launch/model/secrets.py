"""What a secret looks like, by its name or by itself, and a text as it can be told. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Variables that hold one end with such a word, and the server's flags with a variable instead.
_WORDS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "_KEY", "_KEY_ID",
          "CREDENTIAL", "CREDENTIALS", "_PAT", "_PASS", "CONNECTION_STRING")  # fmt: skip
# Whatever stands around them. Most that end in TOKEN alone name a text's: "eos_token".
_CERTAIN = ("API_KEY", "PASSWORD", "SECRET", "ACCESS_KEY", "HF_TOKEN", "HUB_TOKEN", "API_TOKEN",
            "AUTH_TOKEN", "ACCESS_TOKEN", "BEARER_TOKEN", "SESSION_TOKEN")  # fmt: skip
_NO_SECRETS = ("TOKENIZERS_PARALLELISM", "GOOGLE_APPLICATION_CREDENTIALS")  # the last is a path
# --hf-token alone, without a value, is none: it names the token that is saved at home.
SECRET_FLAGS = {"--api-key": "VLLM_API_KEY", "--hf-token": "HF_TOKEN"}
# argparse takes what is left of a flag for the flag, from where no other begins so.
_SHORTEST = {"--api-k": "--api-key", "--hf-t": "--hf-token"}
_NOT_IN_USERS = frozenset("\"'<>, \t\n")  # an @ behind them is another text's
_TOKENS = ("hf_", "sk-", "ghp_", "github_pat_", "AKIA")  # how well-known makers' begin
# Names of directories may begin so too, and have no such run of letters and digits.
_TOKEN = rf"\b({'|'.join(_TOKENS)})(?=[\w-]*?[A-Za-z0-9]{{16}})[A-Za-z0-9_-]+"
# Their own shapes: for one of these a launch is refused. A directory's or a model's name is none.
_APART = r"(?<![\w.-])(?<!(?<!:/)/)"  # not within a name; behind a / only where an address begins
_SHAPES = (
    rf"{_APART}hf_(?![0-9a-f]+\b)[A-Za-z0-9]{{30,}}(?![\w./-])"
    rf"|{_APART}sk-(?:(?:proj|ant|or|svcacct|admin)-[\w-]*?)?[A-Za-z0-9]{{20}}"
    r"|\b(?:ghp_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9]{22}|AKIA[A-Z0-9]{16}\b)"
)
# What is no word, under the key "token". "pad_token" and others of a tokenizer's are a text's.
_UNDER_TOKEN = r'"TOKEN":"(?=[^"]*[0-9])(?=[^"]*[A-Z])[A-Z0-9_.-]{20,}"'  # noqa: S105 - no password
_SIGNS = ("://", "earer ", *_TOKENS)
_HIDDEN = "…"
_NONE_GIVEN = ('"', "$", 'EMPTY"')  # the last is what a server without a key is sent
_SHORTEST_BORNE = 16  # characters behind "bearer" that are no word of a text


def is_secret(name: str) -> bool:
    """Whether a variable's name says that its value is a secret."""
    return name not in _NO_SECRETS and name.upper().endswith(_WORDS)


def secret_flag(token: str) -> str:
    """The flag that a word is, or an abbreviation of, where its value is a secret; else ""."""
    flag = token.partition("=")[0].replace("_", "-")
    return next((f for s, f in _SHORTEST.items() if flag.startswith(s) and f.startswith(flag)), "")


def holds_password(text: str) -> bool:
    """Whether there is an address with a user's password, as a proxy's may have, in a text."""
    for rest in text.split("://")[1:]:
        user, at, _ = rest.partition("/")[0].rpartition("@")
        if at and ":" in user and not user.endswith(":") and _NOT_IN_USERS.isdisjoint(user):
            return True
    return False


def holds_token(text: str) -> bool:
    """Whether there may be a token of a well-known maker's in a text: one not to be kept."""
    return _has_token(text, _TOKEN)


def _has_token(text: str, form: str) -> bool:
    if not any(sign in text for sign in _TOKENS):
        return False
    import re

    return re.search(form, text) is not None


def secret_in(text: str) -> str:
    """What of a text is a secret by its form; "" where nothing is."""
    if holds_password(text):
        return "an address with a password"
    if "earer " in text and _bears_token(text):
        return "a header with a token"
    if _has_token(text, _SHAPES):
        return "a token"
    return "JSON with a key or password" if "{" in text and _in_json(text) else ""


def secret_among(words: Sequence[str], *, in_shell: bool = False) -> str:
    """The first of a command's words that is a secret's flag, or what one holds; else "".

    Where a shell reads the words, those that begin with $ stand for a value and hold none.
    """
    for word, follower in zip(words, (*words[1:], ""), strict=False):
        found = "" if in_shell and _is_variable(word, follower) else _flag_of_secret(word, follower)
        found = found or secret_in(word.replace(":$", "$") if in_shell else word)
        if found:
            return found
    return ""


def _is_variable(flag: str, follower: str) -> bool:
    """Whether a flag's value, behind its = or in the word that follows, is a shell's variable."""
    _, equals, value = flag.partition("=")
    return (value if equals else follower).lstrip("\"'").startswith("$")


def _flag_of_secret(word: str, follower: str) -> str:
    """The flag that a word is, where its name says that its value is a secret; else ""."""
    name, equals, _ = word.partition("=")
    has_value = equals or (follower and follower[0] != "-")
    flag = secret_flag(word)
    if flag and (has_value or flag == "--api-key"):
        return flag
    return name if has_value and name[:2] == "--" and _says_secret(name) else ""


def _bears_token(text: str) -> bool:
    """Whether what follows "Bearer" is a token: no variable, and in a text no short word."""
    shortest = 1 if "uthorization" in text else _SHORTEST_BORNE
    borne = (rest.split(None, 1)[:1] for rest in text.split("earer ")[1:])
    words = [word.strip("\"'") for found in borne for word in found]
    return any(len(word) >= shortest and word[0] != "$" for word in words)


def _says_secret(flag: str) -> bool:
    """Whether a flag's name, or its last part, is that of a secret; tokens of texts are none."""
    return flag.upper().replace("-", "_").endswith(_CERTAIN)


def _in_json(text: str) -> bool:
    """Whether JSON gives text to a key that names a secret, and no placeholder."""
    upper = "".join(text.split()).upper()
    given = (rest for word in _CERTAIN for rest in upper.split(f'{word}":"')[1:])
    if any(rest and not rest.startswith(_NONE_GIVEN) for rest in given):
        return True
    if '"TOKEN":"' not in upper:
        return False
    import re

    return re.search(_UNDER_TOKEN, upper) is not None


def concealed(text: str) -> str:
    """A text as it can be told and kept: secrets that can be known by their form left out.

    These are what stands before an address's @ and behind its ?, values of variables and options
    whose names say so, and the tokens of well-known makers.
    """
    upper = text.upper().replace("-", "_")
    named = "=" in text and any(word in upper for word in _WORDS)
    if named or any(sign in text for sign in _SIGNS):
        return _concealed(text)
    return text


def _concealed(text: str) -> str:
    import re

    text = re.sub(r"(?<=://)[^\s/'\"]*@", f"{_HIDDEN}@", text)
    text = re.sub(r"(://[^\s?'\"]+\?)[^\s'\"#]+", rf"\1{_HIDDEN}", text)
    text = re.sub(_TOKEN, rf"\1{_HIDDEN}", text)
    text = re.sub(r"\b([Bb]earer )[^\s'\"…]+", rf"\1{_HIDDEN}", text)

    def named(match: re.Match[str]) -> str:
        name = match[1].lstrip("-").replace("-", "_")
        return f"{match[1]}={_HIDDEN}" if is_secret(name) else match[0]

    return re.sub(r"([A-Za-z_-][\w-]*)=(?![$…\s'\",)])[^\s'\"]+", named, text)
