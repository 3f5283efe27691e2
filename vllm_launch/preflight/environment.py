"""Variables, placeholders, secrets."""

from __future__ import annotations

from ..model.finding import Check, Finding
from ..model.secrets import SECRET_FLAGS, is_secret, secret_flag, secret_in
from .plan import arguments, is_on, placeholders, source_of
from .renames import VARIABLES
from .target import target
from .unknown import unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .situation import Situation

_OURS = "VLLM_LAUNCH_"
_FOREIGN = ("VLLM_ASCEND_", "VLLM_OMNI_")  # of packages that extend vLLM


def variables_known(situation: Situation) -> Iterable[Finding] | None:
    """VLLM_ variables of the plan, and of the environment that the server inherits."""
    options, at = situation.options, target(situation)
    names = [n for n in _vllm_names(situation) if is_vllms(n)]
    if options is None or at is None or not names:
        return None
    fatal = is_on(situation.process, "--fail-on-environ-validation")
    found = []
    for name in names:
        having = options.having("variables", name)
        if having & at.among:
            continue
        source = source_of(situation.process, name)
        around = "" if source else " (of this environment)"
        found.append(
            unknown(
                situation,
                at,
                f"the variable {name}{around}",
                name,
                having=having,
                among=options.known("variables", at.among),
                consequence="the server does not start with --fail-on-environ-validation."
                if fatal
                else "the server warns and ignores it.",
                instead=VARIABLES.get(name),
                fatal=fatal,
                cause=name,
                source=source,
            )
        )
    return found


def is_vllms(name: str) -> bool:
    """Whether a variable is one that vLLM itself would have to know."""
    return name.startswith("VLLM_") and not name.startswith((_OURS, *_FOREIGN))


def _vllm_names(situation: Situation) -> list[str]:
    planned = list(situation.process.env)
    around = situation.system.vllm_variables if situation.native else ()
    return list(dict.fromkeys((*planned, *around)))


def filled(situation: Situation) -> Iterable[Finding] | None:
    """Placeholders such as $HEAD_IP, which no shell will fill."""
    left: dict[str, str] = {}
    for one in arguments(situation.process):
        for name in placeholders(one.text):
            left.setdefault(name, one.flag)
    for variable, value, _ in situation.process.variables:
        for name in placeholders(value):
            left.setdefault(name, variable)
    for name in placeholders(situation.process.model):
        left.setdefault(name, "the model")
    for name in situation.in_files:
        left.setdefault(name, "a file that it reads")
    left = {name: cause for name, cause in left.items() if name not in situation.found_later}
    if not left:
        return []
    options = " ".join(f"--endpoint {name}=…" for name in left)
    where = ", ".join(f"${name} ({cause})" for name, cause in left.items())
    return [
        Finding(
            severity="fail",
            what=f"not filled in: {where}",
            why="The server would be given the very text.",
            remedy=f"Give {options}.",
            cause=next(iter(left.values())),
        )
    ]


def expanded(situation: Situation) -> Iterable[Finding] | None:
    """A literal ~, which no shell will expand."""
    texts = [(one.flag, word) for one in arguments(situation.process) for word in one.values]
    texts += [(name, value) for name, value, _ in situation.process.variables]
    return [
        Finding(
            severity="fail",
            what=f"{cause} is {text}, with a ~ that nothing expands",
            why="The server would look for a directory of that name.",
            remedy="Write the home directory out.",
            cause=cause,
        )
        for cause, text in texts
        if text == "~" or text.startswith("~/")
    ]


def secrets_kept(situation: Situation) -> Iterable[Finding] | None:
    """Secrets in arguments or in the plan's variables, where every user can read them."""
    return [*_in_arguments(situation), *_in_variables(situation)]


def _in_arguments(situation: Situation) -> Iterator[Finding]:
    for one in arguments(situation.process):
        variable = SECRET_FLAGS.get(secret_flag(one.flag))
        if variable and one.values:
            yield Finding(
                severity="fail",
                what=f"{one.flag} stands in the command with its value",
                why="Every user of the machine can read a command.",
                remedy=f"Export {variable} instead: the server reads it.",
                cause=one.flag,
                source=one.source,
            )


def _in_variables(situation: Situation) -> Iterator[Finding]:
    for name, value, source in situation.process.variables:
        if (value and "$" not in value and is_secret(name)) or secret_in(value):
            yield Finding(
                severity="fail",
                what=f"the plan holds the value of {name}",
                why="It would be printed, and handed to a container in its command.",
                remedy=f"Export {name}, and pass it by name: -e {name}.",
                cause=name,
                source=source,
            )


CHECKS = (
    Check(
        code="ENV_UNKNOWN",
        subject="environment",
        about="VLLM_ variables against those of the target vLLM",
        run=variables_known,
    ),
    Check(
        code="PLACEHOLDER",
        subject="environment",
        about="placeholders such as $HEAD_IP are filled",
        run=filled,
    ),
    Check(code="TILDE", subject="environment", about="no literal ~ is left", run=expanded),
    Check(
        code="TOKEN_ARGV",
        subject="environment",
        about="no secret stands in the command",
        run=secrets_kept,
    ),
)
