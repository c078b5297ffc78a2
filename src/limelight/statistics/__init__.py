"""Intervals, tests and correlations, on SciPy."""
