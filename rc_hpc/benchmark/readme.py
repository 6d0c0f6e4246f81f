"""README and licence of a package."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import rc_hpc
from rc_hpc.benchmark.records import STRATA, BaseStructure, Question

LICENCE = """\
The questions, pictures and tables of this package are made by rc_hpc and may be used under the
Creative Commons Attribution 4.0 International licence:
https://creativecommons.org/licenses/by/4.0/legalcode

The structures keep the licence of their source, which provenance/structures.jsonl names for each.
Those named "catalogue" or "prototypes" are AFLOW prototypes as they come with pymatgen (MIT).
"""

_HEAD = """\
---
license: cc-by-4.0
task_categories:
- visual-question-answering
- multiple-choice
pretty_name: MV-CrystalBench, built by rc_hpc
configs:
- config_name: full
  default: true
  data_files:
  - split: test
    path: questions.jsonl
- config_name: mini
  data_files:
  - split: test
    path: questions_mini.jsonl
---
"""


def readme(
    questions: Sequence[Question],
    subset: Sequence[Question],
    bases: Iterable[BaseStructure],
    options: Mapping[str, Any],
) -> str:
    """The README: what there is, how much of it, under which settings."""
    bases = list(bases)
    systems = Counter(base.system for base in bases)
    full = Counter(one.stratum for one in questions)
    mini = Counter(one.stratum for one in subset)
    pictures = len({path for one in questions for path in one.image_paths})
    rows = "\n".join(
        f"| {name.replace('_', ' ')} | {full[name]} | {mini[name]} |" for name in STRATA
    )
    told = ", ".join(f"{system} {count}" for system, count in sorted(systems.items()))
    settings = json.dumps(options, indent=1)
    return f"""{_HEAD}
# Questions on pictures of crystals

{len(questions)} four-option questions on {pictures} pictures of {len(bases)} structures
({told}), in the form of MV-CrystalBench; {len(subset)} of them, each as it is, are the mini set.
Built by rc_hpc {rc_hpc.__version__}; neither questions nor pictures are those of the released
benchmark.

| stratum | full | mini |
|---|---|---|
{rows}

| file | what |
|---|---|
| questions.jsonl, questions_mini.jsonl | a question a line: id, qtype, difficulty, structure, \
scene_id, view_ids, image_paths, question, options, answer, answer_text, meta, text_repr |
| images/ | pictures; an entry of image_paths is a path below this folder |
| scenes.h5 | cameras, displayed atoms, bonds and visibility of every scene in all its views |
| provenance/structures.jsonl | the structures and where they came from |
| croissant.json | the same for programs (Croissant 1.0) |
| manifest.json | SHA-256 and size of every other file, and all settings |

Show a model the question, its options and its pictures, and nothing else: structure, answer,
answer_text, meta, ids and paths give answers away. `text_repr` takes the place of the pictures
where `meta.text_applicable` is true.

```python
import json
from pathlib import Path
from PIL import Image

root = Path(".")
rows = [json.loads(line) for line in (root / "questions.jsonl").open(encoding="utf-8")]
images = [Image.open(root / "images" / entry) for entry in rows[0]["image_paths"]]
```

```python
from datasets import load_dataset

full = load_dataset(".", "full", split="test")
mini = load_dataset(".", "mini", split="test")
```

## Settings

Of `per_structure` and `per_difficulty` 0 stands for 4 and 2, and in more than 716 questions for as
few as fill them.

```json
{settings}
```
"""
