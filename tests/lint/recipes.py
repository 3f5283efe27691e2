"""Whole recipes with one thing wrong, and what is told about it."""

from __future__ import annotations

HEAD = """\
model:
  model_id: org/repo
  min_vllm_version: "0.24.0"
"""
TAIL = """\
variants:
  default: {precision: bf16}
compatible_strategies: [single_node_tp]
"""


def recipe(model: str = "", rest: str = "", tail: str = TAIL) -> str:
    """A recipe with more under model (from line 4 on), and more behind that."""
    return f"{HEAD}{model}{rest}{tail}"


RECIPES: dict[str, tuple[str, list[str]]] = {
    "nothing wrong": (recipe(), []),
    "a key that is none": (
        recipe("  frobnicate: 1\n"),
        [
            "4:3 warning LINT_FORMAT unknown key 'frobnicate'",
        ],
    ),
    "a version that is none": (
        "model:\n  model_id: org/repo\n  min_vllm_version: latest\n" + TAIL,
        ["3:21 warning LINT_FORMAT 'latest' is no version of vLLM"],
    ),
    "a variant's version that is none": (
        recipe(
            tail=(
                "variants: {a: {}, b: {min_vllm_version: v}}\n"
                "compatible_strategies: [single_node_tp]\n"
            )
        ),
        ["4:41 warning LINT_FORMAT 'v' is no version of vLLM"],
    ),
    "what is said of hardware in no known word": (
        recipe(
            rest=(
                "meta: {hardware: {h200: verified, h100: unsuported}}\n"
                "kv_offload_support: {simple: yess}\n"
            )
        ),
        [
            ("4:41 warning LINT_FORMAT 'unsuported' is none of verified, supported, unsupported"),
            "5:30 warning LINT_FORMAT 'yess' is none of verified, supported, unsupported",
        ],
    ),
    "an argument that every variant replaces": (
        recipe(
            '  base_args: ["--max-num-seqs", "8", "--max-model-len", "9"]\n',
            tail=(
                'variants:\n  a: {extra_args: ["--max-num-seqs", "16"]}\n'
                '  b: {extra_args: ["--max-num-seqs", "32", "--max-model-len", "1"]}\n'
                "compatible_strategies: [single_node_tp]\n"
            ),
        ),
        [
            (
                "4:0 warning LINT_SHADOWED --max-num-seqs 8 never holds: a later layer replaces "
                "it everywhere, last variants.b.extra_args, line 7"
            )
        ],
    ),
    "an argument that the parallelism replaces, in its short form": (
        recipe('  base_args: ["-tp", "4"]\n'),
        [
            (
                "4:0 warning LINT_SHADOWED -tp 4 never holds: a later layer replaces it "
                "everywhere, last strategies.single_node_tp"
            )
        ],
    ),
    "an argument that a variant repeats": (
        recipe(
            '  base_args: ["--max-num-seqs", "8"]\n',
            tail=(
                'variants: {a: {extra_args: ["--max-num-seqs", "8"]}}\n'
                "compatible_strategies: [single_node_tp]\n"
            ),
        ),
        [
            (
                "4:0 note LINT_SHADOWED --max-num-seqs 8 never holds: a later layer replaces it "
                "everywhere, last variants.a.extra_args, line 5"
            )
        ],
    ),
    "an argument that only a feature replaces": (
        recipe(
            '  base_args: ["--max-num-seqs", "8"]\n',
            'features: {small: {args: ["--max-num-seqs", "2"]}}\n',
        ),
        [],
    ),
    "a strategy that is none": (
        recipe(tail="variants: {default: {}}\ncompatible_strategies: [single_node_pp]\n"),
        [
            "5:25 error LINT_FORMAT unknown strategy 'single_node_pp'",
        ],
    ),
    "faults in a recipe that cannot be read": (
        recipe('  base_args: ["--frobnicate"]\n  context_length: long\n'),
        [
            (
                "4:15 error LINT_UNKNOWN the flag --frobnicate is unknown: no release "
                "from 0.24.0 to 0.33.0 has it"
            ),
            "5:19 error LINT_FORMAT found the text 'long'; expected a whole number",
        ],
    ),
    "a version that faults elsewhere do not hide": (
        recipe(
            '  base_args: ["--disable-log-requests", "--max-num-active-seqs", "4"]\n',
            tail="variants: {default: {}}\ncompatible_strategies: [single_node_tpp]\n",
        ).replace("0.24.0", "0.33.0"),
        ["6:25 error LINT_FORMAT unknown strategy 'single_node_tpp'"],
    ),
    "a version that is no text": (
        recipe('  base_args: ["--disable-log-requests"]\n').replace('"0.24.0"', "0.33"),
        ["3:21 error LINT_FORMAT found a number (0.33); expected text"],
    ),
    "a model that cannot be read": (
        recipe('  base_args: ["--disable-log-requests"]\n').replace("model_id: org/repo", ""),
        ["3:3 error LINT_FORMAT the key 'model_id' is missing"],
    ),
    "no YAML": (
        "model: [\n",
        [
            (
                "2:1 error LINT_FORMAT not valid YAML: while parsing a flow node did not "
                "find expected node content"
            ),
        ],
    ),
    "no strategy": (
        recipe(tail="variants: {default: {}}\n"),
        [
            (
                "1:0 warning LINT_NO_STRATEGY no strategy is offered on any hardware, so "
                "nothing resolves"
            ),
        ],
    ),
    "no strategy, of vLLM-Omni": (
        recipe('  base_args: ["--omni"]\n', "omni: {}\n", "variants: {default: {}}\n"),
        [
            (
                "1:0 note LINT_NO_STRATEGY no strategy is offered on any hardware, so "
                "nothing resolves"
            ),
        ],
    ),
    "a flag of vLLM-Omni's that vLLM once had": (
        recipe('  base_args: ["--calculate-kv-scales"]\n', "omni: {}\n"),
        [
            (
                "4:15 note LINT_DEAD the flag --calculate-kv-scales is dead since 0.28.0:"
                " 0.27.1 had it last, unless vLLM-Omni has it"
            ),
        ],
    ),
    "an unknown variable": (
        recipe('  base_env: {VLLM_FROBNICATE: "1"}\n'),
        [
            (
                "4:14 warning LINT_UNKNOWN the variable VLLM_FROBNICATE is unknown: no "
                "release from 0.24.0 to 0.33.0 has it"
            ),
        ],
    ),
    "a dead variable": (
        recipe('  base_env: {VLLM_MM_HASHER_ALGORITHM: "x"}\n'),
        [
            (
                "4:14 warning LINT_RENAMED the variable VLLM_MM_HASHER_ALGORITHM is dead "
                "since 0.30.0: 0.29.0 had it last"
            ),
        ],
    ),
    "a renamed variable": (
        recipe('  base_env: {VLLM_TRITON_ATTN_USE_TD: "1"}\n'),
        [
            (
                "4:14 warning LINT_RENAMED the variable VLLM_TRITON_ATTN_USE_TD is dead "
                "since 0.29.0: 0.28.0 had it last"
            ),
        ],
    ),
    "variables of others": (
        recipe('  base_env: {VLLM_OMNI_X: "1", VLLM_ASCEND_Y: "1", NCCL_DEBUG: INFO}\n'),
        [],
    ),
    "a deprecated flag": (
        recipe('  base_args: ["--disable-cascade-attn"]\n'),
        [
            (
                "4:15 note LINT_DEPRECATED --disable-cascade-attn is deprecated since "
                "0.33.0: it has no effect"
            ),
        ],
    ),
    "a choice that older releases lack": (
        recipe('  base_args: ["--moe-backend", "b12x"]\n'),
        [
            (
                "4:15 warning LINT_NOT_YET the choice --moe-backend b12x is not known "
                "before 0.29.0, and the recipe allows 0.24.0"
            ),
        ],
    ),
    "a choice that there is not": (
        recipe('  base_args: ["--moe-backend", "frob"]\n'),
        [
            ("4:15 error LINT_VALUE --moe-backend does not take 'frob'; it takes triton, …"),
        ],
    ),
    "a name of a nightly": (
        recipe('  nightly_required: true\n  base_args: ["--frobnicate"]\n'),
        [
            (
                "5:15 warning LINT_UNKNOWN the flag --frobnicate is unknown: no release "
                "from 0.24.0 to 0.33.0 has it"
            ),
        ],
    ),
    "a name of a nightly, as declared": (
        recipe('  unreleased: ["--frobnicate"]\n  base_args: ["--frobnicate"]\n'),
        [
            (
                "5:15 note LINT_UNRELEASED the flag --frobnicate: no release from 0.24.0 "
                "to 0.33.0 has it, as model.unreleased says"
            ),
        ],
    ),
    "a choice of a nightly, as declared": (
        recipe('  unreleased: [frob]\n  base_args: ["--moe-backend", "frob"]\n'),
        [
            (
                "5:15 note LINT_UNRELEASED --moe-backend does not take 'frob'; it takes "
                "triton, …; model.unreleased says so"
            ),
        ],
    ),
    "a declared name that is released": (
        recipe('  unreleased: ["--max-num-seqs"]\n  base_args: ["--max-num-seqs", "4"]\n'),
        [
            (
                "1:0 warning LINT_UNRELEASED --max-num-seqs is in a release, or not used "
                "in this recipe"
            ),
        ],
    ),
    "a minimum that is a nightly": (
        'model: {model_id: org/repo, min_vllm_version: nightly, base_args: ["--frobnicate"]}\n'
        + TAIL,
        [
            (
                "1:68 warning LINT_UNKNOWN the flag --frobnicate is unknown: no release "
                "from 0.24.0 to 0.33.0 has it"
            ),
        ],
    ),
    "a name that the variant's minimum has": (
        recipe(
            tail=(
                'variants: {default: {min_vllm_version: "0.33.0", extra_args: ["--monokernel"]}}\n'
                "compatible_strategies: [single_node_tp]\n"
            )
        ),
        [],
    ),
    "a name that the preset's image has": (
        recipe(
            "",
            (
                "presets:\n  p:\n    hardware: h200\n    strategy: single_node_tp\n"
                '    image: "vllm/vllm-openai:v0.33.0"\n    args: ["--monokernel"]\n'
            ),
        ),
        [],
    ),
    "a name that the preset's image lacks": (
        recipe(
            "",
            (
                "presets:\n  p:\n    hardware: h200\n    strategy: single_node_tp\n"
                '    image: "vllm/vllm-openai:v0.32.0"\n    args: ["--monokernel"]\n'
            ),
        ),
        [
            (
                "9:12 error LINT_NOT_YET the flag --monokernel is not known before "
                "0.33.0, and the image vllm/vllm-openai:v0.32.0 has 0.32.0"
            ),
        ],
    ),
    "an image older than the recipe allows": (
        recipe("  docker_image: {nvidia: 'vllm/vllm-openai:v0.23.0'}\n"),
        [
            (
                "4:26 error LINT_IMAGE vllm/vllm-openai:v0.23.0 has vLLM 0.23.0, and "
                "min_vllm_version is 0.24.0"
            ),
        ],
    ),
    "an image older than one variant allows": (
        recipe(
            "  docker_image: vllm/vllm-openai:v0.24.0-cu130\n",
            tail=(
                "variants:\n  a: {min_vllm_version: '0.30.0'}\n"
                "  b: {min_vllm_version: '0.30.0', docker_image: 'vllm/vllm-openai:v0.30.0'}\n"
                "  c: {}\ncompatible_strategies: [single_node_tp]\n"
            ),
        ),
        [
            (
                "4:17 error LINT_IMAGE vllm/vllm-openai:v0.24.0-cu130 has vLLM 0.24.0, and "
                "min_vllm_version is 0.30.0"
            ),
        ],
    ),
    "an image of a preset's point, older than the recipe allows": (
        recipe(
            "",
            (
                "presets:\n  p:\n    hardware: h200\n    strategy: single_node_tp\n"
                '    image: "vllm/vllm-openai:v0.24.0"\n'
                '    points: {a: {image: "vllm/vllm-openai:v0.9.1"}}\n'
            ),
        ),
        [
            (
                "9:25 error LINT_IMAGE vllm/vllm-openai:v0.9.1 has vLLM 0.9.1, and "
                "min_vllm_version is 0.24.0"
            ),
        ],
    ),
    "a flag that the recipe's image lacks": (
        recipe(
            "  docker_image: vllm/vllm-openai:v0.24.0\n"
            '  base_args: ["--max-num-active-seqs", "4", "--max-num-seqs", "8"]\n'
            '  base_env: {VLLM_LOGGING_LEVEL: "INFO"}\n'
        ),
        [
            (
                "5:15 error LINT_NOT_YET the flag --max-num-active-seqs is not known before "
                "0.31.0, and the image vllm/vllm-openai:v0.24.0 has 0.24.0"
            ),
            (
                "5:15 warning LINT_NOT_YET the flag --max-num-active-seqs is not known before "
                "0.31.0, and the recipe allows 0.24.0"
            ),
        ],
    ),
    "a flag that the recipe's image has, and no later release": (
        recipe("  docker_image: vllm/vllm-openai:v0.27.1\n  base_args: [--calculate-kv-scales]\n"),
        [
            (
                "5:15 error LINT_DEAD the flag --calculate-kv-scales is dead since 0.28.0: 0.27.1 "
                "had it last"
            )
        ],
    ),
    "a newer image for the hardware that needs it": (
        recipe(
            "  docker_image: vllm/vllm-openai:v0.24.0\n",
            tail=(
                "variants:\n  default:\n    hardware_overrides:\n      h200:\n"
                "        docker_image: vllm/vllm-openai:v0.33.0\n"
                "        extra_args: [--monokernel]\ncompatible_strategies: [single_node_tp]\n"
            ),
        ),
        [],
    ),
    "a preset on hardware without its strategy": (
        recipe(
            "",
            (
                "presets:\n  p:\n    hardware: h200\n    strategy: single_node_dep\n"
                "    points: {c1: {}}\n"
            ),
        ),
        [
            (
                "6:0 error LINT_PRESET the preset p does not resolve: org/repo does not "
                "offer the strategy 'single_node_dep' on h200"
            ),
            (
                "8:0 error LINT_PRESET the preset p:c1 does not resolve: org/repo does "
                "not offer the strategy 'single_node_dep' on h200"
            ),
        ],
    ),
    "JSON merged into none": (
        recipe(
            '  base_args: ["--hf-overrides", "x"]\n',
            (
                "presets:\n  p:\n    hardware: h200\n    strategy: single_node_tp\n"
                "    json_args: {--hf-overrides: {a: 1}}\n"
            ),
        ),
        [
            (
                "7:0 error LINT_PRESET the preset p does not resolve: "
                "presets.p.json_args: --hf-overrides holds 'x', which is no JSON mapping"
            ),
        ],
    ),
    "unknown keys in merged JSON": (
        recipe(
            "",
            (
                "presets:\n  p:\n    hardware: h200\n    strategy: single_node_tp\n"
                "    json_args: {--compilation-config: {moood: 1, mode: null}}\n"
            ),
        ),
        [
            (
                "8:17 error LINT_UNKNOWN the key --compilation-config.moood is unknown: "
                "no release from 0.24.0 to 0.33.0 has it"
            ),
        ],
    ),
    "a removal of what is no flag": (
        recipe(
            "",
            (
                "presets:\n  p:\n    hardware: h200\n    strategy: single_node_tp\n"
                "    remove_args: [--frobnicate, --attention_config.backend]\n"
            ),
        ),
        [
            ("8:19 warning LINT_UNKNOWN --frobnicate is no flag, so nothing is removed"),
        ],
    ),
    "hardware that never counts there": (
        recipe("", 'hardware_overrides: {h200: {extra_args: ["--max-num-seqs", "4"]}}\n'),
        [
            (
                "4:41 warning LINT_UNREACHABLE hardware_overrides.h200.extra_args counts "
                "in no combination of variant, hardware and strategy"
            ),
        ],
    ),
    "a variant that nothing runs": (
        recipe(
            tail=(
                "variants:\n  default: {}\n  odd:\n"
                "    precision_hardware: {brand: AMD, generation: hopper}\n"
                "compatible_strategies: [single_node_tp]\n"
            )
        ),
        [
            (
                "7:0 warning LINT_UNREACHABLE no combination of hardware and strategy "
                "runs the variant odd"
            ),
        ],
    ),
    "a mode that nothing runs": (
        recipe(
            "",
            (
                "features:\n  spec:\n    modes:\n      a: {}\n"
                "      b: {hardware: {nvidia: unsupported, amd: unsupported, google: unsupported,\n"
                "          intel: unsupported, huawei: unsupported}}\n"
            ),
        ),
        [
            ("8:0 warning LINT_UNREACHABLE no combination runs the mode b of the feature spec"),
        ],
    ),
    "a mandatory flag with another value": (
        recipe(
            '  base_args: ["--block-size", "128"]\n  mandatory_args: ["--block-size", "128"]\n',
            'hardware_overrides: {hopper: {extra_args: ["--block-size", "64"]}}\n',
        ),
        [
            (
                "6:44 error LINT_MANDATORY --block-size 64 replaces --block-size 128, "
                "which is mandatory for this model"
            ),
        ],
    ),
    "a mandatory flag in another spelling": (
        recipe(
            '  base_args: ["--block-size", "128"]\n  mandatory_args: ["--block-size", "128"]\n',
            'hardware_overrides: {hopper: {extra_args: ["--block_size=64"]}}\n',
        ),
        [
            (
                "6:44 error LINT_MANDATORY --block_size 64 replaces --block-size 128, which is "
                "mandatory for this model"
            ),
        ],
    ),
    "a mandatory switch thrown back": (
        recipe(
            '  base_args: ["--disable-hybrid-kv-cache-manager"]\n'
            '  mandatory_args: ["--disable-hybrid-kv-cache-manager"]\n',
            "hardware_overrides:\n"
            '  hopper: {extra_args: ["--no-disable-hybrid-kv-cache-manager"]}\n',
        ),
        [
            (
                "7:0 note LINT_CONFLICT --disable-hybrid-kv-cache-manager and "
                "--no-disable-hybrid-kv-cache-manager are both given"
            ),
            (
                "7:25 error LINT_MANDATORY --no-disable-hybrid-kv-cache-manager replaces "
                "--disable-hybrid-kv-cache-manager, which is mandatory for this model"
            ),
        ],
    ),
    "a mandatory flag removed": (
        recipe(
            '  base_args: ["--block-size", "128"]\n  mandatory_args: ["--block-size", "128"]\n',
            "presets:\n"
            "  p: {hardware: h200, strategy: single_node_tp, remove_args: [--block_size]}\n",
        ),
        [
            ("7:63 error LINT_MANDATORY --block_size is removed, and it is mandatory"),
        ],
    ),
    "arguments that need others": (
        recipe('  base_args: ["--enable-auto-tool-choice"]\n'),
        [
            (
                "4:0 error LINT_CONFLICT --enable-auto-tool-choice needs --tool-call-"
                "parser, which is not given"
            ),
        ],
    ),
    "a layer that turns a switch back": (
        recipe(
            '  base_args: ["--enable-prefix-caching"]\n',
            'hardware_overrides: {hopper: {extra_args: ["--no-enable-prefix-caching"]}}\n',
        ),
        [
            (
                "5:0 note LINT_CONFLICT --enable-prefix-caching and --no-enable-prefix-"
                "caching are both given"
            ),
        ],
    ),
    "features that exclude each other": (
        recipe("", "features: {a: {excludes: [b]}, b: {}}\nopt_in_features: [b]\n"),
        [],
    ),
    "an image with a command": (
        recipe('  docker_image: "docker pull org/image:1.2.3"\n'),
        [
            ("4:17 error LINT_IMAGE 'docker pull org/image:1.2.3' is no image reference"),
        ],
    ),
    "an image that moves": (
        recipe("  docker_image: {nvidia: org/image, amd: 'org/image:rc'}\n"),
        [
            "4:26 note LINT_IMAGE_TAG org/image may be another image tomorrow",
            "4:42 note LINT_IMAGE_TAG org/image:rc may be another image tomorrow",
        ],
    ),
    "images that stay": (
        recipe(
            "  docker_image: {nvidia: 'org/image:v1.2.3', amd: "
            f"'org/image:x@sha256:{'0' * 64}'}}\n"
        ),
        [],
    ),
    "less memory than weights": (
        recipe(
            '  parameter_count: "100B"\n',
            tail="variants: {default: {precision: bf16, vram_minimum_gb: 150}}\n"
            "compatible_strategies: [single_node_tp]\n",
        ),
        [
            (
                "5:0 error LINT_MEMORY_LOW vram_minimum_gb is 150, and 100B parameters in"
                " bf16 take 200 GB"
            ),
        ],
    ),
    "less memory than weights, beside four bits of the same checkpoint": (
        recipe(
            '  parameter_count: "70B"\n',
            tail="variants:\n"
            "  default: {precision: bf16, vram_minimum_gb: 60}\n"
            "  nvfp4: {precision: nvfp4, vram_minimum_gb: 42}\n"
            "compatible_strategies: [single_node_tp]\n",
        ),
        [
            (
                "6:0 error LINT_MEMORY_LOW vram_minimum_gb is 60, and 70B parameters in"
                " bf16 take 140 GB"
            ),
        ],
    ),
    "less memory than eight bits": (
        recipe(
            '  parameter_count: "100B"\n',
            tail="variants: {default: {precision: fp8, vram_minimum_gb: 60}}\n"
            "compatible_strategies: [single_node_tp]\n",
        ),
        [
            (
                "5:0 warning LINT_MEMORY_LOW vram_minimum_gb is 60, and 100B parameters "
                "in fp8 take 100 GB"
            ),
        ],
    ),
    "less memory than eight bits, of partly four": (
        recipe(
            '  parameter_count: "100B"\n',
            tail="variants: {default: {precision: fp8, vram_minimum_gb: 60, label: FP4 experts}}\n"
            "compatible_strategies: [single_node_tp]\n",
        ),
        [],
    ),
    "far more memory than weights": (
        recipe(
            '  parameter_count: "100B"\n',
            tail="variants: {default: {precision: bf16, vram_minimum_gb: 1000}}\n"
            "compatible_strategies: [single_node_tp]\n",
        ),
        [
            (
                "5:0 warning LINT_MEMORY_HIGH vram_minimum_gb is 1000, and 100B "
                "parameters in bf16 take 200 GB"
            ),
        ],
    ),
    "a smaller model of the family": (
        recipe(
            '  parameter_count: "100B"\n',
            tail="variants: {default: {model_id: org/r-7B, precision: bf16, vram_minimum_gb: 15}}\n"
            "compatible_strategies: [single_node_tp]\n",
        ),
        [],
    ),
    "a name that the preset's own image may have": (
        recipe(
            "",
            (
                "presets:\n  p:\n    hardware: h200\n    strategy: single_node_tp\n"
                '    image: "org/vllm:mine"\n    args: ["--monokernel"]\n'
            ),
        ),
        [
            "8:12 note LINT_IMAGE_TAG org/vllm:mine may be another image tomorrow",
            (
                "9:12 note LINT_NOT_YET the flag --monokernel is not known before 0.33.0,"
                " and the recipe allows 0.24.0"
            ),
        ],
    ),
    "true in quotes inside JSON": (
        recipe("  base_args: ['--kernel-config', '{\"enable_flashinfer_autotune\": \"true\"}']\n"),
        [
            (
                "4:15 warning LINT_JSON --kernel-config: enable_flashinfer_autotune is "
                '"true" in quotes, which is text'
            ),
        ],
    ),
    "a choice of a nightly": (
        recipe('  nightly_required: true\n  base_args: ["--moe-backend", "frob"]\n'),
        [
            ("5:15 warning LINT_VALUE --moe-backend does not take 'frob'; it takes triton, …"),
        ],
    ),
    "a value as a whole and by key": (
        recipe(
            "  base_args: ['--attention-config', '{}']\n",
            (
                "hardware_overrides:\n"
                '  hopper: {extra_args: ["--attention-config.backend", FLASHINFER]}\n'
            ),
        ),
        [
            (
                "6:0 warning LINT_CONFLICT --attention-config is given as JSON and by key"
                " (--attention-config.backend)"
            ),
        ],
    ),
    "a variable that nothing took the place of": (
        recipe('  base_env: {VLLM_USE_V1: "1"}\n'),
        [
            "4:14 warning LINT_DEAD the variable VLLM_USE_V1 was dead before 0.24.0",
        ],
    ),
    "a renamed flag of vLLM-Omni's": (
        recipe('  base_args: ["--swap-space", "4"]\n', "omni: {}\n"),
        [
            (
                "4:15 note LINT_RENAMED the flag --swap-space was dead before 0.24.0, "
                "unless vLLM-Omni has it"
            ),
        ],
    ),
    "a key of a connector that no release reads": (
        recipe(
            "  base_args: ['--kv-transfer-config', '{\"kv_connector\": "
            '"SimpleCPUOffloadConnector", "kv_connector_extra_config": '
            '{"cpu_hugepage_block_size": 1}}\']\n'
        ),
        [
            (
                "4:15 warning LINT_UNKNOWN the key cpu_hugepage_block_size of "
                "SimpleCPUOffloadConnector is not read by any release to 0.33.0"
            ),
        ],
    ),
    "a name that somebody's own build may have": (
        recipe(
            tail=(
                "variants:\n  default:\n    hardware_overrides:\n      h200:\n"
                "        docker_image: 'org/vllm:1'\n        extra_args: [\"--frobnicate\"]\n"
                "compatible_strategies: [single_node_tp]\n"
            )
        ),
        [
            "8:23 note LINT_IMAGE_TAG org/vllm:1 may be another image tomorrow",
            (
                "9:22 note LINT_UNKNOWN the flag --frobnicate is unknown: no release from"
                " 0.24.0 to 0.33.0 has it"
            ),
        ],
    ),
    "a name that a nightly image of vLLM's may have": (
        recipe(
            tail=(
                "variants:\n  default:\n    hardware_overrides:\n      h200:\n"
                "        docker_image: 'vllm/vllm-openai:nightly-0123456789abcdef'\n"
                '        extra_args: ["--frobnicate"]\n'
                "compatible_strategies: [single_node_tp]\n"
            )
        ),
        [
            (
                "9:22 warning LINT_UNKNOWN the flag --frobnicate is unknown: no release "
                "from 0.24.0 to 0.33.0 has it"
            ),
        ],
    ),
}
