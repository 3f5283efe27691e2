"""A git repository: one commit fetched, its recipe files read out of the object store.

There is no working tree, so nothing of a repository is ever checked out: no links, no
submodules, no filters, no hooks. git runs with a configuration of its own alone.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from tempfile import TemporaryFile

from ..errors import MissingProgram
from .layout import check_names, check_sizes, is_ours, is_taken
from .limits import SourceError, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .limits import Limits

_REF = "refs/sync/head"
_ROOTS = ("", "recipes/")  # where a repository has its recipes
_REGULAR = ("100644", "100755")
_MEMORY = 4 << 30
_OUTPUT = 32 << 20  # bytes of a listing of all files
_CHUNK = 1 << 16
_PASSED_ON = (
    "PATH", "LD_LIBRARY_PATH", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY",
    "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
# On the command line, where nothing that a repository brings along can change it.
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "core.bigFileThreshold=1m",  # larger ones are streamed, not held
    "protocol.allow=never",
    "protocol.https.allow=always",
    "http.sslVerify=true",
    "http.followRedirects=initial",
    "credential.helper=",
    "core.askPass=",
    "fetch.fsckObjects=true",
    "fetch.unpackLimit=1",  # one pack, which the limit on a file's size is then for
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "pack.threads=1",
)


class Repository:
    """The object store of a source, kept between syncs so that objects are fetched once."""

    def __init__(self, url: str, store: str, limits: Limits, ca: str | None) -> None:
        """Raises MissingProgram."""
        program = shutil.which("git")
        if program is None:
            raise MissingProgram(
                "git is not there, which a git source is fetched with",
                hint="install git, or use a published JSON address (ending in .json)",
            )
        self.program = program
        self.url, self.store, self.limits, self.ca = url, store, limits, ca

    def fetch(self, wanted: str, step: Callable[[str], None]) -> tuple[str, dict[str, bytes]]:
        """A commit ("": the newest) and its recipe files. Raises SourceError."""
        self._tidy()
        if not os.path.isdir(os.path.join(self.store, "objects")):
            self._git("init", "--bare", "--quiet", "--template=", self.store, store=False)
        commit = self._known(wanted) if wanted else ""
        if not commit:
            step("fetching")
            refspec = f"+{wanted or 'HEAD'}:{_REF}"
            self._git(
                "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules",
                "--no-write-fetch-head", "--end-of-options", self.url, refspec,
            )  # fmt: skip
            commit = self._commit(_REF)
        step("reading")
        return commit, self._files(commit)

    def _tidy(self) -> None:
        """Remove what broken-off fetches left; begin anew where too much has come together,
        or where it is no repository any more."""
        if os.path.isdir(self.store) and not self._is_store():
            shutil.rmtree(self.store)
        # Nobody else writes here: a lock is of a git that was ended.
        for folder, _, names in os.walk(self.store):
            for name in names:
                if name.endswith(".lock"):
                    os.unlink(os.path.join(folder, name))
        size = 0
        for path in self._packs():
            if os.path.basename(path).startswith("tmp_"):
                os.unlink(path)
            else:
                size += os.path.getsize(path)
        if size > self.limits.bytes:
            shutil.rmtree(self.store)

    def _is_store(self) -> bool:
        try:
            self._git("rev-parse", "--git-dir")
        except SourceError:
            return False
        return True

    def _packs(self) -> list[str]:
        packs = os.path.join(self.store, "objects", "pack")
        names = os.listdir(packs) if os.path.isdir(packs) else ()
        return [os.path.join(packs, name) for name in names]

    def _known(self, wanted: str) -> str:
        """A commit that is there already; "" where it is not, or where a name may have moved."""
        if len(wanted) not in (40, 64) or not set(wanted) <= set("0123456789abcdef"):
            return ""
        try:
            return self._commit(wanted)
        except SourceError:
            return ""

    def _commit(self, name: str) -> str:
        found = self._git("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
        return found.decode("ascii", "replace").strip().rpartition("\n")[2]

    def _files(self, commit: str) -> dict[str, bytes]:
        """The files of a recipes directory, at the repository's root or in recipes/."""
        listing = self._git("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        entries = [_entry(line) for line in listing.split(b"\0") if line]
        root = next(
            (r for r in _ROOTS if any(e[3].startswith(f"{r}models/") for e in entries)), None
        )
        if root is None:
            raise SourceError(f"{self.url} has no recipes: no folder models/ at {commit[:12]}")
        ours = [(*e[:3], e[3][len(root) :]) for e in entries if e[3].startswith(root)]
        return self._read([e for e in ours if is_ours(e[3])])

    def _read(self, entries: Sequence[tuple[str, str, str, str]]) -> dict[str, bytes]:
        """The blobs of the files that are taken; what only looks like a file is refused."""
        for mode, _, _, path in entries:
            if mode not in _REGULAR:
                kind = {"120000": "a link", "160000": "a submodule"}.get(mode, "no file")
                raise SourceError(f"{self.url}: {shown(path)} is {kind}")
        taken = [(blob, int(size), path) for _, blob, size, path in entries if is_taken(path)]
        check_names((path for *_, path in taken), self.url)
        check_sizes({path: size for _, size, path in taken}, self.limits, self.url)
        asked = "".join(f"{blob}\n" for blob, _, _ in taken).encode()
        answer = self._git("cat-file", "--batch", given=asked)
        files = {}
        for blob, size, path in taken:
            head, _, answer = answer.partition(b"\n")
            if head != f"{blob} blob {size}".encode():
                raise SourceError(f"{self.url}: {shown(path)} cannot be read from the repository")
            files[path], answer = answer[:size], answer[size + 1 :]
        return files

    def _git(self, *words: str, given: bytes = b"", store: bool = True) -> bytes:
        """Run git to its end, within the time and output there are. Raises SourceError."""
        try:
            return self._run(words, given, store)
        except OSError as error:  # of its files and pipes
            raise SourceError(f"cannot run git for {self.url}: {error.strerror}") from None

    def _run(self, words: Sequence[str], given: bytes, store: bool) -> bytes:
        where = [f"--git-dir={self.store}"] if store else []
        settings = [*_SETTINGS, "http.lowSpeedLimit=1", f"http.lowSpeedTime={self._idle()}"]
        argv = [self.program, *where, *(w for s in settings for w in ("-c", s)), *words]
        with TemporaryFile() as stdin, TemporaryFile() as stderr:
            stdin.write(given)
            stdin.seek(0)
            with subprocess.Popen(
                argv, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, cwd="/",
                env=self._environment(), start_new_session=True,
            ) as process:  # fmt: skip
                try:
                    self._confine(process)
                    assert process.stdout is not None
                    out = process.stdout.read(_OUTPUT + self.limits.bytes)
                    if process.stdout.read(1):
                        raise SourceError(f"{self.url} has too many files to be listed")
                    process.wait()
                finally:
                    _end(process)
            if process.returncode:
                stderr.seek(0)
                raise self._failed(stderr.read(_CHUNK).decode("utf-8", "replace"))
        return out

    def _idle(self) -> int:
        return max(1, round(self.limits.idle_seconds))

    def _environment(self) -> dict[str, str]:
        """Only what git needs: no configuration, no credentials, no prompts, https alone."""
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        env |= {
            "HOME": self.store,  # where there is no .netrc
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "GIT_ALLOW_PROTOCOL": "https",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LFS_SKIP_SMUDGE": "1",
        }
        ca = self.ca or os.environ.get("SSL_CERT_FILE")
        return env | ({"GIT_SSL_CAINFO": os.path.abspath(ca)} if ca else {})

    def _confine(self, process: subprocess.Popen[bytes]) -> None:
        """What git may write to one file, hold in memory, and compute; its children inherit it.

        Set from outside, long before git has reached a network: code of ours between fork and
        exec could be stuck in a lock that another thread held.
        """
        for what, most in (
            (resource.RLIMIT_FSIZE, self.limits.bytes),
            (resource.RLIMIT_AS, _MEMORY),
            (resource.RLIMIT_CPU, int(self.limits.seconds) + 1),
            (resource.RLIMIT_CORE, 0),
        ):
            _, hard = resource.getrlimit(what)
            limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
            try:
                resource.prlimit(process.pid, what, (limit, limit))
            except ProcessLookupError:
                return  # done already

    def _failed(self, said: str) -> SourceError:
        """What git's last words mean."""
        if any(os.path.getsize(path) >= self.limits.bytes for path in self._packs()):
            return SourceError(f"{self.url} has more than {self.limits.bytes} bytes")
        lines = [line for line in said.splitlines() if line.startswith(("fatal: ", "error: "))]
        last = shown(lines[0].partition(": ")[2] if lines else said or "git failed")
        return SourceError(f"cannot fetch {self.url}: {last}")


def _entry(line: bytes) -> tuple[str, str, str, str]:
    """Mode, object, size and path of a line of a listing."""
    facts, _, path = line.partition(b"\t")
    mode, _, blob, size = facts.decode("ascii").split()
    return mode, blob, size, path.decode("utf-8", "surrogateescape")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and whatever it started, if it has not ended by itself."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
