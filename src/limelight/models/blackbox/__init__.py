"""Any function from texts to numbers: nothing is known of it, so only perturbation methods apply."""

from limelight.models.blackbox.classifier import BlackBoxClassifier

__all__ = ["BlackBoxClassifier"]
