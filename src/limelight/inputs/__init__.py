"""Texts, their words, and the features that get weights."""
