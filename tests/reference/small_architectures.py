"""Every sequence classifier of transformers from a small configuration, with one word-piece tokenizer.

The sizes of a configuration are known by their names (`SIZES`); what a class needs besides stands in `NEEDS`. Weights
are drawn from a seed and large enough that every word moves the logits. No network, no files.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

SUFFIX = "ForSequenceClassification"
UNK, CLS, SEP, PAD, MASK = SPECIALS = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
"""In the order of their numbers: that of the padding is neither 0 nor 1, as no code may take for granted."""
PIECES = {
    "wonderful": ("wonder", "##ful"),
    "disappointingly": ("dis", "##appoint", "##ing", "##ly"),
    "boring": ("bor", "##ing"),
    "unforgettable": ("un", "##forget", "##table"),
}
WHOLE = ("a", "the", "film", "was", "is", "and", "but", "not", "great", "long", "good", "bad", "ending", "story", "it")
_VOCABULARY = [*SPECIALS, *WHOLE, *dict.fromkeys(piece for pieces in PIECES.values() for piece in pieces)]
NUMBERS = {piece: number for number, piece in enumerate(_VOCABULARY)}

N_TOKENS = 64
"""The longest text in tokens, and rows in a table of token vectors, of which the tokenizer knows half."""
N_LAYERS, N_HEADS, N_EXPERTS, WIDTH = 2, 2, 4, 16
SIZES: dict[str, Any] = {
    "vocab_size": N_TOKENS,
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size"), WIDTH),
    **dict.fromkeys(("pooler_hidden_size", "word_embed_proj_dim", "rotary_dim", "true_hidden_size"), WIDTH),
    **dict.fromkeys(("input_embedding_size", "output_embedding_size", "entity_emb_size", "d_latents"), WIDTH),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers"), N_LAYERS),
    **dict.fromkeys(("encoder_layers", "decoder_layers"), N_LAYERS),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "num_key_value_heads"), N_HEADS),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads", "num_kv_heads"), N_HEADS),
    **dict.fromkeys(("head_dim", "d_head", "d_kv", "kv_channels", "attention_head_size"), WIDTH // N_HEADS),
    **dict.fromkeys(("attention_head_dim",), WIDTH // N_HEADS),
    **dict.fromkeys(("intermediate_size", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim", "d_ff", "dff"), 2 * WIDTH),
    **dict.fromkeys(("hidden_dim", "d_inner", "moe_intermediate_size", "ffn_hidden_size"), 2 * WIDTH),
    **dict.fromkeys(("shared_expert_intermediate_size", "feed_forward_size"), 2 * WIDTH),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"), 2 * N_TOKENS),
    **dict.fromkeys(("sliding_window", "window_size", "local_attention", "attention_window"), 4),
    **dict.fromkeys(("num_local_experts", "n_routed_experts", "num_experts"), N_EXPERTS),
    **dict.fromkeys(("num_experts_per_tok", "moe_topk"), 2),
    **dict.fromkeys(("n_shared_experts", "n_group", "topk_group", "first_k_dense_replace"), 1),
    **dict.fromkeys(("kv_lora_rank", "q_lora_rank"), 8),
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"), 8),
    "type_vocab_size": 2,
}
_NUMBERED = {
    **dict.fromkeys(("pad_token_id", "pad_index"), PAD),
    **dict.fromkeys(("bos_token_id", "cls_token_id", "decoder_start_token_id"), CLS),
    **dict.fromkeys(("eos_token_id", "sep_token_id", "forced_eos_token_id"), SEP),
    **dict.fromkeys(("mask_token_id", "mask_index"), MASK),
    "unk_index": UNK,
}
_ROTARY = {"rope_type": "default", "rope_theta": 10_000.0}
_MAMBA = {"mamba_d_state": 4, "mamba_dt_rank": 4}
_LINEAR = {
    "layer_types": ["linear_attention", "full_attention"],
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim"), WIDTH // N_HEADS),
    **dict.fromkeys(("linear_num_key_heads", "linear_num_value_heads"), N_HEADS),
}
_START = {"decoder_start_token_id": NUMBERS[PAD]}
NEEDS: dict[str, dict[str, Any]] = {
    "CohereCompassText": {"rope_parameters": {"full_attention": _ROTARY, "sliding_attention": _ROTARY}},
    "GPTJ": {"rotary_dim": WIDTH // N_HEADS // 2},
    "GPTNeo": {"attention_types": [[["global", "local"], 1]]},
    "Jamba": {**_MAMBA, "attn_layer_period": 2, "attn_layer_offset": 1},
    "LayoutLMv3": {"coordinate_size": 2, "shape_size": 4, "visual_embed": False},
    "Lilt": {"hidden_size": 24, "intermediate_size": 48},  # divided by six, and by four
    "Luke": {"entity_vocab_size": 8},
    "Canine": {"num_hash_buckets": 64, "downsampling_rate": 2},
    "MarkupLM": {"max_xpath_tag_unit_embeddings": 256, "max_xpath_subs_unit_embeddings": 1024, "max_depth": 4},
    "Mistral4": {"head_dim": WIDTH},
    "MobileBert": {
        "intra_bottleneck_size": WIDTH // 2,
        "true_hidden_size": WIDTH // 2,
        "normalization_type": "layer_norm",
    },
    "Perceiver": {
        "num_latents": 4,
        "num_blocks": 1,
        "num_self_attends_per_block": 2,
        **dict.fromkeys(("num_self_attention_heads", "num_cross_attention_heads"), N_HEADS),
    },
    "Qwen3Next": _LINEAR,
    "Qwen3_5Text": _LINEAR,
    "Qwen3_5": {"text_config": _LINEAR},
    "Reformer": {
        "axial_pos_embds_dim": [WIDTH // 2, WIDTH // 2],
        "axial_pos_shape": [8, N_TOKENS // 8],
        "attn_layers": ["local", "lsh"],
        **dict.fromkeys(("local_attn_chunk_length", "lsh_attn_chunk_length"), 4),
        "num_buckets": 4,
        "hash_seed": 0,  # without it every forward draws its own
    },
    "RoCBert": {"pronunciation_vocab_size": N_TOKENS, "shape_vocab_size": N_TOKENS, "concat_input": True},
    "T5": _START,
    "Xmod": {"default_language": "en_XX"},
    "Zamba": {
        **_MAMBA,
        "num_hidden_layers": 4,
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
        "attention_hidden_size": 2 * WIDTH,
        "attention_head_dim": WIDTH,
    },
    "Zamba2": {
        **_MAMBA,
        "layers_block_type": ["linear_attention", "hybrid"],
        "n_mamba_heads": 2,
        "mamba_headdim": WIDTH,
        "chunk_size": 8,
        "adapter_rank": 4,
    },
}
"""By the name of a class, without its end: what its configuration needs besides sizes."""
OTHER_INPUT = "reads {what}, not text alone"

_LABELS = ("negative", "neutral", "positive")
_EMBEDDED, _DRAWN = 1.0, 1.4
"""Standard deviation of token vectors, and that of weights times the root of their inputs."""


@dataclass(frozen=True)
class Setting:
    """How a tokenizer and a configuration go together.

    `special`: whether the tokenizer puts [CLS] and [SEP] around a text. `pad`: the token that the tokenizer pads with;
    `head_pad`: the one that the configuration names.
    """

    name: str
    special: bool = True
    pad: str | None = PAD
    head_pad: str | None = PAD
    side: str = "right"


USUAL = Setting("usual")
BARE = Setting("no special tokens", special=False)
SETTINGS = (
    USUAL,
    BARE,
    Setting("another pad", head_pad=UNK),
    Setting("another pad, no special tokens", special=False, head_pad=UNK),
    Setting("pad that is a word", special=False, pad="it", head_pad="long"),
    Setting("no pad in the configuration", special=False, head_pad=None),
    Setting("no pad in the tokenizer", special=False, pad=None),
    Setting("no pad at all", special=False, pad=None, head_pad=None),
    Setting("pad is the end", pad=SEP, head_pad=SEP),
    Setting("padded on the left", special=False, side="left"),
)


class NotBuilt(Exception):
    """No small configuration builds this class; the message says why."""


def class_names() -> list[str]:
    """Every sequence classifier of the installed transformers, without the one that only chooses among them."""
    return [name for name in dir(transformers) if name.endswith(SUFFIX) and name != "AutoModel" + SUFFIX]


def word_pieces(setting: Setting = USUAL) -> Any:
    """The tokenizer: words of one piece and of several."""
    pieces = Tokenizer(models.WordPiece(vocab=dict(NUMBERS), unk_token=UNK))
    pieces.normalizer = normalizers.Lowercase()
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.decoder = decoders.WordPiece()
    if setting.special:
        around = [(token, NUMBERS[token]) for token in (CLS, SEP)]
        pieces.post_processor = processors.TemplateProcessing(
            single=f"{CLS} $A {SEP}", pair=f"{CLS} $A {SEP} $B:1 {SEP}:1", special_tokens=around
        )
    named = {"unk_token": UNK, "mask_token": MASK, "bos_token": CLS, "eos_token": SEP}
    if setting.special:
        named |= {"cls_token": CLS, "sep_token": SEP}
    if setting.pad is not None:
        named["pad_token"] = setting.pad
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        model_max_length=N_TOKENS,
        padding_side=setting.side,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **named,
    )


def small_classifier(name: str, setting: Setting = USUAL, seed: int = 0, labels: Any = _LABELS, **more: Any) -> Any:
    """A class of transformers, by its name, with random weights; `more`: further settings of its configuration."""
    with quiet():
        try:
            kind = getattr(transformers, name)
            if what := _other_input(kind):
                raise NotBuilt(OTHER_INPUT.format(what=what))
            configuration = small_configuration(kind, setting, labels, **more)
            torch.manual_seed(seed)
            model = kind(configuration).float()
        except NotBuilt:
            raise
        except Exception as error:
            raise NotBuilt(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}") from error
        draw_weights(model, zlib.crc32(f"{name} {seed}".encode()))
    return model.eval()


def _other_input(kind: Any) -> str | None:
    main = getattr(kind, "main_input_name", "input_ids")
    return {"input_values": "sound", "input_features": "sound", "pixel_values": "images"}.get(main)


def small_configuration(kind: Any, setting: Setting, labels: Any, **more: Any) -> Any:
    """`more` and what stands in `NEEDS` go to the configuration itself, and as `"text_config": {…}` to parts of it."""
    named = {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
    given = {**NEEDS.get(kind.__name__.removesuffix(SUFFIX), {}), **more}
    return _shrunk(kind.config_class(), setting, {**named, **given})


def _shrunk(usual: Any, setting: Setting, given: dict[str, Any]) -> Any:
    """A configuration of the same class, small, and so each configuration that is a part of it."""
    names = usual.to_dict()
    wanted = {name: size for name, size in SIZES.items() if name in names}
    wanted |= {name: NUMBERS[token] for name, token in _NUMBERED.items() if name in names}
    wanted["pad_token_id"] = None if setting.head_pad is None else NUMBERS[setting.head_pad]
    for name in names:
        if isinstance(part := getattr(usual, name, None), transformers.PretrainedConfig):
            wanted[name] = _shrunk(part, setting, given.get(name, {}))
    own = {
        name: value for name, value in given.items() if not isinstance(wanted.get(name), transformers.PretrainedConfig)
    }
    return type(usual)(**{**wanted, **own})


def draw_weights(model: Any, seed: int) -> None:
    """Give larger values to what was drawn around zero; norms, biases and the constants of a module stay."""
    generator = torch.Generator().manual_seed(seed)
    tables = {id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim < 2 or not weight.is_floating_point() or not _around_zero(weight):
                continue
            scale = _EMBEDDED if id(weight) in tables else _DRAWN / weight[0].numel() ** 0.5
            if name.endswith(".q.weight"):  # T5 divides its scores by nothing, and draws these the smaller
                scale /= (WIDTH // N_HEADS) ** 0.5
            weight.copy_(torch.randn(weight.shape, generator=generator) * scale)


def _around_zero(weight: Any) -> bool:
    spread = float(weight.double().std()) if weight.numel() > 1 else 0.0
    return spread > 0.0 and abs(float(weight.double().mean())) < 0.5 * spread


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without what transformers says of unusual configurations."""
    logger = logging.getLogger("transformers")
    before = logger.level
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            logger.setLevel(before)
