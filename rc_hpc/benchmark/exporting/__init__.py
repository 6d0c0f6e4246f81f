"""The benchmark for other programs: what they ask stands in their files, and comes back to us."""
