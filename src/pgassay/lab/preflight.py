"""What is refused before anything runs: unknown responses, settings PostgreSQL refuses, loads that cannot run, too
little disk.

Every arm is looked at, so that a study never fails in its third hour for what could be known in its first second.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.bench.places import Mount
from pgassay.bench.store import Drive
from pgassay.lab import fairness, hosting, messages, page_space, space, stored_kinds, upkeep
from pgassay.lab.composition import Composition, compose
from pgassay.lab.drives import drive_of, needs_of
from pgassay.lab.loads import driver_of, load_of
from pgassay.lab.site import Site
from pgassay.lab.starting import require_connections, settings_of
from pgassay.load import drivers, yardstick
from pgassay.probe.costs import RESPONSES as COSTS
from pgassay.study.model import Study
from pgassay.study.responses import Response


@dataclass(frozen=True)
class Checked:
    """What the checks learned: the declared responses, the room that is needed, and on which file system."""

    responses: tuple[Response, ...]
    needed_bytes: int
    mount: Mount
    snapshots: int


def check(study: Study, site: Site) -> Checked:
    """Raise `PgassayError` for the first thing that would fail; no server is started (one may have to be built)."""
    fairness.check(study)
    compositions = [compose(study.levels_of(arm), site.catalogue) for arm in study.arms]
    for composition in compositions:
        drivers.refuse_foreign(driver_of(composition), [each.name for each in composition.bound])
        site.require_program(driver_of(composition))
    options = [composition.setup.load for composition in compositions]
    asked = (*upkeep.responses(options), *page_space.responses(options), *stored_kinds.responses(options))
    responses = (*_responses(compositions[0], site), *asked)
    known = [response.name for response in responses]
    for name in (study.primary, *study.secondary):
        if name not in known:
            raise messages.unknown_response(name, known)
    for composition in compositions:
        hosting.require(study, composition, site)
        load_of(composition, site).check(composition.setup.load)
        require_connections(composition)
    _check_settings(study, compositions, site)

    def drive(composition: Composition) -> Drive:
        return drive_of(study, composition, site)

    needed, snapshots = space.require(
        compositions, site, drive, needs_of(study, compositions[0].setup.drive, site).wal_least_bytes
    )
    return Checked(responses, needed, drive(compositions[0]).mount(), snapshots)


def _responses(composition: Composition, site: Site) -> tuple[Response, ...]:
    asked = (yardstick.RESPONSE,) if composition.setup.load.get("yardstick", "none") != "none" else ()
    return (*load_of(composition, site).responses, *asked, *COSTS)


def _check_settings(study: Study, compositions: list[Composition], site: Site) -> None:
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for composition in compositions:
        installation = site.installation(composition.setup.installation)
        settings: Mapping[str, str] = settings_of(study, composition)
        mark = (str(installation.bindir), tuple(sorted(settings.items())))
        if mark not in seen:
            seen.add(mark)
            installation.check_settings(settings)
