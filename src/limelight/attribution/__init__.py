"""From a request about a text to explanations: explain() and compare()."""
