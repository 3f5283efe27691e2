"""Which value each option has, and what set it: the command line, a variable or the config."""

from __future__ import annotations

import os

from .errors import RecipeError, UsageError
from .model.record import Record
from .options import COMMANDS, GLOBAL, Option, checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from .catalog.reading import Reading
    from .catalog.tree import Node

_PREFIX = "VLLM_LAUNCH_"
_BY_ALL = 0o002  # of a mode: every user may write
_PATHS = ("DIR", "DIR|FILE|URL", "FILE", "FILE|-")


class Setting(Record):
    """A value and what set it: "--tp", "VLLM_LAUNCH_TP", "config.yaml:3"."""

    value: Any
    source: str


class Settings:
    """The options of one run by name; one that nothing set is None."""

    def __init__(self, settings: dict[str, Setting]) -> None:
        self._settings = settings

    def __getitem__(self, name: str) -> Any:
        setting = self._settings.get(name)
        return setting.value if setting is not None else None

    def source(self, name: str) -> str:
        """What set an option; "" where nothing did."""
        setting = self._settings.get(name)
        return setting.source if setting is not None else ""

    def listed(self, name: str) -> tuple[str, ...]:
        """The values of an option that may be given several times."""
        return tuple(self[name] or ())

    def outranks(self, name: str, other: str) -> bool:
        """Whether an option was set nearer to the command line than another that was set."""
        return _rank(self.source(name)) < _rank(self.source(other))

    def __iter__(self) -> Iterator[tuple[str, Any, str]]:
        """Every option that was set: its name, value and what set it."""
        for name, setting in self._settings.items():
            yield name, setting.value, setting.source


def _rank(source: str) -> int:
    """The command line's options first, then variables, then a settings file's lines."""
    if source.startswith("-"):
        return 0
    return 1 if source.startswith(_PREFIX) else 2


def settle(
    options: tuple[Option, ...], given: Mapping[str, Any], environ: Mapping[str, str]
) -> Settings:
    """The value of each option: the command line's, else the variable's, else the config's.

    Raises UsageError for a value that cannot be, naming what set it.
    """
    settings = {}
    config: Mapping[str, Setting] = {}
    config_path, source = _config_path(given, environ)
    if config_path is not None:
        config = _read_config(config_path, source, options)
    for option in (*GLOBAL, *options):
        setting = _setting(option, given, environ, config)
        if setting is not None:
            settings[option.name] = setting
    return Settings(settings)


def unknown_variables(environ: Iterable[str]) -> Iterator[str]:
    """A sentence for each variable that is named as an option's, and is none's."""
    ours = {name.removeprefix(_PREFIX) for name in environ if name.startswith(_PREFIX)}
    if not ours:
        return
    known = {o.name.upper() for o in (*GLOBAL, *(o for c in COMMANDS for o in c.options))}
    for name in sorted(ours - known):
        if not _of_a_service(name):
            from .errors import did_you_mean

            near = did_you_mean(name, known).replace("mean '", f"mean '{_PREFIX}")
            yield f"{_PREFIX}{name} sets no option" + (f" ({near})" if near else "")


def _of_a_service(name: str) -> bool:
    """Whether it is a variable that Kubernetes gives pods beside a service named vllm-launch."""
    head, _, tail = name.partition("_")
    return (head, tail[:4]) in (("SERVICE", "HOST"), ("SERVICE", "PORT")) or (
        head == "PORT" and tail[:1].isdecimal()
    )


def _setting(
    option: Option,
    given: Mapping[str, Any],
    environ: Mapping[str, str],
    config: Mapping[str, Setting],
) -> Setting | None:
    if option.name in given:
        source = next(flag for flag in option.flags if flag.startswith("--"))
        return Setting(value=_value(option, given[option.name], source), source=source)
    text = environ.get(option.variable)
    if text and not _of_another(option, text):
        raw = [part for part in text.split(",") if part] if option.many else text
        return Setting(value=_value(option, raw, option.variable), source=option.variable)
    return config.get(option.name)


def _of_another(option: Option, text: str) -> bool:
    """Whether a choice is none of this command's, and one of the same option of another."""
    if not option.choices or text in option.choices:
        return False
    same = (o for command in COMMANDS for o in command.options if o.name == option.name)
    return any(text in o.choices for o in same)


def _value(option: Option, raw: Any, source: str) -> Any:
    if raw is True:
        return True
    if option.many:
        return tuple(_checked(option, text, source) for text in raw)
    return _checked(option, raw, source)


def _checked(option: Option, text: str, source: str) -> Any:
    try:
        value = checked(option, text)
        if value == "":  # "$GPUS" where GPUS is not set
            raise ValueError(option.metavar)
    except ValueError as error:
        if option.kind == "source":
            from .catalog.sources import masked

            text = masked(text)
        hint = "" if text else "give it a value, or leave it out"
        if option.kind == "port" and "://" in text:  # VLLM_LAUNCH_PORT=tcp://10.0.0.1:80
            hint = (
                "Kubernetes sets this beside a service called vllm-launch: "
                "give that another name, or the pod enableServiceLinks: false"
            )
        raise UsageError(f"{source}: found {text!r}; expected {error}", hint=hint) from None
    return os.path.expanduser(value) if option.metavar in _PATHS else value


def _config_path(given: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str | None, str]:
    """The settings file that is asked for, or the user's own where there is one."""
    asked = given.get("config") or environ.get("VLLM_LAUNCH_CONFIG")
    if asked:
        return os.path.expanduser(asked), asked
    from .catalog.files import config_directory

    path = os.path.join(config_directory(), "config.yaml")
    if not (os.path.isabs(path) and os.path.isfile(path)):
        return None, ""
    _refuse_open(path)
    return path, path


def _refuse_open(path: str) -> None:
    """Raise UsageError for a settings file that every user of the machine can write."""
    for each in (path, os.path.dirname(path)):
        if os.stat(each).st_mode & _BY_ALL:
            from shlex import quote

            raise UsageError(
                f"{each} can be written by every user, so it is not read",
                hint=f"look at it, then: chmod o-w {quote(each)}",
            )


def _read_config(path: str, shown: str, options: tuple[Option, ...]) -> dict[str, Setting]:
    """The settings in a file, for a command that has these options beside those of others.

    Raises UsageError or RecipeError for what cannot be.
    """
    from .catalog.files import broken, read_bytes, read_tree
    from .catalog.reading import Reading
    from .errors import did_you_mean

    try:
        data = read_bytes(path, shown)
    except RecipeError as error:
        raise UsageError(error.message, hint="--config or VLLM_LAUNCH_CONFIG names it") from None
    if not _says_something(data):
        return {}
    known = {o.name: o for c in COMMANDS for o in c.options}
    known |= {o.name: o for o in (*GLOBAL, *options) if o.name != "config"}
    root = read_tree(path, shown)
    reading = Reading(shown, own=True)
    if root[0] != "map":
        raise UsageError(f"{shown}: expected a mapping from option names to values")
    settings = {}
    for key, line, column, node in root[3]:
        option = known.get(key.replace("-", "_"))
        if option is None:
            place = ("text", line, column, key, "")
            reading.problem(place, key, f"unknown option {key!r}", did_you_mean(key, known))
        elif (setting := _from_file(option, key, node, f"{shown}:{line}", reading)) is not None:
            settings[option.name] = setting
    if reading.problems:
        raise broken(shown, reading.problems)
    return settings


def _from_file(
    option: Option, key: str, node: Node, source: str, reading: Reading
) -> Setting | None:
    """One entry of a file; None for a problem, and for a value that other commands know."""
    from .catalog.kinds import word
    from .catalog.reading import ABSENT

    children = node[3] if node[0] == "list" and option.many else (node,)
    read = _source_text if option.kind == "source" else word
    texts = [read(child, key, reading) for child in children]
    if ABSENT in texts or any(_of_another(option, text) for text in texts):
        return None
    raw = texts if option.many else texts[0]
    return Setting(value=_value(option, raw, f"{source}: {key}"), source=source)


def _source_text(node: Node, path: str, reading: Reading) -> Any:
    """A source as the command line has it, of text or of a mapping with name, url and pin."""
    from .catalog.kinds import word
    from .catalog.reading import ABSENT

    if node[0] != "map":
        return word(node, path, reading)
    parts = {}
    for key, line, column, child in node[3]:
        below = f"{path}.{key}"
        if key in ("name", "url", "pin"):
            parts[key] = word(child, below, reading)
        else:
            reading.unknown_key(("text", line, column, key, ""), below, ("name", "url", "pin"))
    if "url" not in parts:
        reading.problem(node, path, "the key 'url' is missing")
    if "url" not in parts or ABSENT in parts.values():
        return ABSENT
    name = f"{parts['name']}=" if "name" in parts else ""
    return name + parts["url"] + (f"#{parts['pin']}" if "pin" in parts else "")


def _says_something(data: bytes) -> bool:
    """Whether a file has more than comments in it."""
    return any(line.strip() and not line.lstrip().startswith(b"#") for line in data.splitlines())
