"""The list of experiments, in the order of the paper."""

from __future__ import annotations

from limelight.errors import UnknownNameError
from limelight.reproduce import correlations, fig1, fig2, fig3, fig4, fig6, final_layer, gradients, lime_error, theorem
from limelight.reproduce.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    fig1.EXPERIMENT,
    fig2.EXPERIMENT,
    fig3.EXPERIMENT,
    fig4.EXPERIMENT,
    lime_error.EXPERIMENT,
    theorem.EXPERIMENT,
    gradients.FIGURE,
    gradients.ERRORS,
    correlations.EXPERIMENT,
    final_layer.EXPERIMENT,
    fig6.EXPERIMENT,
)


def find(name: str) -> tuple[Experiment, ...]:
    """One experiment by its name, or all of them."""
    if name == "all":
        return EXPERIMENTS
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return (experiment,)
    raise UnknownNameError("experiment", name, ["all", *(experiment.name for experiment in EXPERIMENTS)])
