"""Explanations as HTML."""
