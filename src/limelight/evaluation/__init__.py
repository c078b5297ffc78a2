"""Evaluation: which explanations to trust for a model, by measures, tests and a verdict."""
