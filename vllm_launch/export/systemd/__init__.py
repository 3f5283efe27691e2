"""Units of systemd: one a part, and a target that holds those of several parts together."""

from __future__ import annotations

from ...errors import UsageError
from .. import ExportFile, commented
from ..containers import by_name, image_notes, images_of
from ..filling import by_hand, file_text, filled_parts
from .names import ETC, Names
from .units import service, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...model.part import Part
    from .. import Brief


def files(brief: Brief) -> tuple[ExportFile, ...]:
    """The units, the template of their secrets' file, and the files that their parts read.

    ``brief.options["programs"]`` has each program's whole path. Raises UsageError for a
    placeholder that nobody filled in, and for words that no unit can have.
    """
    names = Names(name=brief.name, several=not brief.deployment.is_alone)
    parts = filled_parts(brief, names.directory)
    if brief.setup is None and brief.options.get("part_image"):
        raise UsageError(
            "--part-image is for containers, and these services are native",
            hint="give --runtime docker, or leave it out",
        )
    images = images_of(brief) if brief.setup is not None else {}
    found = {}
    for part in parts:
        text = service(part, parts, brief, images, names)
        found[names.unit(part)] = f"{_header(part, parts, brief, names)}\n{text}"
    if names.several:
        notes = (*_usage(parts, brief, names), *by_hand(brief))
        found[names.target] = f"{_commented(brief, notes)}\n{target(parts, brief, names)}"
    for part in parts:
        for file in part.files:
            found[file.name] = file_text(file)
    units = tuple(ExportFile(name=name, text=text) for name, text in found.items())
    return (*units, _secrets(brief, names))


def _header(part: Part, parts: Sequence[Part], brief: Brief, names: Names) -> str:
    """A unit's own comments; a server alone says how it is used itself."""
    notes: list[str] = []
    if brief.setup is not None:
        notes += image_notes((part,), images_of(brief))
    if names.several:
        machines = {each.node for each in parts}
        where = f"Of machine {part.node}, the first being 0. " if len(machines) > 1 else ""
        return _commented(brief, ("", f"{where}How it is used: {names.target}", *notes))
    return _commented(brief, (*_usage(parts, brief, names), *notes))


def _commented(brief: Brief, notes: Sequence[str]) -> str:
    return commented(brief.replace(header=(*brief.header, *notes)))


def _usage(parts: Sequence[Part], brief: Brief, names: Names) -> Iterator[str]:
    machines = sorted({part.node for part in parts})
    beside = sorted({file.name for part in parts for file in part.files})
    yield ""
    yield "Install, as root, where these files are:"
    yield f"  install -d -m 755 {ETC} {names.directory}"
    yield f"  cp --no-clobber --preserve=mode {names.env_file} {ETC}/"
    if beside:
        yield f"  install -m 644 {' '.join(beside)} {names.directory}/"
    for node in machines:
        units = " ".join(names.unit(part) for part in parts if part.node == node)
        # Another machine's services would be started with the target.
        if len(machines) > 1:
            yield f"  on machine {node} alone:"
        yield f"  install -m 644 {units} /etc/systemd/system/"
    if len(machines) > 1:
        yield "  on each machine:"
    if names.several:
        yield f"  install -m 644 {names.target} /etc/systemd/system/"
    yield "  systemctl daemon-reload"
    yield f"Start, now and at each boot: systemctl enable --now {names.main_unit}"
    yield f"Log: journalctl -f -u 'vllm-{brief.name}*'    Stop: systemctl stop {names.main_unit}"


def _secrets(brief: Brief, names: Names) -> ExportFile:
    """The file that secrets are put into: names and no values. One that is there is kept."""
    notes = ("", f"Variables of the servers that nobody else may read: {ETC}/{names.env_file}", "")
    lines = "".join(f"#{name}=\n" for name in by_name(brief))
    return ExportFile(
        name=names.env_file, text=f"{_commented(brief, notes)}{lines}", mode=0o600, keep=True
    )
