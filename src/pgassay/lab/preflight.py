"""What is refused before anything runs: unknown responses, settings PostgreSQL refuses, loads that cannot run, too
little disk.

Every arm is looked at, so that a study never fails in its third hour for what could be known in its first second.
"""

from dataclasses import dataclass

from pgassay.bench.places import Mount
from pgassay.lab import fairness, hosting, messages, page_space, space, stored_kinds, upkeep
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.starting import require_connections
from pgassay.load import drivers, yardstick
from pgassay.probe.registry import every_probe
from pgassay.study.responses import Response


@dataclass(frozen=True)
class Checked:
    """What the checks learned: the declared responses, the room that is needed, and on which file system."""

    responses: tuple[Response, ...]
    needed_bytes: int
    mount: Mount
    snapshots: int


def check(resolved: ResolvedStudy) -> Checked:
    """Raise `PgassayError` for the first thing that would fail; no server is started (one may have to be built)."""
    study, arms = resolved.study, resolved.arms
    fairness.check(study)
    for arm in arms:
        drivers.refuse_foreign(arm.driver, [each.name for each in arm.bound])
        resolved.site.require_program(arm.driver)
    responses = _responses(resolved)
    known = [response.name for response in responses]
    for name in (study.primary, *study.secondary):
        if name not in known:
            raise messages.unknown_response(name, known)
    for arm in arms:
        hosting.require(arm)
        arm.load.check(arm.setup.load)
        require_connections(arm.setup)
    _check_settings(resolved)
    needed, snapshots = space.require(resolved)
    return Checked(responses, needed, arms[0].drive.mount(), snapshots)


def _responses(resolved: ResolvedStudy) -> tuple[Response, ...]:
    """All that this study's trials yield."""
    first = resolved.arms[0]
    options = [arm.setup.load for arm in resolved.arms]
    measured = (yardstick.RESPONSE,) if first.setup.load.get("yardstick", "none") != "none" else ()
    asked = (*upkeep.responses(options), *page_space.responses(options), *stored_kinds.responses(options))
    return (*first.load.responses, *measured, *every_probe().responses, *asked)


def _check_settings(resolved: ResolvedStudy) -> None:
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for arm in resolved.arms:
        mark = (str(arm.installation.bindir), tuple(sorted(arm.settings.items())))
        if mark not in seen:
            seen.add(mark)
            arm.installation.check_settings(arm.settings)
