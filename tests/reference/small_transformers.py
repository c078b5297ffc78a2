"""Small random classifiers of every family, with tokenizers trained on the spot: no network, no files."""

from __future__ import annotations

import copy
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = [
    "The film was great, but it's far too long. A naïve ending!",
    "Bad film: not very good, and the café scene is too long...",
    "I don't know what they wanted; \"great\" it isn't.<br />Don't go!",
    "我们 看 电影 很好看 。 日本語の映画 はよかった",
    "فيلم رائع جدا لكنه طويل، שלום סרט טוב",
    "Ein schöner Film für Übermüdete. Élan, señor, señora 👍🏽 👍 😀 🇫🇷",
    "great great film good bad long end is was the a and but very not it",
] * 20

TEXTS = (
    "The film was GREAT, but it's far too long!",
    "naïve café, schön für Übermüdete… Élan",
    "Great 👍🏽 film 😀 🇫🇷 👨‍👩‍👧",
    "我们看电影很好看。日本語の映画",
    "فيلم رائع جدا، שלום סרט טוב",
    "It's \"great\".<br />Don't go! (really) [UNK] <b>zzqx</b>",
    "e\u0301lan and cafe\u0301 ﬁlm ǅ Ⅳ ½",
)

FAMILIES = ("bert", "distilbert", "roberta", "albert", "electra", "deberta", "deberta-v2", "mpnet", "xlm-roberta")
_KIND = {
    "roberta": "bpe",
    "deberta": "bpe",
    "albert": "unigram",
    "xlm-roberta": "unigram",
    "deberta-v2": "unigram",
}
LABELS = ("negative", "neutral", "positive")


@cache
def tokenizer(kind: str, roberta_like: bool = False) -> Any:
    """WordPiece, byte-level BPE or Unigram, with special tokens in the style of BERT or RoBERTa."""
    names = (
        ("<s>", "<pad>", "</s>", "<unk>", "<mask>") if roberta_like else ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")
    )
    cls, pad, sep, unk, mask = names
    specials = list(names)
    if kind == "wordpiece":
        # Written down once: the trainer breaks ties otherwise in each process, and with the numbers of tokens all of a
        # model's answers change.
        pieces = (*specials, *Path(__file__).with_name("wordpieces.txt").read_text("utf-8").split())
        trained = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token=unk))
        trained.normalizer = normalizers.BertNormalizer(lowercase=True)
        trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trained.decoder = decoders.WordPiece()
        trainer: Any = None
        trained.add_special_tokens(specials)
    elif kind == "bpe":
        trained = Tokenizer(models.BPE())
        trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trained.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    else:
        trained = Tokenizer(models.Unigram())
        trained.normalizer = normalizers.NFKC()
        trained.pre_tokenizer = pre_tokenizers.Metaspace()
        trained.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=250, special_tokens=specials, unk_token=unk, show_progress=False)
    if trainer is not None:
        trained.train_from_iterator(CORPUS, trainer)
    ids = [(cls, trained.token_to_id(cls)), (sep, trained.token_to_id(sep))]
    pair = f"{cls} $A {sep} {sep} $B {sep}" if roberta_like else f"{cls} $A {sep} $B:1 {sep}:1"
    trained.post_processor = processors.TemplateProcessing(single=f"{cls} $A {sep}", pair=pair, special_tokens=ids)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=trained,
        cls_token=cls,
        pad_token=pad,
        sep_token=sep,
        unk_token=unk,
        mask_token=mask,
        model_max_length=48,
    )


def small_pair_transformer(family: str, seed: int = 0) -> tuple[Any, Any]:
    """A model that reads pairs, and its tokenizer: with types of tokens where the family's own tokenizer has them."""
    model, own = small_transformer(family, seed)
    if family in ("bert", "electra", "deberta", "deberta-v2"):
        own = copy.deepcopy(own)
        own.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    return model, own


def small_transformer(family: str, seed: int = 0, labels: tuple[str, ...] = LABELS, **settings: Any) -> tuple[Any, Any]:
    """A model and its tokenizer: two layers, two heads, weights large enough that words matter.

    `settings` are further ones of its configuration.
    """
    roberta_like = family in ("roberta", "mpnet", "xlm-roberta")
    own = tokenizer(_KIND.get(family, "wordpiece"), roberta_like)
    sizes: dict[str, Any] = {
        "vocab_size": len(own),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 64,
        "pad_token_id": own.pad_token_id,
        "id2label": dict(enumerate(labels)),
        "label2id": {label: i for i, label in enumerate(labels)},
    }
    if family == "distilbert":
        sizes = {**sizes, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24}
        for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"):
            del sizes[name]
    if family in ("albert", "electra"):
        sizes["embedding_size"] = 8
    if family.startswith("deberta"):
        sizes |= {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
    config = transformers.AutoConfig.for_model(family, **sizes, **settings)
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        # DeBERTa's module calls torch.jit.script when it is imported, which torch calls deprecated.
        warnings.filterwarnings("ignore", message=".*torch.jit.script", category=DeprecationWarning)
        model = transformers.AutoModelForSequenceClassification.from_config(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                scale = 0.5 if "embedding" in name else 1.4
                weight.copy_(torch.randn(weight.shape, generator=generator) * scale / weight.shape[1] ** 0.5)
    return model.eval(), own
