"""Work in Python over all cores of a host: in order, in processes of its own, in batches that leave no host idle."""

import os

import pytest

from pgassay.fleet import cores
from pgassay.fleet.spread import batch_size


def test_each_core_has_a_process_and_results_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "cores", lambda: 2)
    process, *others = cores.each(os.path.realpath, ["/proc/self", "/3", "/1", "/2"])
    assert process not in ("/proc/self", f"/proc/{os.getpid()}")
    assert others == ["/3", "/1", "/2"]


def test_one_core_or_one_piece_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    here = f"/proc/{os.getpid()}"
    monkeypatch.setattr(cores, "cores", lambda: 1)
    assert cores.each(os.path.realpath, ["/proc/self", "/proc/self"]) == [here, here]
    monkeypatch.setattr(cores, "cores", lambda: 8)
    assert cores.each(os.path.realpath, ["/proc/self"]) == [here]
    nothing: list[str] = []
    assert cores.each(os.path.realpath, nothing) == nothing


@pytest.mark.parametrize(
    ("pieces", "hosts", "least", "size"),
    [
        (28, 2, 1, 1),  # no processes to start
        (1200, 4, 8, 75),  # four batches a host
        (10, 4, 8, 8),  # no core of a host without work
    ],
)
def test_batches(pieces: int, hosts: int, least: int, size: int) -> None:
    assert batch_size(pieces, hosts, least) == size
