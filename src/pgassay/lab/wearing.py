"""Ageing drives before their first trial: the load runs once on a clone of the fresh snapshot while the drive records.

Inside the drive, writes are drawn from what was recorded until it has settled; the snapshot is kept anew (drives.md,
"Fresh and aged"). Nobody measures here, so the run's outcome is not looked at: a load that fails wears little.
"""

import shutil
from pathlib import Path

from pgassay.bench.store import Drive
from pgassay.lab.composition import Composition
from pgassay.lab.loads import load_of
from pgassay.lab.settling import settle
from pgassay.lab.site import Site
from pgassay.lab.starting import settings_of
from pgassay.study.model import Study

SEED = 0
"""Of the load: another one than any trial's."""


def wear(study: Study, composition: Composition, site: Site, drive: Drive, key: str) -> None:
    """Age the drives of this snapshot, if they are to be aged; one that could not be is forgotten."""
    ageing = drive.ageing()
    if ageing is None:
        return
    try:
        clone = drive.clone(key, f"wear-{key}")
        try:
            ageing.begin()
            _work(study, composition, site, clone)
        finally:
            with site.held():
                drive.discard(clone)
        with site.held():
            ageing.finish(key)
    except BaseException:
        with site.held():
            ageing.abandon()
            drive.forget_snapshot(key)
        raise


def _work(study: Study, composition: Composition, site: Site, clone: Path) -> None:
    installation = site.installation(composition.setup.installation)
    options = composition.setup.load
    output = site.socket_directory / "wearing"
    server = installation.start(clone, settings_of(study, composition), site.socket_directory)
    try:
        settle(server, options, clone, site.caches)
        output.mkdir()
        load_of(composition, site).run(server, {**options, "warmup": "0"}, output, SEED)
    finally:
        with site.held():
            server.stop()
            shutil.rmtree(output, ignore_errors=True)
