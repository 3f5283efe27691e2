"""Where every flag, variable and choice of a plan comes from, as text."""

from __future__ import annotations

from ..model.deployment import ProcessPlan
from ..model.flags import is_flag
from ..model.part import Part
from .origin import origin_lines
from .shell import one_line
from .wrapping import width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..model.choice import Reason
    from ..model.deployment import Deployment
    from ..model.origin import Origin
    from ..model.source import Source

_SUBJECTS = ("hardware", "variant", "strategy", "nodes")


def explanation(
    deployment: Deployment,
    processes: Sequence[ProcessPlan | Part],
    set_by: Callable[[str], str],
    origin: Origin,
    runtime: str | None = None,
) -> str:
    """The source, the choices, then each process's variables and arguments with their places."""
    lines = [deployment.recipe.id, "", "Recipe"]
    lines += [f"  {name:9} {value}" for name, value in origin_lines(origin)]
    lines += [""]
    lines += _choices(deployment, set_by)
    lines += _network(deployment) if runtime in ("docker", "podman") else []
    lines += [f"  note: {note}" for note in deployment.notes]
    servers: list[tuple[str, ProcessPlan]] = []
    for process in processes:
        plan = process if isinstance(process, ProcessPlan) else process.plan
        if plan is not None:
            servers.append((process.title, plan))
            lines += _server(process.title, plan)
        elif isinstance(process, Part):
            lines += _beside(process)
    lines += _removed(servers)
    return "\n".join(lines) + "\n"


def placeholders_text(said: Sequence[str], left: Sequence[tuple[str, str]]) -> str:
    """What stands for placeholders and what says so, then those that nothing fills."""
    lines = [f"  {line}" for line in said]
    lines += [f"  ${name} is not filled in{f': {what}' if what else ''}" for name, what in left]
    return "\n".join(["", "Here", *lines]) + "\n" if lines else ""


def _server(title: str, plan: ProcessPlan) -> list[str]:
    lines = ["", f"{title}: {' '.join(plan.program)} {plan.model}"]
    if plan.variables:
        lines += ["", "  Variables"]
    for variable in plan.variables:
        lines += _entry(f"{variable[0]}={variable[1]}", variable[2])
        for name, value, source in plan.beaten_variables(variable):
            lines += _beaten(f"{name}={value}", source)
    lines += ["", "  Arguments"]
    for argument in plan.arguments:
        lines += _entry(" ".join(argument[1]), argument[2])
        for _, tokens, source in plan.beaten(argument):
            lines += _beaten(" ".join(tokens), source)
    return lines


def _beside(part: Part) -> list[str]:
    """A router, a store or what else a strategy or recipe has beside the servers."""
    lines = ["", f"{part.title}: {part.argv[0] if part.argv else 'a script, to be run by hand'}"]
    lines += _place("from", part.source, "  ") if part.source is not None else []
    lines += [f"  after {', '.join(part.after)}"] if part.after else []
    words = [" ".join(group) for group in _grouped(part.argv[1:])] or part.text.splitlines()
    for heading, texts in (
        ("Variables", [f"{name}={value}" for name, value in part.env]),
        ("Arguments" if part.argv else "Text", words),
        ("Files", [f"{file.path or '$' + file.placeholder}: {file.name}" for file in part.files]),
    ):
        lines += ["", f"  {heading}"] if texts else []
        lines += [line for text in texts for line in _folded(one_line(text), "    ")]
    return lines


def _grouped(words: Sequence[str]) -> list[list[str]]:
    """Each flag with what follows it."""
    groups: list[list[str]] = []
    for word in words:
        if groups and not is_flag(word):
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups


def _choices(deployment: Deployment, set_by: Callable[[str], str]) -> Iterator[str]:
    """Each choice with its reason, and the option, variable or file that set it."""
    yield "Choices"
    for subject, picked, why in sorted(deployment.choice.reasons, key=_subject):
        setter = set_by(subject) if why == "asked for" else ""
        yield f"  {subject:9} {picked}: {why}{f' by {setter}' if setter else ''}"
    choice = deployment.choice
    if all(subject != "nodes" for subject, _, _ in choice.reasons):
        yield f"  {'nodes':9} {choice.nodes}"
    for name, mode in choice.features:
        yield f"  {'feature':9} {name}{f' in mode {mode}' if mode else ''}"
    if choice.kv_offload:
        yield f"  {'KV':9} {choice.kv_offload}"
    if deployment.image:
        yield f"  {'image':9} {deployment.image}"
        yield f"  {'':9} from {deployment.image_source}"


def _network(deployment: Deployment) -> list[str]:
    """Which network its containers are in, and why."""
    if not deployment.on_host_network:
        return [f"  {'network':9} the container's own, with the HTTP port published"]
    return [
        f"  {'network':9} the machine's own: ranks and side channels pick ports that nobody could",
        f"  {'':9} publish beforehand",
    ]


def _subject(reason: Reason) -> int:
    return _SUBJECTS.index(reason[0])


def _entry(text: str, source: Source) -> list[str]:
    return [*_folded(one_line(text), "    "), *_place("from", source, "        ")]


def _beaten(text: str, source: Source) -> list[str]:
    return [*_folded(f"beat {one_line(text)}", "        "), *_place("of", source, "            ")]


def _place(word: str, source: Source, indent: str) -> list[str]:
    """A source on one line, or on two where that is wider than a terminal."""
    line = f"{indent}{word} {source}"
    if len(line) <= width() or not source.file:
        return [line]
    layer = "  ".join(part for part in (source.layer, source.detail) if part)
    return [f"{indent}{word} {source.file}:{source.line}", f"{indent}{' ' * len(word)} {layer}"]


def _folded(text: str, indent: str) -> list[str]:
    """Text in lines of a terminal's width; a value is never cut short."""
    room = max(width() - len(indent), 1)
    parts = [text[i : i + room] for i in range(0, len(text), room)] or [""]
    return [indent + part for part in parts]


def _removed(servers: Sequence[tuple[str, ProcessPlan]]) -> list[str]:
    """Flags that layers put forward and a preset took away."""
    lines: list[str] = []
    for title, plan in servers:
        held = {argument[0].partition("=")[0] for argument in plan.arguments}
        gone = [a for a in plan.layers if a[0].partition("=")[0] not in held]
        if gone:
            also = "" if plan.program[0] == "vllm" else ", or refused by Dynamo's worker"
            lines += ["", f"  Taken away by the preset{also} ({title})"]
        for argument in gone:
            lines += _entry(" ".join(argument[1]), argument[2])
        names = {variable[0] for variable in plan.variables}
        dropped = [v for v in plan.variable_layers if v[0] not in names]
        if dropped:
            lines += ["", "  Dropped: only for GPUs that share an NVLink domain across nodes"]
        for variable in dropped:
            lines += _entry(f"{variable[0]}={variable[1]}", variable[2])
    return lines
