"""Propagation: methods that go back through a transformer once, each by a table of rules."""
