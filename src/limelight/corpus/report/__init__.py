"""The report of a corpus: a page and tables."""
