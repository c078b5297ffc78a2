"""Our own classifiers, which read words: the paper's and the deep one."""
