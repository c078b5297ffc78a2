"""Boosted trees and a TF-IDF network for `stress.py`, fitted by scikit-learn and written as arrays.

    python benchmarks/stress_models.py

Texts are made up: 60 words with Zipf's frequencies, and a label that depends on pairs of words and on one negation, so
that both models have something to learn that does not add up. What they are asked about is a text of words that they
know, at most 13, which leaves all coalitions countable. Needs scikit-learn; `stress.py` does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stress_games import MODELS, network, trees

WORDS, TEXTS, LENGTH = 60, 4000, 14
TREE_WORDS, NET_WORDS = 12, 13


def texts(seed: int) -> tuple[Any, Any]:
    """Which words stand in each text (n, words), and its label."""
    rng = np.random.default_rng(seed)
    chance = 1.0 / np.arange(2.0, WORDS + 2.0)
    chance = np.minimum(LENGTH * chance / chance.sum(), 0.5)
    there = rng.random((TEXTS, WORDS)) < chance
    strength = rng.normal(size=WORDS)
    margin = there @ strength + 2.5 * (there[:, 0] & there[:, 3]) - 3.0 * (there[:, 1] & ~there[:, 2])
    margin += 2.0 * (there[:, 4] | there[:, 5] | there[:, 6])
    margin -= np.median(margin)
    return there, rng.random(TEXTS) < 1.0 / (1.0 + np.exp(-1.5 * margin))


def boosted(there: Any, label: Any) -> dict[str, Any]:
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(n_estimators=60, max_depth=3, random_state=0).fit(there, label)
    own = [stage[0].tree_ for stage in model.estimators_]
    widest = max(tree.node_count for tree in own)
    arrays = {name: np.zeros((len(own), widest)) for name in ("feature", "left", "right", "value")}
    for i, tree in enumerate(own):
        n = tree.node_count
        arrays["feature"][i, :n], arrays["left"][i, :n] = tree.feature, tree.children_left
        arrays["right"][i, :n] = tree.children_right
        arrays["value"][i, :n] = model.learning_rate * tree.value[:, 0, 0]
    importance = model.feature_importances_
    text = np.argsort(-importance, kind="stable")[:TREE_WORDS]
    prior = float(label.mean())
    found = {
        "tree_feature": np.where(arrays["feature"] < 0, -1, arrays["feature"]).astype(np.int16),
        "tree_left": arrays["left"].astype(np.int16),
        "tree_right": arrays["right"].astype(np.int16),
        "tree_value": arrays["value"],
        "tree_start": np.array(np.log(prior / (1.0 - prior))),
        "tree_depth": np.array(3),
        "tree_text": text.astype(np.int16),
    }
    rows = np.zeros((50, WORDS))
    z = np.random.default_rng(1).random((50, len(text))) < 0.6
    rows[:, text] = z
    return found | {"check_trees": model.predict_proba(rows)[:, 1], "check_trees_kept": z}


def perceptron(there: Any, label: Any) -> dict[str, Any]:
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.neural_network import MLPClassifier

    counts = there.astype(float)
    tfidf = TfidfTransformer().fit(counts)
    model = MLPClassifier((24,), random_state=0, max_iter=300, alpha=1e-3).fit(tfidf.transform(counts), label)
    text = np.argsort(-np.abs(model.coefs_[0]).sum(axis=1), kind="stable")[:NET_WORDS]
    z = np.random.default_rng(2).random((50, len(text))) < 0.6
    rows = np.zeros((50, WORDS))
    rows[:, text] = z
    probability = model.predict_proba(tfidf.transform(rows))[:, 1]
    return {
        "net_text": text.astype(np.int16),
        "net_idf": tfidf.idf_[text],
        "net_in": model.coefs_[0][text],
        "net_in_bias": model.intercepts_[0],
        "net_out": model.coefs_[1],
        "net_out_bias": model.intercepts_[1],
        "check_net": np.log(probability / (1.0 - probability)),
        "check_net_kept": z,
    }


def main() -> None:
    there, label = texts(0)
    np.savez_compressed(MODELS, **boosted(there, label), **perceptron(there, label))
    with np.load(MODELS) as written:
        for name, game in (("trees", trees(30)), ("net", network(30))):
            kept = np.pad(written[f"check_{name}_kept"], ((0, 0), (0, 30 - game.matter)))
            off = np.abs(game.outputs(kept) - written[f"check_{name}"]).max()
            print(f"{name}: {game.matter} words, off by at most {off:.1e} from scikit-learn")
    print(f"{MODELS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
