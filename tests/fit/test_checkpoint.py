"""A checkpoint's config, read where it is local or cached, and never downloaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vllm_launch.host.checkpoint import find, hub_directory, read

CONFIG = {
    "num_hidden_layers": 4,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "max_position_embeddings": 32768,
    "torch_dtype": "bfloat16",
}


def write(directory: Path, config: object, **files: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    text = config if isinstance(config, str) else json.dumps(config)
    (directory / "config.json").write_text(text)
    for name, content in files.items():
        (directory / name.replace("__", ".")).write_text(content)
    return directory


def test_a_plain_config(tmp_path: Path) -> None:
    checkpoint = read(str(write(tmp_path, CONFIG)))
    assert checkpoint is not None
    assert (checkpoint.layers, checkpoint.attention_heads, checkpoint.kv_heads) == (4, 16, 4)
    assert checkpoint.head_dim == 64
    assert checkpoint.split_dims == (4096,)
    assert checkpoint.context_length == 32768
    assert checkpoint.block_size is None


def test_a_multimodal_config_has_its_figures_under_text_config(tmp_path: Path) -> None:
    nested = {"text_config": {**CONFIG, "head_dim": 128, "moe_intermediate_size": 512}}
    checkpoint = read(str(write(tmp_path, nested)))
    assert checkpoint is not None
    assert (checkpoint.layers, checkpoint.head_dim, checkpoint.expert_dims) == (4, 128, (512,))


def test_block_quantised_weights(tmp_path: Path) -> None:
    quantised = {**CONFIG, "quantization_config": {"weight_block_size": [128, 128]}}
    checkpoint = read(str(write(tmp_path, quantised)))
    assert checkpoint is not None
    assert checkpoint.block_size == 128


def test_weights_are_counted_from_the_index(tmp_path: Path) -> None:
    index = json.dumps({"metadata": {"total_size": 123_456}, "weight_map": {}})
    write(tmp_path, CONFIG)
    (tmp_path / "model.safetensors.index.json").write_text(index)
    checkpoint = read(str(tmp_path))
    assert checkpoint is not None
    assert checkpoint.weight_bytes == 123_456


@pytest.mark.parametrize(
    "config",
    [
        pytest.param("{", id="not-json"),
        pytest.param("[]", id="no-mapping"),
        pytest.param("", id="empty"),
        pytest.param("[" * 100_000, id="nested-without-end"),
    ],
)
def test_a_config_that_cannot_be_read_is_none(tmp_path: Path, config: str) -> None:
    assert read(str(write(tmp_path, config))) is None


@pytest.mark.parametrize("value", [-1, 0, "16", 16.5, True, None, []], ids=repr)
def test_a_figure_that_is_no_count_is_unknown(tmp_path: Path, value: object) -> None:
    checkpoint = read(str(write(tmp_path, {**CONFIG, "num_attention_heads": value})))
    assert checkpoint is not None
    assert checkpoint.attention_heads is None


def test_a_cached_model_is_found_by_its_main_revision(tmp_path: Path) -> None:
    root = tmp_path / "hub" / "models--org--repo"
    write(root / "snapshots" / "aaa", CONFIG)
    wanted = write(root / "snapshots" / "bbb", CONFIG)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text("bbb")
    assert find("org/repo", {"HF_HOME": str(tmp_path)}) == str(wanted)


def test_a_revision_cannot_leave_the_cache(tmp_path: Path) -> None:
    root = tmp_path / "hub" / "models--org--repo"
    write(tmp_path / "elsewhere", CONFIG)
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text("../../../elsewhere")
    assert find("org/repo", {"HF_HOME": str(tmp_path)}) is None


def test_a_model_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert find("org/repo", {"HF_HUB_CACHE": str(tmp_path)}) is None
    assert find("../../etc", {"HF_HUB_CACHE": str(tmp_path)}) is None


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a", id="hub-cache"),
        pytest.param({"HF_HOME": "/b"}, "/b/hub", id="home"),
        pytest.param({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub", id="xdg"),
    ],
)
def test_where_the_hub_cache_is(environ: dict[str, str], expected: str) -> None:
    assert hub_directory(environ) == expected
