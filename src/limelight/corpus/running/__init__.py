"""Running a corpus: sources, workers and the rows of shards."""
