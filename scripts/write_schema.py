#!/usr/bin/env python3
"""Write the recipe format as JSON Schema, from the table that the catalog reads with.

    write_schema.py [DIRECTORY]

One file for each kind of file: recipe, overlay, taxonomy, strategy, kv_store. Editors check
against them while one types; what a schema cannot say (names that must exist) is `recipes lint`'s.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vllm_launch.catalog import format as recipe_format
from vllm_launch.catalog import kinds, recipe_kinds
from vllm_launch.catalog.kinds import SHAPES

DIRECTORY = Path(__file__).parents[1] / "recipes" / "schema"
DRAFT = "http://json-schema.org/draft-07/schema#"
FILES = {
    "recipe": recipe_format.RECIPE,
    "taxonomy": recipe_format.TAXONOMY,
    "strategy": recipe_format.STRATEGY,
    "kv_store": recipe_format.KV_STORE,
}
MOST = kinds.MOST
TEXT = {"type": "string"}
NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"}
WORD = {"type": ["string", "integer", "number", "boolean"]}
VARIABLE = {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
FLAG = {"type": "string", "pattern": r"^-\S*$"}
IMAGE = {"type": "string", "pattern": "^[^-]"}
BY_CUDA = {
    "type": "object",
    "patternProperties": {"^cu[0-9]+$": {"anyOf": [IMAGE, {"type": "null"}]}},
    "additionalProperties": False,
}
BRANDS = ("nvidia", "amd", "tpu", "intel")
IMAGES = {
    "anyOf": [
        IMAGE,
        BY_CUDA,
        {
            "type": "object",
            "properties": {name: {"anyOf": [IMAGE, BY_CUDA, {"type": "null"}]} for name in BRANDS},
            "additionalProperties": False,
        },
    ]
}
CHECKPOINT = {
    "type": "string",
    "pattern": r"^[^-\s\"'`|;&<>()!*\\][^\s\"'`|;&<>()!*\\]*$",
    "not": {"pattern": r"(^|/)\.\.(/|$)"},
}
# Readers that are made of no others.
PLAIN: dict[Any, dict[str, Any]] = {
    kinds.text: TEXT,
    kinds.one_line: TEXT,
    kinds.name: NAME,
    kinds.file_name: NAME,
    kinds.checkpoint: CHECKPOINT,
    kinds.image: IMAGE,
    kinds.flag: FLAG,
    kinds.command: TEXT,
    kinds.date: TEXT,
    kinds.integer: {"type": "integer"},
    kinds.count: {"type": "integer", "minimum": 1, "maximum": MOST},
    kinds.boolean: {"type": "boolean"},
    kinds.data: {},
    kinds.mapping: {"type": "object"},
    kinds.word: WORD,
    kinds.arguments: {"type": "array", "items": WORD},
    kinds.variables: {
        "type": "object",
        "propertyNames": VARIABLE,
        "additionalProperties": {"anyOf": [WORD, {"type": "null"}]},
    },
    recipe_kinds.choice: {"type": ["boolean", "string"]},
    recipe_kinds.flags: {"type": "array", "items": FLAG},
    recipe_kinds.json_arguments: {
        "type": "object",
        "propertyNames": {"pattern": FLAG["pattern"]},
        "additionalProperties": {"type": ["object", "null"]},
    },
}


def main(argv: list[str]) -> int:
    """Write the schemas."""
    directory = Path(argv[0]) if argv else DIRECTORY
    directory.mkdir(exist_ok=True)
    for name, text in texts().items():
        (directory / f"{name}.schema.json").write_text(text, encoding="utf-8")
    return 0


def texts() -> dict[str, str]:
    """Each schema's text."""
    made = {name: schema(reader, name) for name, reader in FILES.items()}
    made["overlay"] = schema(recipe_format.RECIPE, "overlay", Overlay)
    return {name: json.dumps(each, indent=2) + "\n" for name, each in made.items()}


def schema(reader: Any, name: str, maker: type[Maker] | None = None) -> dict[str, Any]:
    """The schema of one kind of file."""
    definitions: dict[str, Any] = {}
    whole = (maker or Maker)(definitions).table(reader)
    return {
        "$schema": DRAFT,
        "title": f"vllm-launch: {name}",
        **whole,
        "definitions": dict(sorted(definitions.items())),
    }


class Maker:
    """Turns readers into schemas; those of tables go into the definitions."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions = definitions

    def of(self, reader: Any) -> dict[str, Any]:
        """The schema of what a reader takes."""
        if reader not in SHAPES:
            return PLAIN[reader]
        form, *parts = SHAPES[reader]
        made: dict[str, Callable[..., dict[str, Any]]] = {
            "table": lambda *_: self.reference(reader),
            "list": lambda item: {"type": "array", "items": self.of(item)},
            "keyed": self.keyed,
            "named": self.named,
            "some named": lambda value: {**self.named(value), "minProperties": 1},
            "words": lambda words: {"enum": list(words)},
            "number": lambda least: {"type": "number", "minimum": least, "maximum": MOST},
            "one or listed": lambda item: {
                "anyOf": [self.of(item), {"type": "array", "items": self.of(item)}]
            },
            "one or keyed": lambda value: {"anyOf": [self.of(value), self.keyed(value)]},
            "images": lambda _: IMAGES,
            "image or": lambda value: {"anyOf": [IMAGE, self.of(value)]},
        }
        return made[form](*parts)

    def keyed(self, value: Any) -> dict[str, Any]:
        """A mapping with any keys; null is as good as nothing."""
        return {"type": "object", "additionalProperties": or_null(self.of(value))}

    def named(self, value: Any) -> dict[str, Any]:
        """A mapping whose keys are names."""
        return {**self.keyed(value), "propertyNames": {"pattern": NAME["pattern"]}}

    def reference(self, reader: Any) -> dict[str, Any]:
        """A table, as a reference to its definition."""
        name = SHAPES[reader][4].__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # its place, should it stand in itself
            self.definitions[name] = self.table(reader)
        return {"$ref": f"#/definitions/{name}"}

    def table(self, reader: Any) -> dict[str, Any]:
        """A mapping with known keys."""
        _, keys, required, ignored, record = SHAPES[reader]
        properties = {
            key: self.of(value) if key in required else or_null(self.of(value))
            for key, value in keys.items()
        }
        whole = {
            "description": (record.__doc__ or "").partition("\n")[0],
            "type": "object",
            "properties": {**properties, **{key: {} for key in ignored}},
            "additionalProperties": False,
        }
        return {**whole, "required": list(required)} if required else whole


class Overlay(Maker):
    """An overlay has a recipe's keys, none of which it needs; null takes away, KEY+ appends."""

    def of(self, reader: Any) -> dict[str, Any]:
        """The same, but for what stands in lists: that is whole, as in a recipe."""
        form, *parts = SHAPES.get(reader, ("",))
        if form == "list":
            return {"type": "array", "items": Maker(self.definitions).of(parts[0])}
        if form == "some named":
            return self.named(parts[0])
        return super().of(reader)

    def table(self, reader: Any) -> dict[str, Any]:
        """The mapping, without anything that it needs."""
        whole = super().table(reader)
        whole.pop("required", None)
        properties: dict[str, Any] = {}
        for key, value in whole["properties"].items():
            given = SHAPES[reader][1].get(key)
            made = self.of(given) if given is not None else {}
            properties[key] = or_null(made) if made else value
            if made.get("type") == "array":
                properties[f"{key}+"] = made
        return {**whole, "properties": properties}


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The same, or null, which is as good as nothing."""
    if not schema:
        return schema
    if set(schema) <= {"type"}:
        kinds_ = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return {"type": [*kinds_, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
