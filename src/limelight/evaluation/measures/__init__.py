"""What is asked of explanations, one measure per file; see `limelight.evaluation.measure`."""
