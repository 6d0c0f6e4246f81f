"""Measurements of rc_hpc.

`run.py` takes them, `records/` keeps them raw, `report.py` reads them.
"""
