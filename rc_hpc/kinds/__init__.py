"""Kinds of result files, a folder each; `registry.py` lists them.

A folder holds ``__init__.py``, which declares the kind (`KIND`: names, help, and where the rest
is), ``options.py`` (each option once: flag, default, unit, check, help, caption), ``schema.py``
(columns with units and a sentence), ``oracle.py`` (one structure to its columns), ``work.py``
(dimensions, axes, predicted cost), ``counts.py`` and ``frames.py`` (the file as counts, and as
frames), ``tables.py`` (captions) and ``figures.py``. `common` is shared by all. Commands, merge,
status, validation, tables and figures know a kind by its declaration alone.
"""
