"""A recipe to begin with, in the form that this project's own have."""

from __future__ import annotations

from ..resolve.weights import parameters, weight_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.checkpoint import Checkpoint

_HEADROOM = 1.2
_GB = 1e9
_DENSE = ("single_node_tp", "multi_node_tp")
_MIXED = ("single_node_tp", "single_node_tep", "single_node_dep", "multi_node_tp")
_FEATURES = """\
# What can be switched on: parsers, drafting, parts left unloaded. The parsers' names are in
# 'vllm serve --help'.
# features:
#   tool_calling:
#     description: "Turns the model's tool calls into API tool calls"
#     args:
#       - "--tool-call-parser"
#       - "NAME"
#       - "--enable-auto-tool-choice"
#   reasoning:
#     description: "Splits thinking from the answer"
#     args:
#       - "--reasoning-parser"
#       - "NAME"
"""
_REST = """\
# Where hardware wants other arguments: a generation (hopper, blackwell, amd) or "nvidia".
# hardware_overrides:
#   amd:
#     extra_args: []
#     extra_env: {}

# client:
#   temperature: 1.0

benchmark:
  dataset-name: random
  random-input-len: 8000
  random-output-len: 1000
  num-prompts: 16

# notes:
#   - title: "What an operator should know"
#     when:
#       hardware: [h200]
#     body: |
#       And what to do about it.

# guide: |
#   ## Overview
"""


def new_recipe(model_id: str, checkpoint: Checkpoint | None) -> str:
    """The text of a recipe: what a config says, and what is to be filled in as comments."""
    parts = ("\n".join(part(model_id, checkpoint)) + "\n" for part in (_meta, _model, _variants))
    meta, model, variants = parts
    moe = checkpoint is not None and checkpoint.experts
    names = "\n".join(f"  - {name}" for name in (_MIXED if moe else _DENSE))
    strategies = f"compatible_strategies:\n{names}\n"
    return "\n".join((meta, model, _FEATURES, variants, strategies, _REST))


def _meta(model_id: str, checkpoint: Checkpoint | None) -> Iterator[str]:
    owner, _, name = model_id.partition("/")
    yield "meta:"
    yield f"  title: {_quoted(name)}"
    yield f"  slug: {_quoted(name.lower())}"
    yield f"  provider: {_quoted(owner)}"
    yield "  # A sentence or two: what the model is for, and which checkpoints there are."
    yield '  description: ""'
    yield "  tasks:"
    yield "    - text"
    if checkpoint is not None and checkpoint.sees:
        yield "    - multimodal"
    yield "  # Hardware profiles that it was seen to run on: verified, supported or unsupported."
    yield "  hardware: {}"


def _model(model_id: str, checkpoint: Checkpoint | None) -> Iterator[str]:
    yield "model:"
    yield f"  model_id: {_quoted(model_id)}"
    yield "  # The oldest vLLM release that is known to serve it."
    yield '  # min_vllm_version: "0.24.0"'
    count = _count(checkpoint) if checkpoint is not None else None
    if checkpoint is not None and count:
        yield f"  architecture: {'moe' if checkpoint.experts else 'dense'}"
        yield "  # As the checkpoint's files tell; the model's card may say it better."
        yield f'  parameter_count: "{_short(count)}"'
    else:
        yield "  # architecture: moe"
        yield '  # parameter_count: "70B"'
    if checkpoint is not None and checkpoint.context_length:
        yield f"  context_length: {checkpoint.context_length}"
    else:
        yield "  # context_length: 131072"
    if checkpoint is not None and checkpoint.own_code:
        yield "  # The checkpoint has code of its own. To run it, where it is trusted:"
        yield '  # base_args: ["--trust-remote-code"]'
    yield "  base_args: []"
    yield "  base_env: {}"


def _variants(model_id: str, checkpoint: Checkpoint | None) -> Iterator[str]:
    known = weight_bytes(checkpoint) if checkpoint is not None else None
    yield "# One for each checkpoint or precision; the first is what is served by default."
    yield "variants:"
    yield "  default:"
    if checkpoint is not None and checkpoint.precision:
        yield f"    precision: {checkpoint.precision}"
    else:
        yield "    # precision: bf16"
    if known is not None:
        yield f"    # {known[1][0].upper()}{known[1][1:]}."
        yield "    # Plus a fifth for headroom."
        yield f"    vram_minimum_gb: {max(1, round(known[0] * _HEADROOM / _GB))}"
    else:
        yield "    # The weights in GB, plus a fifth for headroom. Without it, all GPUs are taken."
        yield "    # vram_minimum_gb: 168"
    yield '    description: ""'
    yield "  # fp8:"
    yield f'  #   model_id: "{model_id}-FP8"'
    yield "  #   precision: fp8"
    yield "  #   vram_minimum_gb: 84"


def _count(checkpoint: Checkpoint) -> float | None:
    """The parameters: by the size of the weights where that is counted, else by the shape."""
    if checkpoint.weight_bytes and checkpoint.bits:
        return checkpoint.weight_bytes * 8 / checkpoint.bits
    return parameters(checkpoint)


def _short(count: float) -> str:
    """A count with three figures and its unit."""
    for size, unit in ((1e12, "T"), (1e9, "B")):
        if count >= size * 0.9995:
            return f"{count / size:.3g}{unit}"
    return f"{count / 1e6:.0f}M"


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)
