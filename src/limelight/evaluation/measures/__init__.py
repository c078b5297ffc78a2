"""Measures of explanations, one per file; see `limelight.evaluation.measure`."""
