"""The script's head for sbatch, and what runs on the job's first node."""

from __future__ import annotations

from ...errors import UsageError
from ...model.image import is_image_reference, no_reference
from .words import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ...model.part import Part
    from ...model.taxonomy import HardwareProfile
    from .. import Brief

_PASSED_ON = ("time", "partition", "account", "qos", "constraint")
_MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
_CACHES = ("HF_HOME", "HF_HUB_CACHE")
_SCHEDULED = ("NVIDIA", "AMD", "Intel")  # brands whose devices Slurm counts as GPUs


def directives(brief: Brief, nodes: int) -> list[str]:
    """The #SBATCH lines."""
    options = brief.options
    lines = [
        f"job-name={brief.name}",
        f"nodes={nodes}",
        "ntasks-per-node=1",
        *_gpus(brief),
        "exclusive",
        "mem=0",
        *(f"{name}={_one_word(options, name)}" for name in _PASSED_ON if _given(options, name)),
        f"output={brief.name}-%j.log",
        "open-mode=append",
        "requeue",
        "export=ALL",
    ]
    return [f"#SBATCH --{line}" for line in lines]


def _gpus(brief: Brief) -> Iterator[str]:
    """GPUs a node; with --gres, what the cluster calls them."""
    if _given(brief.options, "gres"):
        gres = _one_word(brief.options, "gres")
        if gres != "none":
            yield f"gres={gres}"
        return
    count = gpus_per_node(brief.parts, brief.deployment.choice.hardware)
    if count:
        yield f"gpus-per-node={count}"


def gpus_per_node(parts: Sequence[Part], hardware: HardwareProfile) -> int:
    """The GPUs that the fullest node needs; 0 where Slurm has none to count."""
    if hardware.brand not in _SCHEDULED:
        return 0
    needed: dict[int, int] = {}
    for part in parts:
        needed[part.node] = needed.get(part.node, 0) + part.gpus
    masked = (_highest(value) + 1 for p in parts for name, value in p.env if name in _MASKS)
    return max(min(max(needed.values(), default=0), hardware.gpu_count), *masked, 0)


def _highest(mask: str) -> int:
    """The highest index of a device mask; -1 where it has none."""
    indices = [text for text in mask.split(",") if text.isascii() and text.isdecimal()]
    return max((int(text) for text in indices if len(text) < 4), default=-1)


def _given(options: Mapping[str, Any], name: str) -> bool:
    return options.get(name) is not None


def _one_word(options: Mapping[str, Any], name: str) -> str:
    """A value as an #SBATCH line holds it. Raises UsageError for what sbatch would cut apart."""
    value = str(options[name])
    if not value.isprintable() or any(character in " #'\"\\" for character in value):
        raise UsageError(
            f"--{name}: found {value!r}; expected one word without quotes",
            hint=f"give it to sbatch: sbatch --{name}=…",
        )
    return value


def main(
    brief: Brief,
    addressed: Sequence[int],
    caches: Sequence[str],
    files: Sequence[str],
    beside: bool,
) -> str:
    """The function that runs on the first node, and the choice between it and a node's."""
    text = _MAIN.format(
        name=brief.name,
        addresses=_addresses(addressed),
        steps=_steps(brief, caches, files, beside),
    )
    return text.lstrip("\n")


def _addresses(nodes: Sequence[int]) -> str:
    """The lines that find the addresses of some nodes, by number; the others stay names."""
    if not nodes:
        return ""
    numbers = " ".join(map(str, nodes))
    if len(nodes) > 1 and list(nodes) == list(range(nodes[0], nodes[-1] + 1)):
        numbers = f"{{{nodes[0]}..{nodes[-1]}}}"
    return _ADDRESSES.format(count=nodes[-1] + 1, nodes=numbers)


def _steps(brief: Brief, caches: Sequence[str], files: Sequence[str], beside: bool) -> str:
    """The steps; in containers, with what of the machine's files they see."""
    if not brief.options.get("pyxis"):
        return "  step all\n"
    names = [f",{name}" for name in brief.passed_by_name if name not in _CACHES]
    mounts = [f"{path}:{path}" for path in caches] + [f"{path}:{path}:ro" for path in files]
    text = _CONTAINER.format(
        caches="".join(f" {quoted(path)}" for path in caches),
        mounts="".join(f",{quoted(mount)}" for mount in mounts),
        image=quoted(pyxis_image(brief.deployment.image)),
        names="".join(names),
    )
    return text + ("  step beside --overlap\n" if beside else "")


def pyxis_image(image: str | None) -> str:
    """An image as pyxis names it: a # behind the registry, or the path of a squashed one.

    Raises UsageError for what is neither.
    """
    if image is None:
        raise UsageError("no image is known for this hardware", hint="give --image REF")
    if image.startswith("/"):
        return image

    if not is_image_reference(image):
        raise UsageError(no_reference(image), hint="write NAME:TAG")
    registry, slash, rest = image.partition("/")
    if slash and ("." in registry or ":" in registry or registry == "localhost"):
        return f"{registry}#{_by_digest(rest)}"
    return _by_digest(image)


def _by_digest(name: str) -> str:
    """A pinned image as enroot names it: the digest is where a tag would be."""
    name, at, digest = name.partition("@")
    return f"{name.partition(':')[0]}:{digest}" if at else name


_ADDRESSES = """\
  addresses=("${{hosts[@]:0:{count}}}")
  for node in {nodes}; do
    addresses[node]=$(address_of "${{hosts[node]}}")
  done
"""

_CONTAINER = """\
  export HF_HOME=${{HF_HOME:-$HOME/.cache/huggingface}}
  cache=${{HF_HUB_CACHE:-$HF_HOME}}
  for path in "$logs" "$HF_HOME" "$cache"; do
    [[ $path != *[,:[:space:]]* ]] ||
      fail "enroot cannot mount $path: there is a colon, comma or space in it"
  done
  mkdir -p "$HF_HOME" "$cache"{caches}
  step all --no-container-entrypoint --container-writable --container-image={image} \\
    --container-mounts="$logs:$logs,$HF_HOME:$HF_HOME,$cache:$cache"{mounts} \\
    --container-env="HF_HOME${{HF_HUB_CACHE:+,HF_HUB_CACHE}}"{names}
"""

_MAIN = r"""
# Starts a task on every node; the nodes need not have this file.
step() {{  # WHAT, options of srun
  srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --kill-on-bad-exit=1 --wait=5 \
    --export=ALL --cpu-bind=none --mpi=none --input=none --unbuffered "${{@:2}}" \
    bash -c "$(<"$0")" "$0" node "$1" "$logs" "${{addresses[@]}}" &
  steps+=($!)
}}

job() {{
  local list node cache path hosts=() addresses=() status=0
  logs=$PWD/{name}-$SLURM_JOB_ID
  mkdir -p "$logs"
  list=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
  mapfile -t hosts <<<"$list"
{addresses}  echo "start ${{SLURM_RESTART_COUNT:-0}} on ${{hosts[*]}}; logs in $logs"
  trap 'kill -TERM "${{steps[@]}}" 2>/dev/null || :' TERM INT
{steps}  wait -n || status=$?
  kill -TERM "${{steps[@]}}" 2>/dev/null || :
  wait "${{steps[@]}}" || :
  return "$status"
}}

pids=() names=() steps=() told=
if [[ ${{1-}} == node ]]; then
  settle "${{@:3}}"
  mkdir -p "$logs"
  # Slurm has brought the soft limits from where the job was submitted: a login's are too low.
  ulimit -S -l hard
  ulimit -S -n hard
  "on_node_$2"
  watch
elif [[ ${{SLURM_JOB_ID-}} ]]; then
  job
else
  fail "this is a Slurm job: submit it with sbatch"
fi
"""
