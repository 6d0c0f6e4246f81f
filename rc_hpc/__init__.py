"""Certified render ceilings of crystal-structure pictures, in batch."""

__version__ = "0.1.0"
