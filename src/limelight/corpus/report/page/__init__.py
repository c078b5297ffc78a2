"""The page of a report, one section per file; `frame` puts them together."""
