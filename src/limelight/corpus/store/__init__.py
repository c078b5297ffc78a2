"""The files of a corpus: schema, shards, hashes, and reading them back."""
