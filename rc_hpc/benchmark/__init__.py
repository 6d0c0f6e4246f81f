"""MV-CrystalBench: four-option questions on pictures of crystals, built, checked and scored."""
