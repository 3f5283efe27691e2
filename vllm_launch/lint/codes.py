"""The codes of faults: what each looks at. They are stable, for scripts."""

from __future__ import annotations

CODES = {
    "LINT_FORMAT": "what the catalog checks: keys, kinds of values, names that must exist",
    "LINT_UNRESOLVED": "a combination that the recipe offers resolves",
    "LINT_TOO_MANY": "there are few enough combinations to try them all",
    "LINT_PRESET": "each preset and each of its points resolves",
    "LINT_UNREACHABLE": "each variant, mode and list of arguments counts somewhere",
    "LINT_NO_STRATEGY": "a strategy is offered on some hardware",
    "LINT_UNKNOWN": "each name is one that some release of vLLM has",
    "LINT_DEAD": "each name is one that the newest release still has",
    "LINT_NOT_YET": "each name is one that the oldest release allowed has",
    "LINT_RENAMED": "no name has one that took its place",
    "LINT_DEPRECATED": "no flag is on its way out",
    "LINT_UNRELEASED": "the names under model.unreleased: no release has them, the recipe does",
    "LINT_SHORT": "flags are written out",
    "LINT_VALUE": "values: how many, of which kind, among the choices",
    "LINT_STRAY": "each value has a flag before it",
    "LINT_BOOLEAN": "switches in their own forms, --x and --no-x",
    "LINT_ONE_ELEMENT": "a flag and its value are two elements",
    "LINT_JSON": "JSON values can be read, and hold no true or false in quotes",
    "LINT_JSON_TWICE": "no key stands twice in a JSON value",
    "LINT_TWICE": "no flag stands twice in a list with different values",
    "LINT_REPEATED": "no flag stands twice in a list with the same value",
    "LINT_CONTRADICTION": "no list holds a switch in both forms",
    "LINT_CONFLICT": "no combination has arguments that exclude or need each other",
    "LINT_MANDATORY": "no layer of the recipe gives a mandatory flag another value",
    "LINT_IMAGE": "an image is a reference, without a command before it",
    "LINT_IMAGE_TAG": "an image's tag or digest says which image it is",
    "LINT_MEMORY_LOW": "vram_minimum_gb is not less than the weights",
    "LINT_MEMORY_HIGH": "vram_minimum_gb is not some three times the weights",
}
