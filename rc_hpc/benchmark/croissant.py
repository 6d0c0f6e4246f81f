"""Croissant 1.0 metadata of a package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rc_hpc.benchmark.records import Question

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
#: Fields of a question that are told: name, whether it is a list, and what it is.
_FIELDS = (
    ("id", False, "Identifier of the question."),
    ("qtype", False, "Type of the question, Q1a to Q6."),
    ("difficulty", False, "easy or hard in Q2, else standard."),
    ("structure", False, "Base structure; never shown to a model."),
    ("scene_id", True, "Scenes that are shown; two in Q5."),
    ("view_ids", True, "Views, in the order of the pictures."),
    ("image_paths", True, "Pictures, as paths below the folder images."),
    ("question", False, "The question."),
    ("answer", False, "Letter of the right option."),
    ("answer_text", False, "The right option."),
    ("text_repr", False, "The same scene in words; empty where that makes no sense."),
)
_SETS = (("full", "questions.jsonl"), ("mini", "questions_mini.jsonl"))


def croissant(
    questions: Sequence[Question], digests: Mapping[str, str], version: str
) -> dict[str, Any]:
    """The metadata, as JSON-LD.

    Parameters
    ----------
    digests
        SHA-256 of the files of questions, by name.
    version
        Of the program that built the package.
    """
    files: list[dict[str, Any]] = [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "encodingFormat": "application/jsonlines",
            "sha256": digests[name],
        }
        for _, name in _SETS
    ]
    files.append(
        {
            "@type": "cr:FileSet",
            "@id": "pictures",
            "name": "pictures",
            "description": "All pictures.",
            "encodingFormat": "image/png",
            "includes": "images/scenes/*/*.png",
        }
    )
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": "MV-CrystalBench-rc_hpc",
        "description": f"{len(questions)} four-option questions on pictures of crystals.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": "https://creativecommons.org/licenses/by/4.0/",
        "version": version,
        "citeAs": f"rc_hpc {version}",
        "creator": {"@type": "sc:Organization", "name": "rc_hpc"},
        "distribution": files,
        "recordSet": [_records(name, file) for name, file in _SETS],
    }


def _records(name: str, file: str) -> dict[str, Any]:
    def source(path: str) -> dict[str, Any]:
        return {"fileObject": {"@id": file}, "extract": {"column": path}}

    fields: list[dict[str, Any]] = []
    for field, repeated, told in _FIELDS:
        fields.append(
            {
                "@type": "cr:Field",
                "@id": f"{name}/{field}",
                "name": field,
                "description": told,
                "dataType": "sc:Text",
                "source": source(field),
                **({"repeated": True} if repeated else {}),
            }
        )
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"The questions of the {name} set.",
        "key": {"@id": f"{name}/id"},
        "field": fields,
    }
