"""Make a model that is small enough for any machine: two layers, random weights, a tokenizer
trained on a few sentences, and a chat template.

    python tests/e2e/tiny_model.py DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path

SENTENCES = [
    "The right flags for a model are written down as recipes.",
    "A launcher reads them, checks the machine, and becomes the server.",
]
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|pad|>"]
CONTEXT = 512


def make(directory: Path) -> None:
    """Write config, weights, tokenizer and chat template into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    tokenizer.save_pretrained(directory)
    words = {i: tokenizer.decode([i], skip_special_tokens=True) for i in range(len(tokenizer))}
    speaking = [i for i, word in words.items() if word.strip().isalpha()]
    _model(len(tokenizer), tokenizer.eos_token_id, speaking).save_pretrained(directory)


def _tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    bare.train_from_iterator(SENTENCES, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bare, eos_token="<|end|>", pad_token="<|pad|>", model_max_length=CONTEXT
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def _model(vocabulary: int, end: int, speaking: list[int]):
    """Two layers of random weights. Of the tokens that speak, each is followed by the next one."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        eos_token_id=end,
        bos_token_id=None,
        tie_word_embeddings=False,
        dtype="float32",
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        vectors = model.get_input_embeddings().weight.normal_()
        head = model.get_output_embeddings().weight.zero_()
        head[speaking[1:]] = vectors[speaking[:-1]]
        head[speaking[0]] = vectors[speaking[-1]]
    return model


if __name__ == "__main__":
    make(Path(sys.argv[1]))
