"""The bench of a worker, for one block: `python -m pgassay.fleet.child WORKER HOST PLACE`, a job on standard input.

A process of its own, because a bench needs the main thread: its signals end it cleanly. The kernel tells it when its
worker dies (prctl(2), PR_SET_PDEATHSIG), and then it stops its servers and gives back what it holds.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from pgassay.errors import PgassayError
from pgassay.fleet import FleetError, parcels
from pgassay.fleet.blocks import Bench, HostedBlock, Job, files_laid_out
from pgassay.fleet.worker import BINDIR_VARIABLE
from pgassay.lab.arms import ResolvedStudy, resolve
from pgassay.lab.preflight import check
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.record.disk import RealDisk
from pgassay.study import document as documents
from pgassay.study.parsing import parse_recorded

PR_SET_PDEATHSIG = 1


def main(words: list[str]) -> int:
    """Run the block and leave it in PLACE/block; 2 for what the bench refused, said on standard error."""
    parent, host, place = int(words[0]), words[1], Path(words[2])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        return 1  # it died before we asked
    try:
        job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
        with bench_of(job.bench) as resolved:
            check(resolved)
            staging = place / "trials"
            staging.mkdir()
            came = HostedBlock(resolved, job.order, host, staging).run()
            with resolved.environment.held():
                parcels.write(RealDisk(), place / "block", came)
    except PgassayError as error:
        print(f"{error.message}{f' ({error.hint})' if error.hint else ''}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


@contextmanager
def bench_of(asked: Bench) -> Iterator[ResolvedStudy]:
    bindir = os.environ.get(BINDIR_VARIABLE)
    options = BenchOptions(
        Path(bindir) if bindir else None, allow_busy=asked.allow_busy, allow_volatile=asked.allow_volatile
    )
    with files_laid_out(asked.files) as own, Workbench(options) as bench:
        environment = replace(bench.environment(), files=own)
        document = documents.read(asked.study, asked.document)
        try:
            yield resolve(parse_recorded(asked.study, document, environment.catalogue), environment)
        except PgassayError as error:  # the user knows no copies
            raise FleetError(
                own.with_user_paths(error.message), error.hint and own.with_user_paths(error.hint)
            ) from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
