"""What a replay did not play of its log: `left_out` of `replay.json` in each trial's directory (docs/loads.md)."""

from collections.abc import Mapping

from pgassay import untrusted
from pgassay.record.reading import Run

FILE = "replay.json"
_KINDS = {
    "commands": ("call", "of commands that are not played, or of sessions without a name"),
    "without_parameters": ("call", "whose parameters were not logged"),
    "half_calls": ("call", "of transactions that begin before the log"),
    "calls_beyond": ("call", "of sessions beyond load.sessions"),
    "unread": ("record", "that cannot be read"),
    "foreign": ("record", "in another language than English"),
    "doubtful": ("statement", "that may not be whole"),
    "torn": ("log", "whose last record may not be whole"),
}


def counts_of(written: bytes) -> Mapping[str, int]:
    """How much of each kind was left out; raises `ValueError` for what is no such file. Empty where it does not say."""
    try:
        found = untrusted.json(written).get("left_out", {})
        return {name: int(found.get(name, 0)) for name in _KINDS}
    except (AttributeError, TypeError, OverflowError):
        raise ValueError("not the results of a replay") from None


def left_out(run: Run, number: int) -> Mapping[str, int]:
    """The counts of a trial; empty where its load is no replay, or where the file cannot be read."""
    path = run.trial_directory(number) / FILE
    try:
        return counts_of(run.disk.read(path)) if run.disk.exists(path) else {}
    except (OSError, ValueError):
        return {}  # results do not hang on it


def phrases(counts: Mapping[str, int]) -> tuple[str, ...]:
    """What was left out, by kind: `3 calls whose parameters were not logged`."""
    return tuple(
        f"{counts[name]} {noun if counts[name] == 1 else f'{noun}s'} {which}"
        for name, (noun, which) in _KINDS.items()
        if counts.get(name)
    )
