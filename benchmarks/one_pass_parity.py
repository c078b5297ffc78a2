"""Numbers of the code that authors published, to which tests/models/test_published_methods.py compares limelight.

Both are read from their repositories, and neither is a dependency of limelight. AttnLRP replaces methods of
transformers for the whole process; DecompX needs transformers 4.30. So each runs in a process of its own, in any
directory that holds a copy of the code:

    git clone https://github.com/rachtibat/LRP-eXplains-Transformers lxt
    git -C lxt checkout f043441
    PYTHONPATH=lxt python benchmarks/one_pass_parity.py attnlrp

    git clone https://github.com/mohsenfayyaz/DecompX decompx
    git -C decompx checkout b6bddf0
    pip install --no-deps --target old transformers==4.30.2 tokenizers==0.13.3 huggingface_hub==0.36.0
    PYTHONPATH=old:decompx python benchmarks/one_pass_parity.py decompx

The numbers go to tests/reference/published_methods.json. `attnlrp` is lxt as it is; in `attnlrp_exact` it computes RMS
norms in float64 instead of float32, and adds 0 instead of 1e-10 to what it divides by.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import torch
import transformers

from reference.published_models import CONFIGURATIONS, IDS, LABEL, draw, silence_tables

NUMBERS = Path(__file__).parents[1] / "tests" / "reference" / "published_methods.json"
CLASSES = {"bert": "Bert", "gpt2": "GPT2", "llama": "Llama"}


def main() -> int:
    torch.set_default_dtype(torch.float64)
    made = {"attnlrp": attnlrp, "decompx": decompx}[sys.argv[1]]()
    numbers = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
    NUMBERS.write_text(json.dumps(numbers | made, indent=1, sort_keys=True) + "\n", "utf-8")
    return 0


def built(name: str, kind: Any) -> Any:
    model = kind(getattr(transformers, f"{CLASSES[name]}Config")(**CONFIGURATIONS[name])).double().eval()
    draw(model)
    return model


def attnlrp() -> dict[str, Any]:
    """Input times gradient after lxt has patched transformers, for each token."""
    from lxt.efficient import monkey_patch, patches, rules

    made: dict[str, Any] = {"attnlrp_versions": {"lxt": "f043441", "transformers": transformers.__version__}}
    for exact in (False, True):
        if exact:
            rules.identity_rule_implicit_fn.forward.__defaults__ = (0.0,)
            patches.torch = types.SimpleNamespace(float32=torch.float64, rsqrt=torch.rsqrt)
        for name in ("gpt2", "llama"):
            if not exact:  # attention functions are those of all families: the second patch finds them done, and warns
                monkey_patch(importlib.import_module(f"transformers.models.{name}.modeling_{name}"))
            model = built(name, getattr(transformers, f"{CLASSES[name]}ForSequenceClassification"))
            vectors = model.get_input_embeddings()(torch.tensor([IDS])).detach().requires_grad_()
            logits = model(inputs_embeds=vectors, use_cache=False).logits[0]
            logits[LABEL].backward()
            weights = (vectors * vectors.grad).sum(dim=-1)[0]
            key = "attnlrp_exact" if exact else "attnlrp"
            made.setdefault(key, {})[name] = {"logits": logits.tolist(), "weights": weights.tolist()}
    return made


def decompx() -> dict[str, Any]:
    """What DecompX gives each token, without biases: slopes through zero, pooler and classifier included."""
    published = importlib.import_module("src.modeling_bert")
    settings = importlib.import_module("src.decompx_utils").DecompXConfig(
        include_biases=False, bias_decomp_type=None, aggregation="vector", FFN_approx_type="GeLU_ZO"
    )
    made = {}
    for name in ("bert", "bert_without_tables"):
        model = built("bert", published.BertForSequenceClassification)
        if name == "bert_without_tables":
            silence_tables(model)
        with torch.no_grad():
            answer = model(torch.tensor([IDS]), decompx_config=settings, return_dict=False)
        weights = answer[-1].classifier[0, :, LABEL]
        made[name] = {"logits": answer[0][0].tolist(), "weights": weights.tolist()}
    versions = {"DecompX": "b6bddf0", "transformers": transformers.__version__}
    return {"decompx": made, "decompx_versions": versions}


if __name__ == "__main__":
    sys.exit(main())
