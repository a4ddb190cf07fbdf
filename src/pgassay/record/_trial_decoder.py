"""Decoding the trials of one run, thousands of them: what they share is decoded once.

Levels and settings are the same text in every trial of an arm, and half of a `trial.json`. msgspec hands them over
undecoded (`Raw`), and equal texts get one mapping. What is not plainly of today's format goes the way of `formats`.
"""

from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from pgassay.record import formats
from pgassay.record.values import FORMAT, LevelRecord, Reason, TrialRecord
from pgassay.study.responses import Status

Value = TypeVar("Value")
_EMPTY = msgspec.Raw(b"{}")


class _Wire(msgspec.Struct, gc=False):
    """`TrialRecord`, field by field and in its order, with the shared parts as they were written."""

    number: int
    block: int
    attempt: int
    treatment: str
    condition: str
    covariate: str
    levels: msgspec.Raw
    status: Status
    started_wall_ns: int
    finished_wall_ns: int
    responses: dict[str, float | None]
    reasons: tuple[Reason, ...] = ()
    counters: dict[str, float | None] = {}
    settings: msgspec.Raw = _EMPTY
    regime: dict[str, str | float | None] = {}
    timings_s: dict[str, float] = {}
    seed: int = 0
    format: int = FORMAT


_WIRE = msgspec.json.Decoder(_Wire)
_LEVELS = msgspec.json.Decoder(dict[str, LevelRecord])
_SETTINGS = msgspec.json.Decoder(dict[str, str])


class TrialDecoder:
    """Of one run; raises as `formats.decode_trial`."""

    def __init__(self) -> None:
        self._levels: dict[bytes, dict[str, LevelRecord]] = {}
        self._settings: dict[bytes, dict[str, str]] = {}

    def decode(self, data: bytes, run: Path, where: str) -> TrialRecord:
        """A `trial.json`."""
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # told apart below
            found = _WIRE.decode(data)
            if found.format == FORMAT and b'"format"' in data:
                levels = _once(self._levels, found.levels, _LEVELS)
                settings = _once(self._settings, found.settings, _SETTINGS)
                return TrialRecord(
                    found.number, found.block, found.attempt, found.treatment, found.condition, found.covariate,
                    levels, found.status, found.started_wall_ns, found.finished_wall_ns, found.responses,
                    found.reasons, found.counters, settings, found.regime, found.timings_s, found.seed, FORMAT,
                )  # fmt: skip
        return formats.decode_trial(data, run, where)


def _once(known: dict[bytes, Value], text: msgspec.Raw, decoder: "msgspec.json.Decoder[Value]") -> Value:
    key = bytes(text)
    value = known.get(key)
    if value is None:
        value = known[key] = decoder.decode(key)
    return value
