"""A page of sample questions with their pictures."""
