"""Which value each option has, and what set it: the command line, a variable or the config."""

from __future__ import annotations

import os

from .errors import UsageError
from .model.record import Record
from .options import COMMANDS, GLOBAL, Option, checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


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
        config = _read_config(config_path, source)
    for option in (*GLOBAL, *options):
        setting = _setting(option, given, environ, config)
        if setting is not None:
            settings[option.name] = setting
    return Settings(settings)


def _setting(
    option: Option,
    given: Mapping[str, Any],
    environ: Mapping[str, str],
    config: Mapping[str, Setting],
) -> Setting | None:
    if option.name in given:
        source = option.flags[-1]
        return Setting(value=_value(option, given[option.name], source), source=source)
    text = environ.get(option.variable)
    if text:
        raw = [part for part in text.split(",") if part] if option.many else text
        return Setting(value=_value(option, raw, option.variable), source=option.variable)
    return config.get(option.name)


def _value(option: Option, raw: Any, source: str) -> Any:
    if raw is True:
        return True
    try:
        if option.many:
            return tuple(checked(option, text) for text in raw)
        return checked(option, raw)
    except ValueError as error:
        shown = ", ".join(raw) if option.many else raw
        raise UsageError(f"{source}: found {shown!r}; expected {error}") from None


def _config_path(given: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str | None, str]:
    """The settings file that is asked for, or the user's own where there is one."""
    asked = given.get("config") or environ.get("VLLM_LAUNCH_CONFIG")
    if asked:
        return asked, asked
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", ""), ".config")
    path = os.path.join(base, "vllm-launch", "config.yaml")
    return (path, path) if os.path.isfile(path) else (None, "")


def _read_config(path: str, shown: str) -> dict[str, Setting]:
    """The settings in a file. Raises UsageError or RecipeError for what cannot be."""
    from .catalog.files import broken, read_tree
    from .catalog.kinds import ABSENT, Reading, closest, word

    options = {o.name: o for c in COMMANDS for o in c.options} | {o.name: o for o in GLOBAL}
    root = read_tree(path, shown)
    reading = Reading(shown, own=True)
    if root[0] != "map":
        raise UsageError(f"{shown}: expected a mapping from option names to values")
    settings = {}
    for key, line, column, node in root[3]:
        option = options.get(key.replace("-", "_"))
        if option is None:
            place = ("text", line, column, key, "")
            reading.problem(place, key, f"unknown option {key!r}", closest(key, options))
            continue
        children = node[3] if node[0] == "list" and option.many else (node,)
        texts = [word(child, key, reading) for child in children]
        if ABSENT not in texts:
            source = f"{shown}:{line}"
            raw = texts if option.many else texts[0]
            settings[option.name] = Setting(value=_value(option, raw, source), source=source)
    if reading.problems:
        raise broken(shown, reading.problems)
    return settings
