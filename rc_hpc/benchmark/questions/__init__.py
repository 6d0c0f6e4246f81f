"""Questions on displayed scenes: drawn under quotas, answered twice, checked."""
