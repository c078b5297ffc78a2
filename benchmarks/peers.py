"""The packages that people explain transformers with today, each made to explain what we do as exactly as it can.

The target is the logit of label 1, the features are the words of our reading, a removed word is one mask.
Where a peer cannot do one of these, its `remarks` say so. Imports are inside the functions: a peer that is not
installed is a row of the table that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from limelight.core.arrays import Floats
from limelight.explainers.lime import kernel_weights
from limelight.explainers.sampling.designs import sample_coalitions
from limelight.inputs.features import features_of
from official import lime_on_transformer
from transformer import TARGET


@dataclass(frozen=True)
class Reference:
    """A quantity that is known well: `removal` is the baseline for integrated gradients."""

    method: str
    removal: str = "mask"
    output: str = "logit"


@dataclass(frozen=True)
class Case:
    """A text, as `model` looks at it, to be explained with about this many samples, or steps of a path."""

    model: Any
    view: Any
    samples: int
    steps: int
    seed: int = 0

    @property
    def document(self) -> Any:
        return self.view.document

    @property
    def text(self) -> str:
        return self.document.text

    @property
    def window(self) -> Any:
        return self.view.windows[0]

    @property
    def ids(self) -> Tensor:
        return torch.tensor(self.window.ids[None], device=self.model.device)

    @property
    def masked(self) -> Tensor:
        """The text without its words; what belongs to no word stays."""
        ids = self.ids
        ids[0, self.window.positions] = self.model.tokenizer.mask_token_id
        return ids

    @property
    def owners(self) -> Tensor:
        """The word of each token. Tokens of none are the same with and without words, so any number does for them."""
        owners = torch.zeros_like(self.ids)
        owners[0, self.window.positions] = torch.from_numpy(self.window.words).to(owners)
        return owners

    def logits(self, ids: Tensor) -> Tensor:
        return self.model.model(input_ids=ids).logits

    def logits_of_words(self, ids: Tensor) -> Tensor:
        """Where all tokens of a word are masked, one mask is left of it: as if it had been replaced in the text."""
        _, first = np.unique(self.window.words, return_index=True)
        begins = torch.ones_like(self.ids[0], dtype=torch.bool)
        begins[self.window.positions] = False
        begins[self.window.positions[first]] = True
        left = begins | (ids != self.model.tokenizer.mask_token_id)
        order = left.logical_not().byte().argsort(dim=1, stable=True)[:, : int(left.sum(dim=1).max())]
        return self.model.model(input_ids=ids.gather(1, order), attention_mask=left.gather(1, order).long()).logits

    def per_word(self, per_token: Any) -> Floats:
        """The sum over the tokens of each word."""
        values = np.asarray(per_token, dtype=np.float64).reshape(-1)
        if len(values) != len(self.window.ids):
            raise ValueError(f"{len(values)} values for {len(self.window.ids)} tokens")
        return np.bincount(self.window.words, values[self.window.positions], minlength=len(self.document.words))


@dataclass(frozen=True)
class Peer:
    """One way of asking a package. Peers of the same `batching` share the batch size that was fastest for the first."""

    name: str
    reference: Reference
    call: Callable[[Case, int], Floats]
    remarks: str = ""
    batching: str | None = None
    scaled: bool = False  # its length says nothing: the multiple of it that fits best is compared

    def explain(self, case: Case, batch: int) -> tuple[Floats, None]:
        return np.asarray(self.call(case, batch), dtype=np.float64), None


# ── strings ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def pipeline_logits(model: Any, batch: int | None) -> Callable[[Sequence[str]], Floats]:
    """A pipeline of transformers as a function from texts to logits (n, C). Without `batch` it reads one at a time."""
    import transformers

    ask = transformers.pipeline(
        "text-classification",
        model=model.model,
        tokenizer=model.tokenizer,
        device=model.device,
        top_k=None,
        function_to_apply="none",
    )
    column = {label: i for i, label in model.model.config.id2label.items()}
    options = {} if batch is None else {"batch_size": batch}

    def logits(texts: Sequence[str]) -> Floats:
        result = np.empty((len(texts), len(column)))
        for row, found in zip(result, ask([str(text) for text in texts], **options), strict=True):
            for one in found:
                row[column[one["label"]]] = one["score"]
        return result

    return logits


def without_words(document: Any, kept: Sequence[bool], substitute: str) -> str:
    """The text with the words that are not kept replaced in their places."""
    pieces, end = [], 0
    for word, stays in zip(document.words, kept, strict=True):
        pieces += [document.text[end : word.start], document.text[word.start : word.end] if stays else substitute]
        end = word.end
    return "".join([*pieces, document.text[end:]])


def substitute(model: Any, removal: str) -> str:
    """What stands for a word when it is removed."""
    return model.tokenizer.mask_token if removal == "mask" else " "


def official_lime(case: Case, batch: int, *, removal: str = "mask", plain: bool = False) -> Floats:
    logits = pipeline_logits(case.model, None if plain else batch)
    return lime_on_transformer(
        case.model,
        case.text,
        logits,
        bow=False,
        mask=substitute(case.model, removal),
        seed=case.seed,
        n_samples=case.samples,
    )


def shap_on_strings(case: Case, batch: int, *, algorithm: str) -> Floats:
    import shap

    logits = pipeline_logits(case.model, batch)
    masker = shap.maskers.Text(case.model.tokenizer)  # its mask token; no collapsing of neighbours
    explainer = shap.Explainer(
        lambda texts: logits(texts)[:, TARGET], masker, algorithm=algorithm, seed=case.seed, silent=True
    )
    evaluations = max(case.samples, 2 * len(case.window.ids) + 1)
    return case.per_word(explainer([case.text], max_evals=evaluations, batch_size=batch).values[0])


def shap_on_words(case: Case, batch: int) -> Floats:
    import shap

    d = len(case.document.words)
    game = case.view.game(features_of(case.document, "occurrences"), "mask")
    explainer = shap.PermutationExplainer(
        lambda kept: game(kept.astype(bool))[:, TARGET],
        shap.maskers.Independent(np.zeros((1, d)), max_samples=1),
        seed=case.seed,
    )
    found = explainer(np.ones((1, d)), max_evals=max(case.samples, 2 * d + 1), silent=True)
    return found.values[0]


# ── token numbers ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _kernel(original: Tensor, changed: Tensor, kept: Tensor, **_: Any) -> Tensor:
    return torch.from_numpy(kernel_weights(kept.cpu().numpy().astype(bool), 0.25))


def captum_words(case: Case, batch: int, *, algorithm: str) -> Floats:
    from captum import attr
    from captum._utils.models.linear_model import SkLearnRidge

    torch.manual_seed(case.seed)
    kernel = (SkLearnRidge(alpha=1.0), _kernel) if algorithm == "Lime" else ()
    found = getattr(attr, algorithm)(case.logits_of_words, *kernel).attribute(
        case.ids,
        baselines=case.masked,
        target=TARGET,
        feature_mask=case.owners,
        n_samples=case.samples,
        perturbations_per_eval=batch,
        return_input_shape=False,
    )
    return found.double().numpy(force=True).reshape(-1)


def captum_lime_base(case: Case, batch: int) -> Floats:
    from captum._utils.models.linear_model import SkLearnRidge
    from captum.attr import LimeBase

    masked, owners, d = case.masked, case.owners, len(case.document.words)

    def draw(ids: Tensor, **_: Any) -> Iterator[Tensor]:
        for kept in sample_coalitions(d, case.samples, np.random.default_rng(case.seed)):
            yield torch.from_numpy(kept)[None].to(ids.device)

    def variant(kept: Tensor, ids: Tensor, **_: Any) -> Tensor:
        return torch.where(kept[0][owners], ids, masked)

    found = LimeBase(case.logits_of_words, SkLearnRidge(alpha=1.0), _kernel, draw, True, variant, None).attribute(
        case.ids, target=TARGET, n_samples=case.samples, perturbations_per_eval=batch
    )
    return found.double().numpy(force=True).reshape(-1)


def captum_integrated_gradients(case: Case, batch: int) -> Floats:
    from captum.attr import LayerIntegratedGradients

    found = LayerIntegratedGradients(case.logits, case.model.model.get_input_embeddings()).attribute(
        case.ids, baselines=case.masked, target=TARGET, n_steps=case.steps, internal_batch_size=batch
    )
    return case.per_word(found.sum(dim=-1).double().numpy(force=True))


def transformers_interpret(case: Case, batch: int) -> Floats:
    from transformers_interpret import SequenceClassificationExplainer

    explainer = SequenceClassificationExplainer(case.model.model, case.model.tokenizer)
    explainer.ref_token_id = case.model.tokenizer.mask_token_id  # its own is padding
    found = explainer(case.text, index=TARGET, internal_batch_size=batch, n_steps=case.steps)
    return case.per_word([value for _, value in found])


# ── ferret ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def ferret(case: Case, batch: int, *, explainer: str) -> Floats:
    import ferret

    options = {
        "LIMEExplainer": {"num_samples": case.samples, "batch_size": batch},
        "SHAPExplainer": {"max_evals": case.samples},
        "IntegratedGradientExplainer": {"n_steps": case.steps, "internal_batch_size": batch},
    }
    first = {"LIMEExplainer": {"random_state": case.seed}, "SHAPExplainer": {"seed": case.seed}}
    ask = getattr(ferret, explainer)(case.model.model, case.model.tokenizer)
    found = ask(case.text, target=TARGET, init_args=first.get(explainer, {}), call_args=options[explainer])
    return case.per_word(found.scores)


# ── all of them ───────────────────────────────────────────────────────────────────────────────────────────────────────

LIME, SHAPLEY, PATH = Reference("lime"), Reference("shapley"), Reference("integrated-gradients")
_TOKENS = "tokens, summed to words"
_PROBABILITY = "explains the probability, and is compared with that"
_TREE = "Owen values along a tree of the sentence, not Shapley values"
_PIECES = "a subword beside a mask is read as another token"

PEERS: tuple[Peer, ...] = (
    Peer("official lime, pipeline batched", LIME, official_lime, "logits", "pipeline"),
    Peer("official lime, plain pipeline", LIME, partial(official_lime, plain=True), "logits"),
    Peer(
        "official lime deleting, pipeline batched",
        replace(LIME, removal="delete"),
        partial(official_lime, removal="delete"),
        "logits; a space for each word",
        "pipeline",
    ),
    Peer("captum LimeBase", LIME, captum_lime_base, "given our samples and LIME's kernel", "captum"),
    Peer(
        "captum Lime",
        LIME,
        partial(captum_words, algorithm="Lime"),
        "keeps each word with probability ½: another regression; kernel and ridge given by us",
        "captum",
    ),
    Peer(
        "ferret LIME",
        replace(LIME, output="probability"),
        partial(ferret, explainer="LIMEExplainer"),
        f"{_TOKENS}; removes [CLS], [SEP] and what is no word too; {_PROBABILITY}",
        "pipeline",
    ),
    Peer("captum KernelShap", SHAPLEY, partial(captum_words, algorithm="KernelShap"), batching="captum"),
    Peer("shap Permutation, our masked inputs", SHAPLEY, shap_on_words, "0/1 vectors of words, run by our batches"),
    Peer(
        "shap Permutation, pipeline batched",
        SHAPLEY,
        partial(shap_on_strings, algorithm="permutation"),
        f"{_TOKENS}; {_TREE}; {_PIECES}",
        "pipeline",
    ),
    Peer(
        "shap Partition, pipeline batched",
        SHAPLEY,
        partial(shap_on_strings, algorithm="partition"),
        f"{_TOKENS}; {_TREE}; {_PIECES}",
        "pipeline",
    ),
    Peer(
        "ferret SHAP",
        replace(SHAPLEY, output="probability"),
        partial(ferret, explainer="SHAPExplainer"),
        f"shap Partition: {_TOKENS}; {_TREE}; {_PIECES}; {_PROBABILITY}",
    ),
    Peer("captum LayerIntegratedGradients", PATH, captum_integrated_gradients, batching="gradients"),
    Peer(
        "transformers-interpret",
        replace(PATH, output="probability"),
        transformers_interpret,
        f"{_PROBABILITY}; mask baseline set by us, also where no word is; "
        "gives [SEP] token type 1; scaled to length 1, so its best multiple is compared",
        "gradients",
        scaled=True,
    ),
    Peer(
        "ferret IG",
        replace(PATH, removal="pad"),
        partial(ferret, explainer="IntegratedGradientExplainer"),
        "padding baseline, also where no word is; compared with ours on padding",
        "gradients",
    ),
)
