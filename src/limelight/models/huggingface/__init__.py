"""Classifiers of transformers, explained word by word."""
