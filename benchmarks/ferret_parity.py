"""What ferret 0.4.1 gives for comprehensiveness and sufficiency where its conventions and limelight's coincide.

    FERRET=$(mktemp -d)
    pip install --no-deps --target "$FERRET" ferret-xai==0.4.1
    PYTHONPATH="$FERRET:tests" python benchmarks/ferret_parity.py > tests/evaluation/ferret-0.4.1.json

They coincide where every word is one token, weights are positive and different, tokens are deleted, and ferret's
thresholds are k = 1 … d. The packages that ferret imports for its explainers and data sets are not needed for
its measures: those that are missing are replaced by nothing.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any
from unittest.mock import MagicMock

import numpy as np

from reference.fixed_transformer import fixed_transformer

TEXTS = ("great film the long end", "the film is great and it long", "it is the end")


def weights_of(text: str) -> list[float]:
    """Positive and all different."""
    n = len(text.split())
    return [float(1.0 + (3 * i) % n / n + i / 100) for i in range(n)]


def imported(name: str) -> Any:
    """A module of ferret, with nothing in the place of packages that are missing."""
    while True:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("ferret"):
                raise
            sys.modules[error.name] = MagicMock()
            for own in [own for own in sys.modules if own.startswith("ferret")]:
                del sys.modules[own]


def main() -> None:
    measures = imported("ferret.evaluators.faithfulness_measures")
    explanation = importlib.import_module("ferret.explainers.explanation").Explanation
    model, tokenizer = fixed_transformer(seed=3)
    rows = []
    for text in TEXTS:
        tokens = tokenizer.tokenize(text)
        assert tokens == text.split(), (tokens, "a word is not one token")
        scores = np.array([0.0, *weights_of(text), 0.0])
        target = int(model(**tokenizer(text, return_tensors="pt", return_token_type_ids=False)).logits.argmax())
        asked = explanation(text, [tokenizer.cls_token, *tokens, tokenizer.sep_token], scores, "given", target)
        settings = {"remove_tokens": True, "based_on": "k", "thresholds": list(range(1, len(tokens) + 1))}
        values = {
            name: float(own(model, tokenizer).compute_evaluation(asked, target, removal_args=settings).score)
            for name, own in (
                ("comprehensiveness", measures.AOPC_Comprehensiveness_Evaluation),
                ("sufficiency", measures.AOPC_Sufficiency_Evaluation),
            )
        }
        rows.append({"text": text, "weights": weights_of(text), "target": target, **values})
    json.dump({"ferret": "0.4.1", "model": "fixed_transformer(seed=3)", "rows": rows}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
