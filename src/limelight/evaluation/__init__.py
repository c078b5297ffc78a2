"""How alike explanations are, and means over documents with their intervals."""
