"""Explanations: what they hold, which weights are significant, how reliable they are, and their stored form."""
