"""Results of every method on three models with fixed seeds, to hold later versions against.

    python tests/numbers/record.py results.json

Only the public contract is used, so that the same file runs with any version. `results-0.1.json` was written by version
0.1.0 before the house was rebuilt; `test_numbers.py` computes the same again.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import limelight
from limelight import LimelightError

TEXTS = (
    "The film was great, but it's far too long!",
    "Not a very good film: the end is bad, bad and the end again.<br />A café naïve 👍🏽 zzqx",
)
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "lime": [{"n_samples": 300}, {"n_samples": 300, "original_first": False, "kernel_width": 0.5, "ridge": 0.1}],
    "lime-limit": [{}, {"n_samples": 100, "kernel_width": 1.0, "ridge": 0.0}],
    "alpha-avg": [{}, {"layer": 0, "head": 1}],
    "alpha-max": [{}, {"layer": 0}],
    "lime-theorem": [{}, {"corrected": True}],
    "lime-proposition": [{}, {"corrected": True}],
    "integrated-gradients": [{}, {"steps": 8}],
    "shapley": [{}, {"n_samples": 300}],
}
METHODS = (
    "alpha-avg", "alpha-max", "banzhaf", "g-avg", "g-l1", "g-l2", "gxi", "integrated-gradients", "leave-one-out",
    "lime", "lime-limit", "lime-proposition", "lime-theorem", "rollout", "shapley",
)  # fmt: skip

ATTENTION = ("alpha-avg", "alpha-max", "rollout")
REMOVING = ("banzhaf", "leave-one-out", "lime", "lime-limit", "lime-proposition", "lime-theorem", "shapley")
PIECES = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] the film was great but it far too lo ##ng not a very good end is bad and again "
    "cafe na ##ive br / < > . , ! ' : s ##s z ##z ##q ##x"
).split()


def deep_model() -> Any:
    """The transformer over words, in float64."""
    from limelight.models.words.classifier import Vocabulary
    from limelight.models.words.transformer import TransformerClassifier, TransformerConfig

    words = "the film was great but too long and end is bad . , ! ' it s a café not very good".split()
    config = TransformerConfig(T_max=32, d_e=16, d_att=6, d_out=5, K=3, layers=2, d_mlp=12)
    model = TransformerClassifier(config, Vocabulary(words), ("negative", "neutral", "positive")).double()
    model.initialise(3, embedding=1.0, heads=0.6)
    return model.eval()


def huggingface_model() -> Any:
    """A small BERT in float64 whose texts are read in windows where they are long; its vocabulary is written down."""
    import transformers

    tokenizer = transformers.BertTokenizerFast(vocab={piece: i for i, piece in enumerate(PIECES)})
    config = transformers.BertConfig(
        vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
        max_position_embeddings=64, id2label={0: "negative", 1: "neutral", 2: "positive"},
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.float64) * 0.35)
    return limelight.wrap(model.eval(), tokenizer, max_length=24, window=True)


def models() -> dict[str, Any]:
    return {"embedded": limelight.load(), "deep": deep_model(), "bert": huggingface_model()}


def questions() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(name of the model, method, arguments)."""
    for name in ("embedded", "deep", "bert"):
        for method in METHODS:
            for features in ("words", "occurrences"):
                for removal in ("mask", "delete", "attention") if method in REMOVING else ("mask",):
                    for output in ("logit",) if method in ATTENTION else ("logit", "probability"):
                        for options in OPTIONS.get(method, [{}]):
                            common = {"features": features, "removal": removal, "output": output}
                            yield name, method, {**common, **options}


def answer(model: Any, method: str, arguments: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Weights, standard errors and the rest for each text; None where the method does not apply."""
    answers = []
    for text in TEXTS:
        try:
            e = limelight.explain(model, text, method, target=model.labels[-1], seed=5, **arguments)
        except LimelightError:
            return None
        answers.append(
            {
                "features": list(e.features),
                "weights": e.weights.tolist(),
                "stderr": None if e.stderr is None else e.stderr.tolist(),
                "exact": e.exact,
                "logits": e.prediction.logits.tolist(),
                "diagnostics": {
                    key: value for key, value in e.diagnostics.items() if isinstance(value, float) and key != "error"
                },
            }
        )
    return answers


def record() -> list[dict[str, Any]]:
    asked = models()
    found = []
    for name, method, arguments in questions():
        answers = answer(asked[name], method, arguments)
        if answers is not None:
            found.append({"model": name, "method": method, "arguments": arguments, "answers": answers})
    return found


def main() -> None:
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = record()
    rows = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in found)
    about = json.dumps({"limelight": limelight.__version__, "numpy": np.__version__, "torch": torch.__version__})
    Path(sys.argv[1]).write_text(f'{{"about": {about},\n"results": [\n{rows}\n]}}\n', encoding="utf-8")
    print(f"{len(found)} results")


if __name__ == "__main__":
    main()
