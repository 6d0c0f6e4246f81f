"""Scores of answers to the benchmark, and the ladder from what pictures determine to them."""
