"""Small random models on which limelight is compared with the code that authors published.

Weights are drawn here, in the order of their names, so that they do not depend on a version of transformers.
"""

from __future__ import annotations

from typing import Any

import torch

TEXT = "the film was long and great"
IDS = (1, 6, 7, 8, 14, 10, 13, 2)
"""TEXT as `small_architectures.word_pieces` reads it: one piece per word between [CLS] and [SEP]."""
LABEL = 1
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "bert": {
        **{"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2},
        **{"intermediate_size": 32, "max_position_embeddings": 64, "pad_token_id": 3, "num_labels": 3},
    },
    "gpt2": {
        **{"vocab_size": 64, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_inner": 32, "n_positions": 64},
        **{"pad_token_id": 3, "bos_token_id": 1, "eos_token_id": 2, "num_labels": 3},
    },
    "llama": {
        **{"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4},
        **{"num_key_value_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64, "num_labels": 3},
        **{"pad_token_id": 3, "bos_token_id": 1, "eos_token_id": 2},
    },
}


def draw(model: torch.nn.Module, seed: int = 0) -> None:
    """Weights large enough that every word matters, biases and norms that are neither 0 nor 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            drawn = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            if weight.ndim == 2:
                is_table = "embed" in name or ".wte" in name or ".wpe" in name
                weight.copy_(drawn if is_table else drawn * 1.4 / weight.shape[1] ** 0.5)
            else:
                weight.copy_(0.3 * drawn + (1.0 if name.endswith("weight") else 0.0))


def silence_tables(model: Any) -> None:
    """A BERT without what DecompX counts with a token and limelight apart: positions, types, and two biases."""
    with torch.no_grad():
        embeddings = model.bert.embeddings
        for weight in (
            embeddings.position_embeddings.weight,
            embeddings.token_type_embeddings.weight,
            embeddings.LayerNorm.bias,
            model.bert.encoder.layer[0].attention.self.value.bias,
        ):
            weight.zero_()
