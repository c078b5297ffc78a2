"""Figure 2: the architecture, drawn from the shapes of the model at hand."""

from __future__ import annotations

from typing import Any

from limelight.reproduce.experiment import BLUE, GREY, INK, Experiment, Numbers, new_axes, rectangle
from limelight.reproduce.folder import RunFolder
from limelight.reproduce.lab import Lab

PAPER = {"T_max": 256, "d_e": 128, "d_att": 64, "d_out": 64, "K": 6}
"""The sizes of Appendix F. It gives no number of heads: 6 is that of the deep model in Appendix E."""


def compute(lab: Lab) -> Numbers:
    model = lab.paper_model()
    return {
        "sizes": {name: getattr(model.config, name) for name in PAPER},
        "words": len(model.vocabulary),
        "classes": len(model.labels),
        "shapes": {name: list(weight.shape) for name, weight in model.named_parameters()},
        "parameters": sum(weight.numel() for weight in model.parameters()),
    }


TABLE = "sizes (Appendix F; K, which it does not give, from Appendix E) | {expected} | {written} | {same}"
CAPTION = (
    "From a text to f(x): {parameters:,} parameters. The box is repeated for each of the {sizes[K]} heads; only the "
    "query of [CLS] is used. There is no residual connection, no layer norm and no other non-linearity than the "
    "softmax."
)


def prose(numbers: Numbers) -> dict[str, str]:
    expected, written = (
        ", ".join(f"{name} = {size}" for name, size in sizes.items()) for sizes in (PAPER, numbers["sizes"])
    )
    same = "the same" if numbers["sizes"] == PAPER else "another model was given"
    return {"expected": expected, "written": written, "same": same}


def draw(folder: RunFolder, numbers: Numbers) -> Any:
    s, D, C = numbers["sizes"], numbers["words"], numbers["classes"]
    T, d_e, d_att, d_out, K = (s[name] for name in ("T_max", "d_e", "d_att", "d_out", "K"))
    figure, axis = new_axes(13, 5.2)
    axis.add_patch(rectangle((39, 0), 64, 46, facecolor="#f1f5fb", edgecolor=BLUE, linewidth=1.2))
    axis.text(71, 43.4, f"one head; there are {K}", ha="center", va="center", color=BLUE, fontsize=11)
    # Each quantity: its centre, the width of its box, its name, and its shape below.
    boxes = {
        "x": (8, 22, 16, "text $x$", f"{T} token numbers:\n[CLS], words, [UNK] …"),
        "e": (28, 22, 17, "embedding $e$", f"{T} × {d_e}\n$W_e$: {D:,} × {d_e}\n+ positions $W_p$: {T} × {d_e}"),
        "q": (50, 35, 17, "query of [CLS], $q$", f"{d_att}\n$W_q$: {d_att} × {d_e}"),
        "k": (50, 22, 17, "keys $k$", f"{T} × {d_att}\n$W_k$: {d_att} × {d_e}"),
        "v": (50, 8, 17, "values $v$", f"{T} × {d_out}\n$W_v$: {d_out} × {d_e}"),
        "a": (73, 28, 18, r"attention $\alpha$", f"{T} weights\n" + r"softmax of $q^\top k_t / \sqrt{d_{att}}$"),
        "t": (94, 16, 15, r"$\tilde v = \Sigma_t \, \alpha_t v_t$", f"{d_out} numbers"),
        "f": (
            114,
            22,
            18,
            "$f(x)$",
            f"{C} logits: mean over {K}\nheads of $W_\\ell \\tilde v$\n$W_\\ell$: {C} × {d_out}",
        ),
    }
    for x, y, width, name, shape in boxes.values():
        height = 3.6 + 2.0 * (shape.count("\n") + 1)
        corner = (x - width / 2, y - height / 2)
        axis.add_patch(rectangle(corner, width, height, facecolor="white", edgecolor=INK, linewidth=1.0))
        axis.text(x, y + height / 2 - 1.0, name, ha="center", va="top", fontsize=11)
        look = {"fontsize": 8.5, "linespacing": 1.25, "color": "#4a4e57"}
        axis.text(x, y - height / 2 + 0.9, shape, ha="center", va="bottom", **look)
    for start, end in ("xe", "eq", "ek", "ev", "qa", "ka", "at", "vt", "tf"):
        (x, y, width, *_), (to_x, to_y, to_width, *_) = boxes[start], boxes[end]
        arrow = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.4}
        axis.annotate("", (to_x - to_width / 2, to_y), (x + width / 2, y), arrowprops=arrow)
    axis.set(xlim=(-1, 124), ylim=(-1, 47))
    axis.set_axis_off()
    return figure


EXPERIMENT = Experiment(
    "fig2", "Figure 2: the architecture", compute, draw, TABLE, CAPTION, prose, over_documents=False
)
