"""Which explanations to trust for a model: measures, tests and the verdict."""
