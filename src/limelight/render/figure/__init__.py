"""Explanations as figures."""
