"""The paper's figures and numbers, computed again: one file per experiment.

    limelight reproduce all --data aclImdb --model paper-model --out results
    python -m limelight.reproduce all …          the same where only torch, NumPy and safetensors are installed

Every experiment first computes (`OUT/<experiment>.json`, arrays in `.npz`) and then draws from those files alone, so
results of one machine can be drawn on another: give the same command on the same folder.
"""
