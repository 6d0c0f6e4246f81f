"""What may be wrong with a package, each finding one line."""
