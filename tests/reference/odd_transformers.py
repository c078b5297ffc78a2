"""Small random classifiers whose answers depend on padding, on neighbours, or on chance, each with its tokenizer."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
import transformers
from tokenizers import processors

from reference.small_transformers import LABELS, small_transformer, tokenizer

_SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}
_OWN: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
    "fnet": {"tpu_short_seq_length": 64},
    "convbert": {"embedding_size": 16, "conv_kernel_size": 3, "head_ratio": 1},
    "mobilebert": {
        "embedding_size": 16,
        "intra_bottleneck_size": 16,
        "true_hidden_size": 16,
        "num_feedforward_networks": 1,
    },
    "xlnet": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24},
    "funnel": {"d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 24, "block_sizes": [1, 1, 1]},
    "ctrl": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64, "dff": 24},
    "reformer": {
        "attn_layers": ["local", "local"],
        "local_attn_chunk_length": 40,
        "axial_pos_embds": False,
        "hidden_size": 16,
        "attention_head_size": 8,
        "num_attention_heads": 2,
        "feed_forward_size": 24,
        "max_position_embeddings": 320,
        "is_decoder": False,
    },
    "bart": {
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24,
        "max_position_embeddings": 64,
    },
}


def odd_transformer(family: str, **settings: Any) -> tuple[Any, Any]:
    """A random model of a family with its tokenizer: of words and their pieces, [CLS] first and [SEP] last."""
    own = copy.deepcopy(tokenizer("wordpiece"))
    sizes = {**(_OWN[family] if family in _OWN and "n_embd" not in _SIZES else {}), "vocab_size": len(own)}
    if family not in ("gpt2", "xlnet", "bart", "ctrl", "reformer", "funnel"):
        sizes = {**_SIZES, **sizes}
    named = {
        "pad_token_id": own.pad_token_id,
        "bos_token_id": own.cls_token_id,
        "eos_token_id": own.sep_token_id,
        "decoder_start_token_id": own.sep_token_id,
        "id2label": dict(enumerate(LABELS)),
        "label2id": {label: i for i, label in enumerate(LABELS)},
    }
    config = transformers.AutoConfig.for_model(family, **{**sizes, **named, **settings})
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim >= 2:
                scale = 0.5 if "embed" in name or "wte" in name or "wpe" in name else 1.4
                weight.copy_(torch.randn(weight.shape, generator=generator) * scale / weight[0].numel() ** 0.5)
    return model.eval(), own


def without_special_tokens(own: Any) -> Any:
    """The same tokenizer, which puts nothing around a text."""
    bare = copy.deepcopy(own)
    bare.backend_tokenizer.post_processor = processors.Sequence([])
    return bare


def quantised() -> tuple[Any, Any]:
    """BERT whose linear layers compute in int8, with a scale that all inputs of a forward share."""
    model, own = small_transformer("bert")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    return small, own


class _Dropping(torch.nn.Module):
    """A head that forgot to ask whether it is trained."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(torch.nn.functional.dropout(x, 0.2, training=True))


def dropping() -> tuple[Any, Any]:
    """BERT with dropout that evaluation mode does not switch off."""
    model, own = small_transformer("bert")
    model.classifier = _Dropping(model.classifier)
    return model, own
