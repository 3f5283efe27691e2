"""recipes lint --fix: mend files where that is mechanical."""

from __future__ import annotations

import os
import stat

from ..errors import LaunchError
from ..lint.fixes import with_edits
from ..lint.meaning import says_the_same
from ..streams import remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..lint import Edit, Fault
    from .lint_files import Job


def fix_files(
    jobs: list[Job], found: list[Fault], tell: Callable[[str], None], *, only_print: bool
) -> None:
    """Rewrite the files with faults that have a mechanical remedy; tell the differences."""
    paths = {library.shown(path): path for library, path, *_ in jobs}
    edits: dict[str, list[Edit]] = {}
    for one in found:
        for edit in one.edits:
            edits.setdefault(edit.file, []).append(edit)
    for shown, wanted in edits.items():
        # What is no file of a job is an overlay, which goes by its path.
        difference = _mend(paths.get(shown, shown), shown, wanted, only_print=only_print)
        if difference:
            tell(difference)


def _mend(path: str, shown: str, edits: list[Edit], *, only_print: bool) -> str:
    """Mend a file; the difference, "" where there is none."""
    why_not = _why_not(path)
    if why_not:
        remark(f"{shown}: {why_not}\n")
        return ""
    before = _read(path)
    after, left = with_edits(before, edits)
    if not says_the_same(before, after, [each for each in edits if each not in left]):
        after, left = before, edits
    for edit in left:
        remark(f"{shown}:{edit.line}:{edit.column}: {edit.word!r} is left: mend it by hand\n")
    if after != before and not only_print:
        _write(path, after)
    return _difference(before, after, shown)


def _why_not(path: str) -> str:
    """Why a file is not mended; "" where it is."""
    if path.endswith(".json"):
        return "JSON is not mended"
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return f"a link is not mended; name {os.path.realpath(path)}, if that is yours"
    # Another file could be put in its place even so, and root may write to any.
    return "" if status.st_mode & 0o222 else "it is read-only, and not mended"


def _read(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    """Put the new text in the file's place at once, so that no half of it is ever there."""
    partial = f"{path}.{os.getpid()}"
    try:
        with open(partial, "x", encoding="utf-8", newline="") as file:
            os.fchmod(file.fileno(), os.stat(path).st_mode & 0o7777)
            file.write(text)
        os.replace(partial, path)
    except OSError as error:
        raise LaunchError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None


def _difference(before: str, after: str, shown: str) -> str:
    from difflib import unified_diff

    old, new = (text.splitlines(keepends=True) for text in (before, after))
    whole = unified_diff(old, new, fromfile=shown, tofile=f"{shown} (mended)")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in whole)
