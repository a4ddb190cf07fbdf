"""What a worker of the tests runs instead of a bench: a machine of fakes."""

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from distributed import get_worker

from pgassay.fleet.job import Job
from pgassay.fleet.task import Shipped
from tests.fleet.fleet_of_fakes import hosted

KILLS = "kills"
"""Of the study's name: the first worker that begins block 3 dies, once for each file of this name."""


def work(job: bytes) -> Shipped:
    """Run a block on fakes; a job whose document names a file makes the worker die if it can remove that file."""
    import os

    order = msgspec.json.decode(job, type=Job)
    if order.block == 3 and order.document and Path(order.document).exists():
        Path(order.document).unlink()
        os._exit(9)
    with TemporaryDirectory() as place:
        came = hosted(Path(place))(order.order, str(get_worker().name))
    return came.host, [(each.arm, each.attempt, each.sha256, each.data) for each in came.parcels]
