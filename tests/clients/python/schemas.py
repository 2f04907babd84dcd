"""Every answer against the specification's schemas, where those lie beside the checkout; counted either way."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

validated = 0
skipped = 0


def folder() -> Path | None:
    given = os.environ.get("AQUEDUCT_SPEC_SCHEMAS")
    return Path(given) if given else None


@cache
def validator(name: str) -> Draft202012Validator:
    place = folder()
    assert place is not None
    return Draft202012Validator(json.loads((place / f"{name}.schema.json").read_text()))


def kind(arguments: dict[str, Any]) -> str:
    if "operations" in arguments:
        return "batch-operation"
    if arguments.get("operation") == "introspect":
        return "introspection-response"
    return "operation-result"


def check(arguments: dict[str, Any], answer: Any) -> None:
    global validated, skipped
    if folder() is None:
        skipped += 1
        return
    name = kind(arguments)
    problems = [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(answer)]
    assert not problems, f"not a valid {name}: {problems}\n{json.dumps(answer)}"
    validated += 1
