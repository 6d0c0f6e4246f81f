"""Asking vision-language models: questions, endpoints, limits, the journal of replies, and what they add up to."""
