"""What a worker of the tests runs instead of a bench: a machine of fakes."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from distributed import get_worker

from pgassay.fleet.blocks import Job
from pgassay.fleet.worker import HostError, Shipped, is_wanted
from tests.fleet.fleet_of_fakes import hosted

HANGS = "hangs"
"""Name of a file of which the worker hangs that is to die of any other; which it was is in `hangs.over` in the end."""

FAILS = "fails"
"""Of this one h1 can run no block."""


def work(job: bytes) -> Shipped:
    """Run a block on fakes; of a job whose document names a file the worker that can remove it in block 3 dies."""
    import os

    order = msgspec.json.decode(job, type=Job)
    if order.order.block == 3 and order.bench.document and Path(order.bench.document).exists():
        Path(order.bench.document).unlink()
        if Path(order.bench.document).name != HANGS:
            os._exit(9)
        worker = get_worker()
        key = worker.get_current_task()
        while is_wanted(worker, key):
            time.sleep(0.1)
        over = Path(order.bench.document).with_suffix(".name")
        over.write_text(str(worker.name), encoding="utf-8")
        over.rename(over.with_suffix(".over"))
        raise RuntimeError("nobody wants this block any more")
    if Path(order.bench.document).name == FAILS and get_worker().name == "h1":
        raise HostError("h1", "no space left on device")
    with TemporaryDirectory() as place:
        came = hosted(Path(place))(order.order, str(get_worker().name))
    return came.host, [(each.arm, each.attempt, each.sha256, each.data) for each in came.parcels]


def wait_for_enough(folder: str) -> None:
    """Say in a file of its own that it has begun, and wait for the file `enough`; h3, which is to be killed, longer."""
    name = str(get_worker().name)
    (Path(folder) / name).touch()
    while name == "h3" or not (Path(folder) / "enough").exists():
        time.sleep(0.1)
