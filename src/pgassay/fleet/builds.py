"""PostgreSQL built on every host of a fleet at once, so that no block waits for a compiler; what is asked of hosts."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from distributed import Client, get_worker

from pgassay import scratch
from pgassay.fleet import messages, spread, task
from pgassay.lab.arms import setup_of
from pgassay.lab.catalogue import every_factor
from pgassay.postgres.builds.request import BuildRequest
from pgassay.study import document as documents
from pgassay.study.parsing import parse_recorded


@dataclass(frozen=True)
class Order:
    """The words of `pgassay postgres build` after these."""

    words: tuple[str, ...]


def levels_of(request: BuildRequest) -> dict[str, str]:
    """What a request asks for, as it travels: levels of `build.*`."""
    return {name: text for name, text in request.to_levels().items() if text}


def of_study(name: str, document: str) -> list[Mapping[str, str]]:
    """The builds that the treatments of a recorded study need, each once."""
    catalogue = every_factor()
    study = parse_recorded(name, documents.read(name, document), catalogue)
    found = dict.fromkeys(setup_of(study, arm, catalogue).build for arm in study.arms)
    return [levels_of(each) for each in found if each is not None]


def build_on(client: Client, words: Sequence[str]) -> Iterator[tuple[str, list[Path]]]:
    """Build on every host; yields each with the folders of its programs. Raises `FleetError`."""
    return spread.on_each(client, build, Order(tuple(words)))


def build(order: Order) -> list[Path]:
    """On a host: the command itself, as a process, since compilers are started from a main thread."""
    worker = get_worker()
    key = worker.get_current_task()
    with scratch.folder("build") as place:
        said, errors = place / "said", place / "errors"
        command = [sys.executable, "-m", "pgassay", "postgres", "build", *order.words]
        with said.open("wb") as out, errors.open("wb") as err:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            try:
                task.wait_for(child, lambda: task.is_wanted(worker, key))
            finally:
                task.end(child)
        if child.returncode != 0:
            told = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise messages.build_failed([line for line in told if line.startswith("pgassay: error:")] or told[-1:])
        return [Path(line) for line in said.read_text(encoding="utf-8").splitlines()]
