"""Settings to train a classifier with: the paper's (Appendix F), and ours for its model and for that of Appendix E."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from limelight.core.arrays import whole_number
from limelight.errors import ParameterError, known_name
from limelight.models.words.attention import AttentionConfig
from limelight.models.words.checkpoint import Config
from limelight.models.words.transformer import TransformerConfig

Schedule = Literal["constant", "linear", "cosine"]
StoredDtype = Literal["float32", "float16"]


@dataclass(frozen=True)
class Preset:
    """Everything that decides what is learnt from given data. The defaults are the paper's."""

    name: str
    sizes: Config = AttentionConfig()  # noqa: RUF009 (frozen)
    # Optimisation: AdamW with PyTorch's betas (0.9, 0.999) and epsilon (1e-8).
    epochs: int = 10
    batch_size: int = 16
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    embedding_learning_rate: float | None = None  # None: as the heads
    embedding_weight_decay: float | None = None
    warmup: float = 0.0  # the part of all steps in which the learning rate rises from zero
    schedule: Schedule = "constant"  # how it falls to zero afterwards
    clip_norm: float | None = None  # the largest norm of a step's gradient
    averaging: float = 0.0  # decay of the moving average that is kept instead of the last weights
    label_smoothing: float = 0.0
    # Initialisation.
    embedding_scale: float = 1.0
    heads_scale: float = 0.1
    # Data.
    validation: float = 0.2
    whole_vocabulary: bool = True  # number the words of validation texts too, as the paper's authors do in their code
    max_vocabulary: int | None = None
    min_count: int = 1
    word_dropout: float = 0.0  # each word is read as [UNK] with this probability
    crop_probability: float = 0.0  # a text is replaced by a piece of it with this probability
    crop_min: int = 8  # words of the shortest such piece
    stored_dtype: StoredDtype = "float32"

    def __post_init__(self) -> None:
        # Stored as Python's own int: settings are written as JSON.
        for name in ("epochs", "batch_size", "min_count", "crop_min"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), 1))
        if self.max_vocabulary is not None:
            size = whole_number("max_vocabulary", self.max_vocabulary, 3, " ([CLS] and [UNK] are two)")
            object.__setattr__(self, "max_vocabulary", size)
        for name in ("warmup", "averaging", "label_smoothing", "word_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ParameterError(f"{name} must be at least 0 and below 1: got {getattr(self, name)!r}")
        if not 0 <= self.crop_probability <= 1:
            raise ParameterError(f"crop_probability must be between 0 and 1: got {self.crop_probability!r}")
        rates = self.learning_rate, self.embedding_learning_rate
        if not all(rate is None or rate > 0 for rate in rates):
            raise ParameterError("learning rates must be above 0")
        for name, known in (("schedule", get_args(Schedule)), ("stored_dtype", get_args(StoredDtype))):
            known_name(name, getattr(self, name), known)


_DEFAULT = Preset(
    # Chosen on validation reviews of IMDB. A high learning rate with half of the words dropped keeps the model from
    # learning texts by heart, averaging takes the noise out again, and pieces of texts teach it to read short ones.
    "default",
    sizes=AttentionConfig(T_max=512, d_e=32, d_att=32, d_out=32, K=6),
    epochs=5,
    batch_size=64,
    learning_rate=1e-2,
    warmup=0.05,
    schedule="linear",
    averaging=0.998,
    embedding_scale=0.1,
    validation=0.1,
    whole_vocabulary=False,
    max_vocabulary=30_000,
    word_dropout=0.5,
    crop_probability=0.2,
    crop_min=12,
    stored_dtype="float16",
)
_DEEP = replace(
    # Appendix E: 6 layers of 6 heads. Words learn faster than heads, as few of them stand in a batch; depth wants a
    # bound on the step.
    _DEFAULT,
    name="deep",
    sizes=TransformerConfig(T_max=256, d_e=64, d_att=16, d_out=16, K=6, layers=6, d_mlp=128),
    epochs=6,
    learning_rate=1e-3,
    embedding_learning_rate=2e-3,
    warmup=0.1,
    clip_norm=1.0,
)
PRESETS = {preset.name: preset for preset in (Preset("paper"), _DEFAULT, _DEEP)}


def find_preset(preset: str | Preset, epochs: int | None = None) -> Preset:
    """A preset by its name, or as it is given, with another number of epochs where one is asked for."""
    if isinstance(preset, str):
        preset = PRESETS[known_name("preset", preset, PRESETS)]
    return preset if epochs is None else replace(preset, epochs=epochs)
