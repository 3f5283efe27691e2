"""What is taken for a secret, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_launch.model.secrets import (
    concealed,
    holds_password,
    holds_token,
    is_secret,
    secret_among,
    secret_in,
)


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "VLLM_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "S3_SECRET",
     "DB_PASSWORD", "OPENAI_KEY", "hf_token", "WANDB_APIKEY", "GITHUB_PAT"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["TOKENIZERS_PARALLELISM", "MAX_TOKENS", "KEY", "PATH", "VLLM_PATTERN_MATCH_DEBUG", "HF_HOME",
     "GOOGLE_APPLICATION_CREDENTIALS", "VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD"],
)  # fmt: skip
def test_names_of_other_things(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("http://me:pw@h:1", True),
        ('{"a": "http://me:pw@h"}', True),
        ("http://me@h", False),
        ("http://me:@h", False),
        ("http://h:8000/a:b@c", False),
        ('{"url":"http://h:8000","user":"a@b"}', False),
        ("vllm/vllm-openai:latest@sha256:00", False),
    ],
)
def test_addresses_with_a_password(text: str, holds: bool) -> None:
    assert holds_password(text) is holds


HF = "hf_abcdefghijklmnopqrstuvwxyz1234"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (HF, True),
        (f"a={HF},b", True),
        (f"sk-proj-{'aB3' * 12}-x", True),
        (f"sk-{'a1' * 24}", True),
        (f"ghp_{'a1' * 18}", True),
        (f"github_pat_{'a1' * 11}_{'b2' * 29}", True),
        ("AKIAIOSFODNN7EXAMPLE", True),
        ("--hf-overrides", False),
        ("hf_overrides", False),
        ("/models/hf_checkpoint_converted_by_hand", False),
        ("/data/sk-models-for-the-south-korean-team", False),
        ("/data/disk-0123456789abcdef0123", False),
    ],
)
def test_tokens_of_known_makers(text: str, holds: bool) -> None:
    assert holds_token(text) is holds
    assert ("…" in concealed(text)) is holds
    assert secret_in(text) == ("a token" if holds else "")


DATED = "20251130T120000Z"


@pytest.mark.parametrize(
    "text",
    [
        f"/scratch/hf_cache_{DATED}",
        f"/scratch/hf_{'0a1b' * 10}",
        f"hf_{'0a1b' * 10}",
        f"/scratch/hf_{'aB' * 17}/x",
        f"file:///hf_{'aB' * 17}",
        f"hf_{'aB' * 17}/model",
        f"/etc/hf_templates_{DATED}.jinja",
        f'{{"model":"/data/hf_draft_{DATED}"}}',
        "hf_internal-testing_llamatokenizerfastvariant",
        "sk-telecom-ax4ABCDEFGHIJKLMNOP",
        "/models/sk-hynixABCDEFGHIJKLMNOP",
        "github_pat_notes_of_the_year_20251130T120000Z",
        '{"image_token":"reserved_special_token_250_image"}',
        '{"tokenizer":{"pad_token":"vision_pad_token_00001"}}',
        '{"api_key":"EMPTY"}',
        "the bearer of news",
        "a bearer",
        "Authorization: Bearer $TOK",
        "Authorization: Bearer '${TOK}'",
    ],
)
def test_what_only_looks_like_a_secret(text: str) -> None:
    assert secret_in(text) == ""
    assert secret_among([f"--x={text}"]) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"https://hf_{'aB' * 17}@huggingface.co/x", "a token"),
        (f'{{"a":"hf_{"aB" * 17}"}}', "a token"),
        (f"sk-ant-api03-a_b-{'aB3' * 9}", "a token"),
        ("bearer abcdefghijklmnop1234", "a header with a token"),
        ("Authorization: Bearer abcdefghijklmnop1234", "a header with a token"),
        ('{"Authorization": "Bearer abc"}', "a header with a token"),
        ("Bearer $A, Bearer abcdefghijklmnop1234", "a header with a token"),
        ('{"api_key":"EMPTY1"}', "JSON with a key or password"),
    ],
)
def test_what_is_a_secret_by_its_form(text: str, found: str) -> None:
    assert secret_in(text) == found


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--api-key", "x"], "--api-key"),
        (["--api-k=x"], "--api-key"),
        (["--api-server-count", "2"], ""),
        (["--hf-token"], ""),
        (["--hf-overrides", '{"eos_token": "</s>"}'], ""),
        (["--x", '{"s3_secret": "a"}'], "JSON with a key or password"),
        (["--x", '{"s3_secret": "$S3_SECRET"}'], ""),
        (["--x", '{"use_api_key": true}'], ""),
        (["--header", "Authorization: Bearer x"], "a header with a token"),
        (["--kv.password", "x"], "--kv.password"),
        (["--revision", HF], "a token"),
        ([f"--revision={HF}"], "a token"),
        (["--x", f'{{"any": "{HF}"}}'], "a token"),
        (["--x", '{"hf_token": "a"}'], "JSON with a key or password"),
        (['--x={"hf_token":"a"}'], "JSON with a key or password"),
        (["--x", '{"hf_token": "$HF_TOKEN"}'], ""),
        (["--x", '{"token": "3fa85f6457174562b3fc2c96"}'], "JSON with a key or password"),
        (["--x", '{"token": "image"}'], ""),
        (["--x", '{"image_token": "<|vision_start_0123456789|>"}'], ""),
        (["--x", '{"pad_token": "<|endoftext|>", "return_tokens": "yes"}'], ""),
        (["--x", '{"eos_token": "[EOS]", "mask_token": "very_long_word_of_a_tokenizer"}'], ""),
        (["--x.hf_token", "a"], "--x.hf_token"),
    ],
)
def test_secrets_among_words(words: list[str], found: str) -> None:
    assert secret_among(words) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hf auth login --hf-token $HF_TOKEN", "--hf-token"),
        ("vllm bench serve --api-key $OPENAI_API_KEY", "--api-key"),
        ("vllm bench serve --api-key=${OPENAI_API_KEY}", "--api-key"),
        ('uv pip install x --access-token "$T"', "--access-token"),
        ('uv pip install x --access-token="$T"', "--access-token"),
        ("pip install --extra-index-url https://__token__:${TOKEN}@host/simple x",
         "an address with a password"),
        ("git clone https://$USER:$TOKEN@github.com/x/y", "an address with a password"),
    ],
)  # fmt: skip
def test_a_variable_is_a_secret_only_where_no_shell_reads_it(text: str, found: str) -> None:
    assert secret_among(text.split(), in_shell=True) == ""
    assert secret_among(text.split()) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hf auth login --hf-token abc $X", "--hf-token"),
        ("vllm bench serve --api-key", "--api-key"),
        ("x --access-token 'a$T'", "--access-token"),
        ("git clone https://$USER:abc@github.com/x/y", "an address with a password"),
        ("git clone https://me:abc:$T@github.com/x/y", "an address with a password"),
        (f"x --password $P --revision {HF}", "a token"),
        ("x --a=$B,http://u:p@h", "an address with a password"),
    ],
)
def test_a_shells_command_holds_a_secret(text: str, found: str) -> None:
    assert secret_among(text.split(), in_shell=True) == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("at https://me:pw@h/x?sig=1: 404", "at https://…@h/x?… 404"),
        ("HF_TOKEN=abc MAX=1", "HF_TOKEN=… MAX=1"),
        ("'HF_TOKEN=abc'", "'HF_TOKEN=…'"),
        ("--api-key=abc", "--api-key=…"),
        ("export VLLM_API_KEY=… instead", "export VLLM_API_KEY=… instead"),
        ("-e HF_TOKEN=$HF_TOKEN", "-e HF_TOKEN=$HF_TOKEN"),
        ("Bearer abc.def", "Bearer …"),
        (f"got hf_{'a' * 34}.", "got hf_…."),
        ("image a/b:c@sha256:0 at http://h:8000/v1", "image a/b:c@sha256:0 at http://h:8000/v1"),
    ],
)
def test_what_is_told(text: str, told: str) -> None:
    assert concealed(text) == told


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=6, max_size=20)


@given(
    WORDS, WORDS, st.sampled_from(["http://u:{}@h", "HF_TOKEN={}", "--api-key={}", "s3://b?k={}"])
)
def test_no_secret_is_told_and_telling_twice_changes_nothing(
    around: str, secret: str, form: str
) -> None:
    told = concealed(f"{around} {form.format(f'S{secret}S')} {around}")
    assert f"S{secret}S" not in told.replace(around, "")
    assert concealed(told) == told
