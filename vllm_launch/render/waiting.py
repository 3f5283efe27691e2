"""How far a server is, while it loads: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

from ..streams import remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..running.readiness import Progress

_STILL = 60.0  # seconds without news until a line says so
_QUARTERS = 4


class Lines:
    """A line for each stage, and for each quarter of one that counts its steps."""

    def __init__(self) -> None:
        from time import monotonic

        self._began = self._told = monotonic()
        self._last: tuple[object, ...] = ()

    def __call__(self, progress: Progress) -> None:
        """Say what is new."""
        from time import monotonic

        quarter = progress.done * _QUARTERS // progress.of if progress.of else 0
        key = (progress.stage, quarter if progress.of else progress.detail)
        now = monotonic()
        if key == self._last or not progress.stage:
            if now - self._told < _STILL:
                return
            about = f"{progress.stage} " if progress.stage else ""
            remark(f"# {about}… {now - self._began:.0f} s\n")
        else:
            remark(f"# {progress.stage}: {progress.detail}".rstrip(": ") + "\n")
        self._last, self._told = key, now

    def close(self) -> None:
        """Nothing to be taken away."""


class Bar:
    """One line that is drawn over itself, and is gone when the waiting is over."""

    def __init__(self, *, colour: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._bar: Any = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            console=Console(stderr=True, no_color=not colour or None),
            transient=True,
        )
        self._task = self._bar.add_task("waiting", total=None)
        self._bar.start()

    def __call__(self, progress: Progress) -> None:
        """Draw how far it is."""
        text = f"{progress.stage}: {progress.detail}".rstrip(": ") or "waiting"
        total = progress.of or None
        self._bar.update(self._task, description=text, total=total, completed=progress.done)

    def close(self) -> None:
        """Take the line away."""
        self._bar.stop()


def telling(*, colour: bool, bar: bool = True) -> Lines | Bar:
    """What suits the standard error."""
    import sys

    return Bar(colour=colour) if bar and sys.stderr.isatty() else Lines()
