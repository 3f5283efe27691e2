"""How far a server is, while it loads: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

from ..streams import remark, shows_progress

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
        self._began = self._bar.get_time()
        self._key: tuple[str, int] = ("", 0)
        self._begin("waiting", None)
        self._bar.start()

    @property
    def task(self) -> Any:
        """What is shown now."""
        return self._bar.tasks[0]

    def _begin(self, text: str, total: int | None) -> None:
        """Show what has come nowhere yet; the clock goes on from the beginning."""
        self._bar.add_task(text, total=total)
        self.task.start_time = self._began

    def __call__(self, progress: Progress) -> None:
        """Draw how far it is."""
        text = f"{progress.stage}: {progress.detail}".rstrip(": ") or "waiting"
        key = (progress.stage, progress.of)
        if key != self._key:
            self._bar.remove_task(self.task.id)
            self._begin(text, progress.of or None)
            self._key = key
        self.task.finished_time = None  # where all files are read the waiting goes on
        self._bar.update(self.task.id, description=text, completed=progress.done)

    def close(self) -> None:
        """Take the line away."""
        self._bar.stop()


def telling(*, colour: bool, bar: bool = True) -> Lines | Bar:
    """What suits the standard error."""
    return Bar(colour=colour) if bar and shows_progress() else Lines()
