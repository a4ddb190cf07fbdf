"""Which drives a composition asks for, sized for the whole study: each arm gets the same ones.

A drive that is sized by one arm's own data would give a low fillfactor more spare flash to waste than a high one.
"""

from collections.abc import Mapping

from pgassay.bench.store import Drive, Needs
from pgassay.lab.composition import Composition, compose, snapshot_key
from pgassay.lab.loads import load_of
from pgassay.lab.site import Site
from pgassay.lab.space import WAL_BYTES, data_bytes
from pgassay.study.model import Study


def drive_of(study: Study, composition: Composition, site: Site) -> Drive:
    """The drives of one arm, as one."""
    wanted = composition.setup.drive
    return site.drive(wanted, needs_of(study, wanted, site) if wanted else Needs())


def needs_of(study: Study, wanted: Mapping[str, str], site: Site) -> Needs:
    """The largest data of any arm of the study, and the snapshots of those arms that share the drives `wanted`."""
    largest, kept = 0, dict[str, int]()
    for arm in study.arms:
        composition = compose(study.levels_of(arm), site.catalogue)
        load, installation = load_of(composition, site), site.installation(composition.setup.installation)
        size = data_bytes(composition, load)
        largest = max(largest, size)
        if composition.setup.drive == wanted:
            kept[snapshot_key(composition, installation, load)] = size
    return Needs(largest, WAL_BYTES, len(kept), sum(kept.values()))
