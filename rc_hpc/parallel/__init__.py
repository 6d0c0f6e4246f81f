"""Ranks: how they start, share the work, tell how far they are, and stop."""
