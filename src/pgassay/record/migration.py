"""Older formats, upgraded in memory one step at a time; files stay as they were written.

Format 0 was used before the first release: it had no attempts, told reasons as `code: detail` strings, and kept times
in seconds. A new format adds one step here and one specimen under tests/record/specimens, which is never removed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Plain = dict[str, Any]
Step = Callable[[Plain], Plain]

_NS = 1_000_000_000


def upgrade_trial(trial: Plain, found: int) -> Plain:
    """A decoded `trial.json` of format `found` in today's form; wrong types are left for the decoder to name."""
    return _through(_TRIAL_STEPS, trial, found)


def upgrade_header(header: Plain, found: int) -> Plain:
    """A decoded `run.json` of format `found` in today's form."""
    return _through(_HEADER_STEPS, header, found)


def _through(steps: Sequence[Step], value: Plain, found: int) -> Plain:
    for step in steps[found:]:
        value = step(value)
    return value


def _trial_0_to_1(trial: Plain) -> Plain:
    upgraded = {key: value for key, value in trial.items() if key not in ("started_s", "finished_s")}
    for name in ("started", "finished"):
        seconds = trial.get(f"{name}_s")
        if isinstance(seconds, int | float):
            upgraded[f"{name}_wall_ns"] = round(seconds * _NS)
    upgraded.setdefault("attempt", 1)
    upgraded["reasons"] = [_reason(text) for text in trial.get("reasons", [])]
    upgraded["levels"] = {
        name: level if isinstance(level, Mapping) else {"typed": level, "canonical": level}
        for name, level in trial.get("levels", {}).items()
    }
    upgraded["format"] = 1
    return upgraded


def _reason(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    code, _, detail = text.partition(": ")
    return {"code": code, "detail": detail}


def _header_0_to_1(header: Plain) -> Plain:
    upgraded = dict(header)
    command = header.get("command", "")
    upgraded["command"] = command.split() if isinstance(command, str) else command
    upgraded["format"] = 1
    return upgraded


_TRIAL_STEPS: tuple[Step, ...] = (_trial_0_to_1,)
_HEADER_STEPS: tuple[Step, ...] = (_header_0_to_1,)
