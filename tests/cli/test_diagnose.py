"""diagnose, as an operator runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .launcher import Operator

LOG = """(APIServer pid=1) non-default args: {'model_tag': 'MiniMaxAI/MiniMax-M3'}
(EngineCore pid=2) \x1b[31mValueError\x1b[0m: estimated maximum model length is 107872.\x07
RuntimeError: Engine core initialization failed. See root cause above.
"""


def test_a_log_is_told_with_the_command_to_try(operator: Operator, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOG)
    ran = operator.run("diagnose", str(log))
    assert ran.status == 0
    assert ran.out.splitlines()[:5] == [
        "CONTEXT_TOO_LONG  line 2",
        "  | (EngineCore pid=2) ValueError: estimated maximum model length is 107872.",
        "  The KV cache of --max-model-len does not fit into what the weights leave.",
        "  Serve the longest context that fits, as vLLM estimates it.",
        "    vllm-launch serve MiniMaxAI/MiniMax-M3 -- --max-model-len 107872",
    ]


def test_the_json_has_the_cause_before_its_consequence(operator: Operator, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOG)
    found = operator.run("diagnose", str(log), "--output", "json").json["diagnosis"]
    assert [(each["code"], each["line"], each["consequence"]) for each in found] == [
        ("CONTEXT_TOO_LONG", 2, False),
        ("ENGINE_DEAD", 3, True),
    ]


def test_a_log_that_says_nothing_known_is_no_error(operator: Operator, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"\xff\xfe nothing\n")
    ran = operator.run("diagnose", str(log))
    assert (ran.status, ran.out) == (0, "")
    assert ran.err == "# nothing that is known to go wrong; look for the first traceback\n"


def test_a_log_that_is_not_there_is_said(operator: Operator) -> None:
    ran = operator.run("diagnose", "no.log")
    assert ran.status == 2
    assert ran.error.splitlines() == [
        "error: cannot read no.log: No such file or directory",
        "  name a log's file, or - for a pipe",
    ]
