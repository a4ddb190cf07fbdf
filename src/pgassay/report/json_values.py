"""Values as JSON has them: stable names, numbers unrounded, null for what is not known or not finite."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec
import numpy as np

from pgassay.analysis.effects import Effect
from pgassay.outgoing import in_ascii, values


def effect_values(effect: Effect) -> dict[str, Any]:
    """An effect with its place; `low` and `high` are null where it has no interval yet.

    `provisional` holds the least and the greatest of the blocks while they are too few for an interval; `equivalence`
    the ends that equivalence was judged by, in records of the rules that took others.
    """
    return {
        **effect.place._asdict(),
        "response": effect.response,
        "scale": effect.scale,
        "blocks": effect.blocks,
        "estimate": effect.estimate,
        "low": effect.low if effect.bounded else None,
        "high": effect.high if effect.bounded else None,
        "level": effect.level,
        "method": effect.method,
        "left_out": effect.left_out,
        "refused": effect.refused or None,
        **(
            {"provisional": [min(seen), max(seen)]}
            if not effect.bounded and (seen := [value for _, value in effect.contrasts])
            else {}
        ),
        **({"equivalence": effect.inner} if effect.inner is not None else {}),
        **({"between_hosts": asdict(effect.between)} if effect.between is not None else {}),
    }


def finite(value: object) -> Any:
    """Plain mappings, lists, texts and numbers; null stands for NaN and infinity, which JSON does not know."""
    return msgspec.json.decode(_encoded(value))


def to_json(value: object) -> str:
    """The same as an indented text; much sooner than the standard library's for the rows of ten thousand trials."""
    return in_ascii(msgspec.json.format(_encoded(value), indent=2).decode())


def _encoded(value: object) -> bytes:
    try:
        return msgspec.json.encode(value, enc_hook=_unknown)
    except UnicodeEncodeError:  # a file whose name is no UTF-8
        return msgspec.json.encode(values(msgspec.to_builtins(value, enc_hook=_unknown)))


def _unknown(value: object) -> object:
    """What numpy made, and mappings of other kinds than `dict`."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
