"""Which drives a composition asks for, sized for the whole study: each arm gets the same ones.

A drive that is sized by one arm's own data would give a low fillfactor more spare flash to waste than a high one.
"""

from collections.abc import Mapping

from pgassay.bench.store import Drive, Needs
from pgassay.errors import UsageError
from pgassay.lab.composition import Composition, compose, snapshot_key
from pgassay.lab.loads import load_of
from pgassay.lab.site import Site
from pgassay.lab.space import WAL_BYTES, data_bytes
from pgassay.lab.starting import PREPARING, settings_of
from pgassay.study.model import Study
from pgassay.study.units import parse_memory

_WAL_SLACK = 1.25
"""max_wal_size is no hard limit: WAL of checkpoints that are late lies there too (manual, "WAL Configuration")."""
_WAL_SPARE_BYTES = 64 << 20


def drive_of(study: Study, composition: Composition, site: Site) -> Drive:
    """The drives of one arm, as one."""
    wanted = composition.setup.drive
    return site.drive(wanted, needs_of(study, wanted, site) if wanted else Needs())


def needs_of(study: Study, wanted: Mapping[str, str], site: Site) -> Needs:
    """The largest data of any arm of the study, and the snapshots of those arms that share the drives `wanted`."""
    largest, kept = 0, dict[str, int]()
    wal_sizes = [parse_memory(PREPARING["max_wal_size"])]
    for arm in study.arms:
        composition = compose(study.levels_of(arm), site.catalogue)
        load, installation = load_of(composition, site), site.installation(composition.setup.installation)
        size = data_bytes(composition, load)
        largest = max(largest, size)
        wal_sizes.append(_wal_size(settings_of(study, composition).get("max_wal_size")))
        if composition.setup.drive == wanted:
            kept[snapshot_key(composition, installation, load)] = size
    least = min(WAL_BYTES, int(max(wal_sizes) * _WAL_SLACK) + _WAL_SPARE_BYTES)
    return Needs(largest, WAL_BYTES, len(kept), sum(kept.values()), least)


def _wal_size(setting: str | None) -> int:
    """Bytes of max_wal_size; what is ample where it is left to the server or has no unit."""
    try:
        return parse_memory(setting) if setting else WAL_BYTES
    except UsageError:
        return WAL_BYTES
