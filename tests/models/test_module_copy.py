"""Nothing that a user owns is changed: their modules, modes, hooks and switches, and the state of the process."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from threadpoolctl import threadpool_info

import limelight
from limelight.core.progress import Silent
from limelight.errors import CapabilityError
from limelight.inputs.features import features_of
from limelight.models.huggingface.classifier import HuggingFaceClassifier
from reference.small_transformers import FAMILIES, small_pair_transformer, small_transformer

TEXT = "It's great, but the film is far too long!"


def wrapped(model: Any, tokenizer: Any, **options: Any) -> HuggingFaceClassifier:
    classifier = limelight.wrap(model, tokenizer, **options)
    assert isinstance(classifier, HuggingFaceClassifier)
    return classifier


def state_of_process(torch_random: bool = True) -> dict[str, Any]:
    """What belongs to the process, or to the thread that asks."""
    state = {
        "threads of torch": torch.get_num_threads(),
        "thread pools": sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info()),
        "grad mode": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype()),
        "random": random.getstate(),
        "numpy.random": str(np.random.get_state()),  # noqa: NPY002
        "verbosity": transformers.utils.logging.get_verbosity(),
    }
    return state | ({"torch.random": torch.get_rng_state().tolist()} if torch_random else {})


def state_of_model(model: Any) -> dict[str, Any]:
    """Every attribute of every module by identity, and all that could be done to a tensor or to a setting."""

    def tensors(named: Any) -> list[Any]:
        return [(name, id(t), t.data_ptr(), t._version, t.requires_grad, t.grad) for name, t in named]

    containers = ("_modules", "_parameters", "_buffers")
    return {
        "modules": [
            (name, type(module), {key: id(value) for key, value in vars(module).items() if key not in containers})
            for name, module in model.named_modules()
        ],
        "hooks": [
            (name, key, [(number, id(hook)) for number, hook in value.items()])
            for name, module in model.named_modules()
            for key, value in vars(module).items()
            if key.endswith("_hooks")
        ],
        "training": [module.training for module in model.modules()],
        "parameters": tensors(model.named_parameters()),
        "buffers": tensors(model.named_buffers()),
        "config": (model.config.to_dict(), model.config._attn_implementation),
    }


def state_of_tokenizer(tokenizer: Any) -> tuple[Any, Any]:
    return tokenizer.backend_tokenizer.truncation, tokenizer.backend_tokenizer.padding


def ask_game(classifier: HuggingFaceClassifier, removal: Any, progress: Any = None) -> Any:
    view = classifier.view(TEXT)
    features = features_of(view.document, "words")
    kept = np.random.default_rng(0).random((50, len(features))) < 0.5
    return view.game(features, removal, progress or Silent())(kept)


ACTIONS: dict[str, Callable[[HuggingFaceClassifier], Any]] = {
    "predict": lambda classifier: classifier.predict_logits([TEXT, "a film"]),
    "logits": lambda classifier: classifier.view(TEXT).logits,
    "mask": lambda classifier: ask_game(classifier, "mask"),
    "delete": lambda classifier: ask_game(classifier, "delete"),
    "hide": lambda classifier: ask_game(classifier, "attention"),
    "gradients": lambda classifier: classifier.view(TEXT).gradients(np.eye(3)[1]).gradients,
    "path": lambda classifier: (
        classifier.view(TEXT).path_gradients("mask", np.arange(4), np.array([0.5]), np.tanh).slopes
    ),
    "attention": lambda classifier: classifier.view(TEXT).attention_layers()[0].weights,
    "lime": lambda classifier: limelight.explain(classifier, TEXT, "lime", n_samples=30).weights,
}


class Recording:
    """A hook of the user that cannot be copied: it must stay the user's."""

    def __init__(self) -> None:
        self.seen, self.error = 0, None

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("a copy of the user's hook")

    def hook(self, module: Any, arguments: Any) -> None:
        self.seen += 1
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("family", ["bert", "deberta"])
def test_everything_is_as_found(family: str, training: bool, action: str) -> None:
    model, own = small_transformer(family)
    own = copy.deepcopy(own)
    own("a film", truncation=True, max_length=7, padding="max_length")
    model.train(training)
    model.base_model.encoder.train(not training)  # a mode of its own somewhere inside
    model.classifier.weight.requires_grad_(False)
    first = model.base_model.encoder.layer[0]
    first.register_forward_hook(lambda module, arguments, output: None)
    before, process, tokenizer = state_of_model(model), state_of_process(), state_of_tokenizer(own)
    assert tokenizer != (None, None)
    for _ in range(2):  # the second time trees are there already
        ACTIONS[action](wrapped(model, own))
        assert state_of_model(model) == before
        assert state_of_process() == process
        assert state_of_tokenizer(own) == tokenizer


@pytest.mark.parametrize("method", ["leave-one-out", "gxi", "rollout", "integrated-gradients"])
def test_everything_is_as_found_after_a_pair(method: str) -> None:
    model, own = small_pair_transformer("bert")
    own("a film", truncation=True, max_length=7, padding="max_length")
    before, process, tokenizer = state_of_model(model.train()), state_of_process(), state_of_tokenizer(own)
    assert tokenizer != (None, None)
    classifier = wrapped(model, own, pairs=True)
    limelight.explain(classifier, (TEXT, "a film"), method)
    classifier.predict_logits([(TEXT, "")])
    assert state_of_model(model) == before
    assert state_of_process() == process
    assert state_of_tokenizer(own) == tokenizer


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt()])
def test_everything_is_as_found_after_an_error_in_the_middle(error: BaseException, action: str) -> None:
    model, own = small_transformer("bert")
    recording = Recording()
    model.bert.encoder.layer[1].register_forward_pre_hook(recording.hook)
    model.train()
    classifier = wrapped(model, own)
    expected = ACTIONS[action](classifier)
    before, process = state_of_model(model), state_of_process()
    recording.seen, recording.error = 0, error
    with pytest.raises((type(error), CapabilityError)) as raised:  # what a forward raises is said in our words
        ACTIONS[action](classifier)
    assert error in (raised.value, raised.value.__cause__)
    assert recording.seen == 1
    assert state_of_model(model) == before
    assert state_of_process() == process
    recording.error = None
    assert expected.tobytes() == ACTIONS[action](classifier).tobytes()


@pytest.mark.parametrize("removal", ["mask", "delete", "attention"])
def test_everything_is_as_found_after_a_progress_that_stops(removal: Any) -> None:
    class Stopping(Silent):
        def advance(self, steps: int = 1, note: str = "") -> None:
            assert not torch.is_inference_mode_enabled()
            raise KeyboardInterrupt

    model, own = small_transformer("bert")
    classifier = wrapped(model.train(), own, batch_tokens=100)
    expected = ask_game(classifier, removal)
    before, process = state_of_model(model), state_of_process()
    with pytest.raises(KeyboardInterrupt):
        ask_game(classifier, removal, Stopping())
    assert state_of_model(model) == before
    assert state_of_process() == process
    assert expected.tobytes() == ask_game(classifier, removal).tobytes()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_weights_are_shared_and_the_modules_are_not(family: str) -> None:
    model, own = small_transformer(family)
    trees = wrapped(model, own).trees
    for tree in (trees.plain(), trees.eager()):
        assert all(ours is theirs for ours, theirs in zip(tree.module.parameters(), model.parameters(), strict=True))
        assert all(ours is theirs for ours, theirs in zip(tree.module.buffers(), model.buffers(), strict=True))
        assert not set(map(id, tree.module.modules())) & set(map(id, model.modules()))
        assert tree.module.config is not model.config
        assert not any(module.training for module in tree.module.modules())
    assert trees.eager().module.config._attn_implementation == "eager"
    assert trees.plain().module.config._attn_implementation == model.config._attn_implementation
    assert trees.plain() is trees.plain()
    assert trees.eager() is trees.eager()


@pytest.mark.parametrize("action", ACTIONS)
def test_training_mode_of_the_user_changes_no_result(action: str) -> None:
    model, own = small_transformer("bert")
    assert model.config.hidden_dropout_prob > 0
    expected = ACTIONS[action](wrapped(model.eval(), own))
    classifier = wrapped(model.train(), own)
    assert expected.tobytes() == ACTIONS[action](classifier).tobytes()
    model.eval()
    assert expected.tobytes() == ACTIONS[action](classifier).tobytes()


def optimizer_step(model: Any) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    model(input_ids=torch.tensor([[2, 9, 3]]), labels=torch.tensor([0])).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    model.eval()


def new_parameters(model: Any) -> None:
    """What .to(device) does where a tensor cannot take the other's place."""
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        model.double()
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)


def new_head(model: Any) -> None:
    torch.manual_seed(3)
    model.classifier = torch.nn.Linear(16, 3)


def new_buffers(model: Any) -> None:
    """Positions counted backwards: a buffer that is another object, as it is on another device."""
    model.bert.embeddings.position_ids = model.bert.embeddings.position_ids.flip(1)


def hook_on_the_pooler(model: Any) -> None:
    model.bert.pooler.register_forward_hook(lambda module, arguments, output: 2 * output)


CHANGES = {
    "optimizer step": optimizer_step,
    "double": lambda model: model.double(),
    "new parameters": new_parameters,
    "new head": new_head,
    "new buffers": new_buffers,
    "new weights": lambda model: model.load_state_dict(small_transformer("bert", seed=5)[0].state_dict()),
    "weights assigned": lambda model: model.load_state_dict(
        small_transformer("bert", seed=5)[0].state_dict(), assign=True
    ),
    "hook": hook_on_the_pooler,
    "eager": lambda model: model.set_attn_implementation("eager"),
}


@pytest.mark.parametrize("action", ["predict", "mask", "gradients", "attention"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_the_user_does_to_the_model_is_seen(change: str, action: str) -> None:
    model, own = small_transformer("bert")
    classifier = wrapped(model, own)
    before = ACTIONS[action](classifier)
    CHANGES[change](model)
    after = ACTIONS[action](classifier)
    assert after.tobytes() == ACTIONS[action](wrapped(model, own)).tobytes()
    behind_the_attention = action == "attention" and change in ("new head", "hook")
    if change != "eager" and not behind_the_attention:
        assert after.tobytes() != before.tobytes()
    assert classifier.dtype == model.classifier.weight.dtype or change == "new head"


def test_a_view_that_was_made_before_a_change_sees_it() -> None:
    model, own = small_transformer("bert")
    classifier = wrapped(model, own)
    view = classifier.view(TEXT)
    CHANGES["new parameters"](model)
    np.testing.assert_array_equal(view.logits, wrapped(model, own).view(TEXT).logits)


def test_the_users_own_attentions_are_none_of_ours() -> None:
    """transformers adds hooks to a model when it is first asked for attentions."""
    model, own = small_transformer("bert")
    classifier = wrapped(model, own)
    expected, plain = classifier.view(TEXT).attention_layers()[0].weights, classifier.trees.plain()
    eager = copy.deepcopy(model)
    eager.set_attn_implementation("eager")
    for other in (model, eager):
        other(**own(TEXT, return_tensors="pt"), output_attentions=True)
    assert classifier.trees.plain() is plain
    for other in (model, eager):
        (layers,) = wrapped(other, own).view(TEXT).attention_layers()
        assert layers.weights.tobytes() == expected.tobytes()
        # Another thread may be adding them: some are there, and the mark that all are is not.
        del other.bert._output_capturing_hooks_installed
        (layers,) = wrapped(other, own).view(TEXT).attention_layers()
        assert layers.weights.tobytes() == expected.tobytes()


class Twice(transformers.BertForSequenceClassification):
    """Looks its tokens up a second time."""

    def forward(self, input_ids: Any = None, **named: Any) -> Any:
        self.get_input_embeddings()(input_ids)
        return super().forward(input_ids=input_ids, **named)


def test_a_table_that_is_used_twice_has_no_gradients() -> None:
    model, own = small_transformer("bert")
    classifier = wrapped(Twice(model.config), own)
    with pytest.raises(CapabilityError, match="looks up its token embeddings 2 times"):
        classifier.view(TEXT).gradients(np.eye(3)[1])
    assert np.isfinite(classifier.predict_logits([TEXT])).all()


class Uncopied(transformers.BertForSequenceClassification):
    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("no copies")


def test_a_model_that_cannot_be_copied_is_refused_with_what_to_do() -> None:
    model, own = small_transformer("bert")
    with pytest.raises(CapabilityError, match=r"Uncopied cannot be copied \(no copies\).*limelight.wrap\(f\)"):
        limelight.wrap(Uncopied(model.config), own)


def test_gradients_leave_nothing_on_the_parameters() -> None:
    model, own = small_transformer("bert")
    grads = [torch.ones_like(p) for p in model.parameters()]
    for parameter, grad in zip(model.parameters(), grads, strict=True):
        parameter.grad = grad
    limelight.explain(wrapped(model, own), TEXT, "gxi")
    limelight.explain(wrapped(model, own), TEXT, "integrated-gradients")
    for parameter, grad in zip(model.parameters(), grads, strict=True):
        assert parameter.grad is grad
        assert (grad == 1).all()
