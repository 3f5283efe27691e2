"""Hand a job to Slurm."""

from __future__ import annotations

import os

from ..errors import LaunchError, UsageError
from ..launch import program_path
from ..streams import answer, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..export import ExportFile


def submit(script: ExportFile, directory: str | None) -> None:
    """Have sbatch take a job, and print its number.

    The script is kept in the directory; without one sbatch reads it from a pipe. Raises
    MissingProgram where sbatch is not there, UsageError where it refuses the job.
    """
    import subprocess

    program = program_path("sbatch", os.environ.get("PATH"))
    argv, given = [program, "--parsable"], script.text.encode("utf-8", "surrogateescape")
    if directory is not None:
        from .written import write_all

        write_all(directory, [script])
        remark(f"# wrote {directory}/{script.name}\n")
        argv, given = [*argv, os.path.join(directory, script.name)], b""
    try:
        done = subprocess.run(argv, input=given, capture_output=True, check=False)  # noqa: S603
    except OSError as error:
        raise LaunchError(f"cannot start {program}: {error.strerror}") from None
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode != 0:
        raise UsageError(
            f"sbatch refused the job: {said or f'exit status {done.returncode}'}",
            hint="options that the site wants: --partition, --account, --qos, --time, --gres",
        )
    if said:
        remark(said + "\n", as_it_is=True)
    answer(done.stdout.decode("utf-8", "replace").strip().partition(";")[0] + "\n")
