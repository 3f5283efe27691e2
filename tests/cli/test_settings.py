"""Every option is a variable and a key of the settings file too; the nearest one holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.launcher import B300, FLASH, M3, Operator
from vllm_launch.errors import LaunchError
from vllm_launch.options import COMMANDS, GLOBAL, Command, Option
from vllm_launch.settings import settle, unknown_variables

DRY = (*B300, "--dry-run")
# Each option with the first command that has it; --config is where settings are, and none itself.
TABLE = [
    (command, option)
    for option, command in {
        option: command
        for command in reversed(COMMANDS)
        for option in (*GLOBAL, *command.options)
        if option.name != "config"
    }.items()
]
EACH_OPTION = pytest.mark.parametrize(
    ("command", "option"), [pytest.param(c, o, id=f"{c.name} {o.name}") for c, o in TABLE]
)


def samples(option: Option) -> list[str]:
    """Three values that an option can have."""
    if option.kind == "flag":
        return ["1", "0", "true"]
    if option.kind in ("count", "rank", "port"):
        return ["1", "2", "3"]
    if option.kind == "size":
        return ["7B", "1.5T", "350M"]
    if option.kind == "source":
        return ["https://one.example/a", "https://one.example/b#v2", "near=https://c.example/c"]
    return list(option.choices * 3)[:3] or ["/one", "/two", "/three"]


def meant(option: Option, text: str) -> Any:
    """The value that a text stands for."""
    if option.kind == "flag":
        return text in ("1", "true")
    if option.kind == "size":
        return {"7B": 7e9, "1.5T": 1.5e12, "350M": 350e6}[text]
    value = int(text) if option.kind in ("count", "rank", "port") else text
    return (value,) if option.many else value


@pytest.fixture(autouse=True)
def _nobodys_home(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("HOME", str(tmp_path))


@EACH_OPTION
def test_each_option_on_the_line(command: Command, option: Option) -> None:
    text = samples(option)[0]
    given = True if option.kind == "flag" else [text] if option.many else text
    settings = settle(command.options, {option.name: given}, {})
    assert settings[option.name] == meant(option, text)
    assert settings.source(option.name) in option.flags[:2]
    assert settings.source(option.name).startswith("--")


@EACH_OPTION
def test_each_option_as_a_variable(command: Command, option: Option) -> None:
    text = samples(option)[0]
    settings = settle(command.options, {}, {option.variable: text})
    assert settings[option.name] == meant(option, text)
    assert settings.source(option.name) == f"VLLM_LAUNCH_{option.name.upper()}"


@EACH_OPTION
@pytest.mark.parametrize("dashed", [False, True], ids=["key_with_underscore", "key-with-dash"])
def test_each_option_as_a_key(
    command: Command, option: Option, dashed: bool, tmp_path: Path
) -> None:
    text = samples(option)[0]
    file = tmp_path / "settings.yaml"
    key = option.name.replace("_", "-") if dashed else option.name
    file.write_text(f"# ours\n{key}: {text}\n")
    settings = settle(command.options, {"config": str(file)}, {})
    assert settings[option.name] == meant(option, text)
    assert settings.source(option.name) == f"{file}:2"


@EACH_OPTION
def test_the_line_is_nearer_than_the_variable_and_that_than_the_file(
    command: Command, option: Option, tmp_path: Path
) -> None:
    line, variable, key = samples(option)
    file = tmp_path / "settings.yaml"
    file.write_text(f"{option.name}: {key}\n")
    environ = {"VLLM_LAUNCH_CONFIG": str(file)}
    options = command.options
    assert settle(options, {}, environ)[option.name] == meant(option, key)
    environ[option.variable] = variable
    assert settle(options, {}, environ)[option.name] == meant(option, variable)
    given = True if option.kind == "flag" else [line] if option.many else line
    assert settle(options, {option.name: given}, environ)[option.name] == meant(option, line)


MANY = [pytest.param(c, o, id=f"{c.name} {o.name}") for c, o in TABLE if o.many]


@pytest.mark.parametrize(("command", "option"), MANY)
def test_an_option_that_may_be_given_several_times(
    command: Command, option: Option, tmp_path: Path
) -> None:
    file = tmp_path / "settings.yaml"
    a, b, _ = samples(option)
    file.write_text(f"{option.name}:\n- {a}\n- {b}\n")
    assert settle(command.options, {"config": str(file)}, {}).listed(option.name) == (a, b)
    environ = {option.variable: f"{a},,{b},"}
    assert settle(command.options, {}, environ).listed(option.name) == (a, b)


SOURCES = {
    "text": ("- https://h.example/r#v1", ("https://h.example/r#v1",)),
    "a mapping": ("- {url: https://h.example/r}", ("https://h.example/r",)),
    "all of it": (
        "- {name: near, url: https://h.example/r, pin: v1}",
        ("near=https://h.example/r#v1",),
    ),
    "one alone": ("  {url: https://h.example/r}", ("https://h.example/r",)),
}


@pytest.mark.parametrize(("text", "expected"), SOURCES.values(), ids=SOURCES)
def test_a_source_is_text_or_a_mapping(
    text: str, expected: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(f"sources:\n{text}\n")
    assert settle((), {"config": str(file)}, {}).listed("sources") == expected


WRONG_SOURCES = {
    "http": (
        "- http://h.example/r",
        "1: sources: found 'http://h.example/r'; expected [NAME=]https://",
    ),
    "git": (
        "- git://h.example/r",
        "1: sources: found 'git://h.example/r'; expected [NAME=]https://",
    ),
    "file": ("- file:///etc", "1: sources: found 'file:///etc'; expected [NAME=]https://"),
    "no address": ("- {name: x}", "2:3: sources: the key 'url' is missing"),
    "another key": ("- {url: https://h.example/r, rev: x}", "2:30: sources.rev: unknown key 'rev'"),
    "a bad name": (
        "- {name: a/b, url: https://h.example}",
        "1: sources: found 'a/b=https://h.example'",
    ),
    "a bad pin": (
        "- {url: https://h.example, pin: --x}",
        "1: sources: found 'https://h.example#--x'",
    ),
    "a password": ("- https://me:secret@h.example/r", "1: sources: found 'https://…@h.example/r'"),
}


@pytest.mark.parametrize(("text", "told"), WRONG_SOURCES.values(), ids=WRONG_SOURCES)
def test_a_source_that_is_none_is_told_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(f"sources:\n{text}\n")
    with pytest.raises(LaunchError) as caught:
        settle((), {"config": str(file)}, {})
    problems = getattr(caught.value, "problems", None) or [caught.value.message]
    assert str(problems[0]).startswith(f"{file}:{told}")


PATHS = [
    pytest.param(c, o, id=f"{c.name} {o.name}")
    for c, o in TABLE
    if o.metavar in ("DIR|FILE|URL", "FILE", "FILE|-")
]


@pytest.mark.parametrize(("command", "option"), PATHS)
def test_paths_may_begin_with_a_tilde_where_no_shell_expands_it(
    command: Command, option: Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/one")
    value = settle(command.options, {}, {option.variable: "~/x"})[option.name]
    assert value == (("/home/one/x",) if option.many else "/home/one/x")


def test_an_empty_variable_is_one_that_is_not_set() -> None:
    serve = COMMANDS[0]
    environ = {option.variable: "" for option in (*GLOBAL, *serve.options)}
    assert list(settle(serve.options, {}, environ)) == []


# Through the command.


def test_the_users_own_settings_file_is_read(operator: Operator) -> None:
    operator.configure("hardware: b300\ndry-run: true\nno_feature: [spec_decoding, reasoning]\n")
    ran = operator.run("serve", FLASH)
    assert ran.status == 0
    assert "b300" in ran.err
    assert "features tool_calling\n" in ran.err


@pytest.mark.parametrize("place", ["XDG_CONFIG_HOME", "VLLM_LAUNCH_CONFIG", "--config"])
def test_a_settings_file_elsewhere(operator: Operator, tmp_path: Path, place: str) -> None:
    operator.configure("tp: 1\n")
    file = tmp_path / "vllm-launch" / "config.yaml"
    file.parent.mkdir()
    file.write_text("tp: 2\n")
    words = ("--config", str(file)) if place == "--config" else ()
    value = str(tmp_path) if place == "XDG_CONFIG_HOME" else str(file)
    ran = operator.run(*words, *DRY, env={} if words else {place: value})
    assert "--tensor-parallel-size 2" in ran.out


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("\n\n", id="blank lines"),
        pytest.param("# tp: 4\n  # hardware: b300\n", id="comments"),
        pytest.param("{}\n", id="an empty mapping"),
    ],
)
def test_a_settings_file_that_sets_nothing(operator: Operator, text: str) -> None:
    operator.configure(text)
    assert operator.run(*DRY).status == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("hardwear: b300\n", "1:1: hardwear: unknown option 'hardwear' "
                     "(did you mean 'hardware'?)", id="mistyped key"),
        pytest.param("tp: 4\nxyz: 1\n", "2:1: xyz: unknown option 'xyz'", id="unknown key"),
        pytest.param("config: other.yaml\n", "1:1: config: unknown option 'config'",
                     id="the file's own place"),
        pytest.param("tp: [1, 2]\n", "1:5: tp: found a list; expected text", id="list"),
        pytest.param("tp: {a: 1}\n", "1:5: tp: found a mapping; expected text", id="mapping"),
        pytest.param("tp:\n", "1:4: tp: found nothing; expected text", id="no value"),
        pytest.param("hardened: no\n", "1:11: hardened: found no, which YAML 1.1 reads as a "
                     'boolean; expected text (write "no" in quotes)', id="a word that is none"),
        pytest.param("tp: 1\ntp: 2\n", "2:1: duplicate key 'tp'; the first is on line 1 "
                     "(keep one of the two)", id="key twice"),
        pytest.param("tp: [\n", "2:1: not valid YAML: while parsing a flow node did not find "
                     "expected node content", id="no YAML"),
    ],
)  # fmt: skip
def test_a_settings_file_with_a_fault(operator: Operator, text: str, told: str) -> None:
    file = operator.configure(text)
    ran = operator.run(*DRY)
    assert ran.status == 2
    assert ran.error == f"error: {file} cannot be used: 1 error\n  {file}:{told}\n"


def test_every_fault_of_a_settings_file_at_once(operator: Operator) -> None:
    operator.configure("tpp: 1\nhardwear: b300\nfeature: {a: 1}\n")
    ran = operator.run(*DRY)
    assert "3 errors" in ran.error
    assert [line.split(":")[1] for line in ran.err.splitlines()[1:]] == ["1", "2", "3"]


@pytest.mark.parametrize("content", [b"\xff", b"- a\n", b"text\n", b"a: 1\n---\nb: 2\n", b"\0"])
def test_what_is_no_settings_file(operator: Operator, content: bytes) -> None:
    file = operator.configure("")
    file.write_bytes(content)
    ran = operator.run(*DRY)
    assert ran.status == 2
    assert str(file) in ran.error


BAD = [
    pytest.param("tp", "many", "a whole number of 1 or more", id="count"),
    pytest.param("node_rank", "first", "a whole number of 0 or more", id="rank"),
    pytest.param("runtime", "kubernetes", "native, docker, podman", id="choice"),
    pytest.param("hardened", "perhaps", "1 or 0", id="flag"),
]


@pytest.mark.parametrize(("name", "value", "expected"), BAD)
def test_a_variable_that_cannot_be_is_named(
    operator: Operator, name: str, value: str, expected: str
) -> None:
    variable = f"VLLM_LAUNCH_{name.upper()}"
    ran = operator.run(*DRY, env={variable: value})
    assert ran.error == f"error: {variable}: found '{value}'; expected {expected}\n"
    assert ran.status == 2


@pytest.mark.parametrize(("name", "value", "expected"), BAD)
def test_a_key_that_cannot_be_is_named_with_its_line(
    operator: Operator, name: str, value: str, expected: str
) -> None:
    file = operator.configure(f"# ours\n\n{name}: {value}\n")
    ran = operator.run(*DRY)
    assert ran.error == f"error: {file}:3: {name}: found '{value}'; expected {expected}\n"
    assert ran.status == 2


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("ENV", "HF_TOKEN=x", "the value of HF_TOKEN would stand in the command for all to read"),
        ("ENV", "1X=2", "'1X' is no variable name"),
        ("ENDPOINT", "X", "found 'X'; expected NAME=VALUE"),
        ("PREFILL", "x", "found 'x'; expected NODES[:MODE]"),
        ("PORT", "70000", "found '70000'; expected a port, 1 to 65535"),
        ("GPUS", "0,", "found '0,'; expected indices or UUIDs, each once, with commas between"),
    ],
)
def test_later_errors_name_the_variable_too(
    operator: Operator, variable: str, value: str, told: str
) -> None:
    ran = operator.run(*DRY, env={f"VLLM_LAUNCH_{variable}": value})
    assert ran.error.splitlines()[0] == f"error: VLLM_LAUNCH_{variable}: {told}"


def test_a_setting_of_another_command_is_no_fault(operator: Operator) -> None:
    operator.configure("batch: cases.jsonl\nsave: facts.json\nruntime: docker\n")
    assert operator.run("recipes", "list").status == 0


def test_an_output_that_no_command_has_is_a_fault_of_each(operator: Operator) -> None:
    file = operator.configure("output: xml\n")
    ran = operator.run(*DRY)
    assert ran.error == f"error: {file}:1: output: found 'xml'; expected shell, json, argv, env\n"
    assert operator.run("recipes", "list").status == 2


# What is nearer to the line wins across options that contradict each other.


def test_a_feature_of_the_settings_file_can_be_turned_off_on_the_line(operator: Operator) -> None:
    operator.configure("feature: [text_only]\n")
    assert "--language-model-only" in operator.run(*DRY).out
    assert "--language-model-only" not in operator.run(*DRY, "--no-feature", "text_only").out


def test_a_feature_that_the_settings_file_turns_off_can_be_turned_on(operator: Operator) -> None:
    operator.configure("no-feature: [reasoning]\n")
    assert "--reasoning-parser" not in operator.run(*DRY).out
    assert "--reasoning-parser" in operator.run(*DRY, "-f", "reasoning").out


@pytest.mark.parametrize(
    ("env", "status"),
    [
        pytest.param({"VLLM_LAUNCH_HARDWARE": "b300"}, 2, id="facts on the line"),
        pytest.param({"VLLM_LAUNCH_HOST_FACTS": "/no/such"}, 0, id="hardware on the line"),
    ],
)
def test_the_machine_named_on_the_line_is_the_one(
    operator: Operator, env: dict[str, str], status: int
) -> None:
    by_line = ("--hardware", "b300") if status == 0 else ("--host-facts", "/no/such")
    ran = operator.run("serve", FLASH, *by_line, "--dry-run", env=env)
    assert ran.status == status
    assert ("cannot read host facts from /no/such" in ran.err) == (status == 2)


# explain names them.


def test_explain_names_what_set_each_choice(operator: Operator) -> None:
    file = operator.configure("strategy: single_node_tep\nport: 9000\n")
    ran = operator.run(
        "explain", FLASH, "--hardware", "b300", "-f", "text_only",
        env={"VLLM_LAUNCH_VARIANT": "default", "VLLM_LAUNCH_ENV": "A=1"},
    )  # fmt: skip
    assert ran.status == 0
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "hardware b300: asked for by --hardware" in lines
    assert "variant default: asked for by VLLM_LAUNCH_VARIANT" in lines
    assert f"strategy single_node_tep: asked for by {file}:1" in lines
    assert lines[lines.index("A=1") + 1] == "from operator VLLM_LAUNCH_ENV"
    assert lines[lines.index("--port 9000") + 1] == f"from operator {file}:2"
    assert lines[lines.index("Settings") + 1 :] == [
        "hardware b300: --hardware",
        "variant default: VLLM_LAUNCH_VARIANT",
        f"strategy single_node_tep: {file}:1",
        "feature text_only: --feature",
        f"port 9000: {file}:2",
        "env A=1: VLLM_LAUNCH_ENV",
    ]


EXPLAINED = {
    "hardware": "gb300", "gpus": "0,1", "variant": "nvfp4", "strategy": "single_node_tp",
    "tp": 2, "nodes": 1, "node_rank": 0, "role": "instance", "feature": ["text_only"],
    "no_feature": ["reasoning"], "kv_offload": "kv_store_centralized_mooncake", "instances": 2,
    "endpoint": ["VLLM_INSTANCE_1=10.0.0.1"], "runtime": "podman", "image": "mirror/vllm:1",
    "port": 9000, "host": "127.0.0.1", "env": ["A=1", "B=2"], "name": "m3", "hardened": True,
    "output": "json",
}  # fmt: skip


@pytest.mark.parametrize("place", ["variables", "settings file", "line"])
def test_explain_names_every_option_that_was_set(operator: Operator, place: str) -> None:
    texts = {
        name: ",".join(value) if isinstance(value, list) else str(value)
        for name, value in EXPLAINED.items()
    }
    options = {option.name: option for option in COMMANDS[1].options}
    if place == "variables":
        sources = {name: options[name].variable for name in EXPLAINED}
        ran = operator.run("explain", M3, env={sources[name]: texts[name] for name in sources})
    elif place == "line":
        sources = {name: max(options[name].flags, key=len) for name in EXPLAINED}
        words = []
        for name, value in EXPLAINED.items():
            for each in value if isinstance(value, list) else [value]:
                words += [sources[name], *([] if value is True else [str(each)])]
        ran = operator.run("explain", M3, *words)
    else:
        lines = [
            f"{name}: {value if isinstance(value, list) else texts[name]!r}"
            for name, value in EXPLAINED.items()
        ]
        file = operator.configure("\n".join(lines))
        sources = {name: f"{file}:{place + 1}" for place, name in enumerate(EXPLAINED)}
        ran = operator.run("explain", M3)
    assert ran.status == 0, ran.err
    settings = ran.json["deployment"]["settings"]
    assert {s["option"]: s["value"] for s in settings} == EXPLAINED
    assert {s["option"]: s["source"] for s in settings} == sources


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("HARDWEAR", "VLLM_LAUNCH_HARDWEAR sets no option (did you mean 'VLLM_LAUNCH_HARDWARE'?)"),
        ("zzzzzz", "VLLM_LAUNCH_zzzzzz sets no option"),
    ],
    ids=["mistyped", "like no other"],
)
def test_a_variable_that_sets_no_option_is_told(operator: Operator, name: str, told: str) -> None:
    ran = operator.run(*DRY, env={f"VLLM_LAUNCH_{name}": "b300"})
    assert ran.status == 0
    assert ran.err.splitlines()[0] == f"warning: {told}"
    assert ran.out == operator.run(*DRY).out


def test_variables_of_options_and_of_a_kubernetes_service_are_not_told() -> None:
    options = {o.variable for c in COMMANDS for o in (*GLOBAL, *c.options)}
    names = ("SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT_80_TCP", "PORT_80_TCP_ADDR")
    service = {f"VLLM_LAUNCH_{name}" for name in names}
    assert list(unknown_variables({*options, *service, "VLLM_HOST_IP", "PATH"})) == []


@pytest.mark.parametrize("place", ["variable", "settings file"])
def test_an_output_of_another_command_is_passed_over(operator: Operator, place: str) -> None:
    env = {"VLLM_LAUNCH_OUTPUT": "argv"} if place == "variable" else {}
    if place == "settings file":
        operator.configure("output: argv\n")
    assert operator.run("fit", M3, "--hardware", "h200", env=env).status == 0
    assert operator.run(*DRY, env=env).out.startswith('["vllm", "serve"')
    assert operator.run("fit", M3, "-o", "argv", env=env).status == 2
    assert operator.run("fit", M3, env=env | {"VLLM_LAUNCH_OUTPUT": "yaml"}).status == 2


def test_an_output_that_is_not_on_the_line_is_told_for_it_starts_nothing(
    operator: Operator,
) -> None:
    env = {"VLLM_LAUNCH_OUTPUT": "json"}
    told = "# printed, and not started: VLLM_LAUNCH_OUTPUT asks for an output"
    assert operator.run(*B300, env=env).err.splitlines()[-1] == told
    assert told not in operator.run(*DRY, env=env).err


def test_a_port_that_kubernetes_set_says_so(operator: Operator) -> None:
    ran = operator.run(*DRY, env={"VLLM_LAUNCH_PORT": "tcp://10.0.0.1:80"})
    assert ran.error == (
        "error: VLLM_LAUNCH_PORT: found 'tcp://10.0.0.1:80'; expected a port, 1 to 65535\n"
        "  Kubernetes sets this beside a service called vllm-launch: give that another name, or "
        "the pod enableServiceLinks: false\n"
    )
