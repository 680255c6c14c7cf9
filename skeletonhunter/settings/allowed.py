"""What a setting may hold, in words: from the type and the bounds that the model declares."""

from __future__ import annotations

from typing import Any

from skeletonhunter.settings.model import Settings


def allowed(field: str) -> str:
    """The values that the field takes, as "it must be ..." goes on."""
    declared: dict[str, Any] = Settings.model_json_schema()["properties"][field]
    if words := declared.get("allowed"):
        return str(words)
    # an optional setting is unset by an empty variable: null is no value that a text can be
    kind = next((each for each in declared.get("anyOf", ()) if each != {"type": "null"}), declared)
    if choices := kind.get("enum"):
        return f"{', '.join(choices[:-1])} or {choices[-1]}"
    match kind.get("type"):
        case "boolean":
            return "true or false"
        case "integer":
            return f"a whole number{_range(kind)}"
        case "number":
            return f"a number{_range(kind)}"
        case "array":
            return """a JSON array of texts, e.g. '["a", "b"]'"""
    most = kind.get("maxLength")
    return "a text" if most is None else f"a text of at most {most} characters"


def _range(kind: dict[str, Any]) -> str:
    least, above, most = map(kind.get, ("minimum", "exclusiveMinimum", "maximum"))
    if least is not None and most is not None:
        return f" from {least:g} to {most:.12g}"
    if above is not None:
        return f" above {above:g}"
    return "" if least is None else f" of at least {least:g}"
