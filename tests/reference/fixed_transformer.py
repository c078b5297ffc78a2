"""A small BERT whose vocabulary is written down: the same in every process, which trained tokenizers are not."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("great", "film", "the", "long", "end", "is", "and", "it", "but", "bad", "not", "very", "good", "was", ".", "!")


def fixed_transformer(seed: int = 0, labels: tuple[str, ...] = ("negative", "neutral", "positive")) -> tuple[Any, Any]:
    """A model and its tokenizer, in which each of WORDS is one token."""
    vocabulary = {word: i for i, word in enumerate((*SPECIAL, *WORDS))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        **{f"{name[1:-1].lower()}_token": name for name in SPECIAL},
        model_max_length=48,
    )
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=64,
        pad_token_id=0,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    model = transformers.BertForSequenceClassification(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                scale = 0.5 if "embedding" in name else 1.4
                weight.copy_(torch.randn(weight.shape, generator=generator) * scale / weight.shape[1] ** 0.5)
            else:
                weight.fill_(1.0 if "LayerNorm.weight" in name else 0.0)
    return model.eval(), fast
