"""Configurations that are refused before any trial: PostgreSQL knows no such value, or the study's rules say no.

One of them must not end a search of hours: it is found, kept with its reason in the advice's folder, and counts as
failed, so that an advice that is gone on with decides the same without asking again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgassay import untrusted
from pgassay.advise.elimination import Compared
from pgassay.advise.space import Configuration
from pgassay.analysis.effects import Effect
from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.bench.errors import SettingError
from pgassay.errors import UsageError
from pgassay.study.responses import Scale

FILE = "refused.json"
OURS = (UsageError, SettingError)
"""What is said of a configuration; a busy machine or a full disk is no fault of any."""
Check = Callable[[Sequence[Configuration]], None]
"""Raises what a study of these configurations would be refused with."""


@dataclass(frozen=True)
class Refused:
    """A configuration and why no server was started with it."""

    configuration: Configuration
    why: str


def known(folder: Path) -> Mapping[Configuration, str]:
    """What was refused in this folder so far."""
    path = folder / FILE
    if not path.exists():
        return {}
    return {each.configuration: each.why for each in untrusted.json(untrusted.read_bytes(path), list[Refused])}


def keep(folder: Path, refused: Mapping[Configuration, str]) -> None:
    """Add to it what was found now."""
    found = [Refused(each, why) for each, why in {**known(folder), **refused}.items()]
    (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))


def found_by(check: Check, start: Configuration, configurations: Sequence[Configuration]) -> dict[Configuration, str]:
    """Those of a study that was refused that are refused beside the start, too, with the reason.

    None where all of several are refused in the same words: then it is not they that are refused.
    """
    found: dict[Configuration, str] = {}
    others = [each for each in dict.fromkeys(configurations) if each != start]
    for each in others:
        try:
            check([start, each])
        except OURS as error:
            found[each] = str(error)
    alike = len(others) > 1 and len(found) == len(others) and len(set(found.values())) == 1
    return {} if alike else found


def failed(objective: str, why: str) -> Compared:
    """What is known of a refused configuration against any other: it fails."""
    effect = Effect("", "", "", objective, Scale.RATIO, 0, float("nan"), 0.0, float("inf"), 0.95, True, "", (why,))
    return Compared(effect, Verdict(Kind.FAILED, why))
