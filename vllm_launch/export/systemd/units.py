"""The text of units."""

from __future__ import annotations

from ...errors import UsageError
from ...model.part import SERVERS
from ...render.shell import quote
from ...resolve.container import run_argv
from ..containers import container_for
from ..readiness import health_url, startup_seconds, stop_seconds
from .names import ETC
from .words import argument, assignment, command, plain, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...model.part import Part
    from .. import Brief
    from .names import Names

# What systemd gives a service that says nothing about it.
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
_LIMITS = """\
# Pinned memory is registered with GPUs and network cards; connections are many; a thread's
# stack is what vLLM's images are run with; a core file would be as large as the memory.
LimitMEMLOCK=infinity
LimitNOFILE=1048576
LimitSTACK=67108864
LimitCORE=0
TasksMax=infinity
"""
_HARDENING = """\
# Only what is done with mounts. NoNewPrivileges= and what implies it would keep nvidia-modprobe
# from making the GPUs' device files; PrivateDevices= would hide them, PrivateTmp= an MPS server's
# pipes, and ProtectHome= the hub cache.
ProtectSystem=full
ProtectControlGroups=yes
"""
# Stopped while it waits, it has not failed; a shell's trap waits for no "wait".
_WAITS = (
    "trap 'exit 0' TERM; "
    "command -v curl >/dev/null || {{ echo 'curl is not installed' >&2; exit 1; }}; "
    "until curl --fail --silent --output /dev/null --max-time 5 {words}; "
    'do kill -0 "$MAINPID" || exit 1; sleep 5 & wait; done'
)


def service(
    part: Part,
    parts: Sequence[Part],
    brief: Brief,
    images: Mapping[str, str],
    names: Names,
) -> str:
    """One part's unit."""
    run = _native(part, brief) if brief.setup is None else _container(part, brief, images, names)
    sections = (
        "[Unit]\n" + "".join(_unit(part, parts, brief, names)),
        "[Service]\n" + "".join((*_service(part, brief, names), *run, *_ready(part))),
        f"[Install]\nWantedBy={names.target if names.several else 'multi-user.target'}\n",
    )
    return "\n".join(sections)


def target(parts: Sequence[Part], brief: Brief, names: Names) -> str:
    """What starts and stops all parts of a machine."""
    units = " ".join(names.unit(part) for part in parts)
    return (
        f"[Unit]\nDescription={plain(brief.deployment.recipe.id)}, all of it\n"
        f"# Those of other machines are not there, and not missed.\nWants={units}\n"
        "\n[Install]\nWantedBy=multi-user.target\n"
    )


def _unit(part: Part, parts: Sequence[Part], brief: Brief, names: Names) -> Iterator[str]:
    yield f"Description={plain(brief.deployment.recipe.id)}: {plain(part.title)}\n"
    before = [each for each in parts if each.name in part.after and each.node == part.node]
    yield "Wants=network-online.target\n"
    engine = ["docker.service"] if brief.setup and brief.setup.engine == "docker" else []
    after = " ".join(["network-online.target", *engine, *map(names.unit, before)])
    yield f"After={after}\n"
    # A router outlives a server that is started again; a server does not outlive its store.
    beside = [names.unit(each) for each in before if each.role not in SERVERS]
    needed = " ".join((*engine, *beside))
    if needed:
        yield f"Requires={needed}\n"
    if names.several:
        yield f"PartOf={names.target}\n"
    yield "# Five failures an hour: the next start would fail too.\n"
    yield "StartLimitIntervalSec=3600\nStartLimitBurst=5\n"


def _service(part: Part, brief: Brief, names: Names) -> Iterator[str]:
    yield "Type=exec\n"
    user = brief.options.get("service_user")
    if user:
        yield f"User={_checked_user(user)}\n"
    yield "# The user's home directory, where there is one.\nWorkingDirectory=-~\n"
    yield "Restart=on-failure\nRestartSec=10\n"
    if health_url(part):
        yield "# Until it answers: a cold start loads weights and compiles kernels.\n"
    yield f"TimeoutStartSec={_start_seconds(part, brief)}\n"
    yield "# To the server alone at first; what it leaves behind is killed.\n"
    yield "KillSignal=SIGTERM\nKillMode=mixed\n"
    yield f"TimeoutStopSec={stop_seconds(part)}\nSuccessExitStatus=143\n"
    if brief.setup is None or brief.setup.engine == "podman":
        yield _LIMITS
    if part.role in SERVERS:
        yield "# Secrets, of mode 600; they are read by systemd, not by the user.\n"
        yield f"EnvironmentFile=-{ETC}/{names.env_file}\n"


def _start_seconds(part: Part, brief: Brief) -> int:
    if part.plan is None or health_url(part) is None:
        return 300
    return startup_seconds(brief.deployment, part.plan)


def _native(part: Part, brief: Brief) -> Iterator[str]:
    """A part as it is installed on the machine."""
    yield _HARDENING
    path = _path_of(part.argv[0], brief)
    directory = path.rpartition("/")[0]
    named = {name for name, _ in part.env}
    if "PATH" not in named and directory not in _SYSTEM_PATH.split(":"):
        yield f"Environment={assignment('PATH', f'{directory}:{_SYSTEM_PATH}')}\n"
    for name, value in part.env:
        yield f"Environment={assignment(name, value)}\n"
    yield f"ExecStart={command([path, *part.argv[1:]])}\n"


def _container(part: Part, brief: Brief, images: Mapping[str, str], names: Names) -> Iterator[str]:
    """A part in a container, which ends with its client and is gone then."""
    container = container_for(part, brief, images, names.directory, names.directory)
    engine = _path_of(container.engine, brief)
    name = names.container(part)
    argv = run_argv(container.replace(name=name))
    yield f"ExecStartPre=-{program(engine)} rm --force {name}\n"
    yield f"ExecStart={command([engine, 'run', '--rm', *argv[2:]])}\n"
    yield f"ExecStop={program(engine)} stop --time {stop_seconds(part) - 10} {name}\n"


def _ready(part: Part) -> Iterator[str]:
    """A server is started once it answers: what comes after it waits for that."""
    url = health_url(part)
    if url is not None:
        # Its certificate is for the name that others know it by.
        trusting = "--insecure " if url.startswith("https:") else ""
        script = _WAITS.format(words=trusting + quote(url))
        yield f"ExecStartPost=/bin/sh -c {argument(script)}\n"


def _path_of(name: str, brief: Brief) -> str:
    programs: Mapping[str, str] = brief.options.get("programs") or {}
    return name if name.startswith("/") else programs.get(name, f"/usr/local/bin/{name}")


def _checked_user(user: str) -> str:
    if user.isascii() and user.replace("-", "a").replace("_", "a").replace(".", "a").isalnum():
        return user
    raise UsageError(
        f"--service-user: found {user!r}; expected a user's name", hint="for example vllm"
    )
