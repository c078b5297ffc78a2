"""Training our own classifiers on labelled texts."""
