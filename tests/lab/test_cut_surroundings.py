"""What the server under load had done at each cut, by looks before and after it: only what is certain counts."""

import time
from collections.abc import Sequence
from typing import Any, cast

import pytest

from pgassay.analysis.power_cuts import KINDS, ServerAtCut
from pgassay.interfaces.errors import QueryError
from pgassay.lab.power_cuts import Look, Surroundings, met_by
from pgassay.testing import real

SEGMENT = 1 << 24
STILL = dict.fromkeys(KINDS, 7)


def look(at: int, redo: int = 10, record: int = 20, *, recycled: bool = False, **modified: int | None) -> Look:
    return Look(redo, record, at, recycled, {**STILL, **modified})


BEGIN = look(30)


def test_a_cut_before_the_completion_record_is_within_the_checkpoint_and_one_later_is_after_it() -> None:
    around = [(look(40), look(45)), (look(60), look(65)), (look(90, 50, 80), look(95, 50, 80))]
    looks = [BEGIN, *(each for pair in around for each in pair)]
    found = [met and (met.checkpoints, met.in_checkpoint) for met in met_by(looks, around)]
    assert found == [(0, False), (0, True), (1, False)], "the checkpoint that began at 50 was whole at 80"


def test_a_checkpoint_that_ended_while_the_power_was_cut_or_never_was_seen_to_end_counts_for_neither_half() -> None:
    across, last = (look(60), look(90, 50, 80)), (look(120, 50, 80), look(125, 50, 80))
    looks = [BEGIN, *across, *last]
    assert [met and (met.checkpoints, met.in_checkpoint) for met in met_by(looks, [across, last])] == [
        (0, False), (1, False)
    ]  # fmt: skip


def test_the_checkpoint_before_the_load_is_none_of_its_own() -> None:
    around = [(look(40), look(45))]
    (met,) = met_by([BEGIN, *around[0]], around)
    assert met is not None
    assert met.checkpoints == 0


def test_files_that_changed_since_the_cut_before_were_written_to() -> None:
    early, late = look(40, heap=8, wal=8, maps=None), look(60, heap=8, wal=9, index=9, maps=9)
    # In the order of the looks, and not of the cuts' numbers.
    around = [(late, look(65)), (early, look(45))]
    looks = [BEGIN, early, around[1][1], late, around[0][1]]
    assert [met and met.written for met in met_by(looks, around)] == [("index", "wal", "maps"), ("heap", "wal")]


def test_a_server_that_could_not_be_asked_leaves_nothing_recorded() -> None:
    around = [(None, look(45)), (look(40), None), (look(50), look(55))]
    looks = [BEGIN, look(45), around[1][0], *around[2]]
    found = met_by([each for each in looks if each], around)
    assert [met is None for met in found] == [True, True, False]
    assert list(met_by([], around)) == [None] * 3


class Server:
    """Answers a look with what it is given."""

    def __init__(self, *answers: Sequence[Any] | Exception) -> None:
        self.answers = list(answers)

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [tuple(answer)]


def header(address: int) -> bytes:
    return bytes(8) + address.to_bytes(8, "little")


@pytest.mark.parametrize(
    ("last_page", "recycled"),
    [
        (header(SEGMENT - 8192), True),
        (header(0), False),
        (header(4 * SEGMENT - 8192), False),
        (None, False),
    ],
)
def test_a_segment_whose_last_page_has_an_older_address_is_recycled(last_page: bytes | None, recycled: bool) -> None:
    server = Server((10, 20, 3 * SEGMENT + 5, SEGMENT, last_page, *[7] * len(KINDS)))
    found = Surroundings(cast("Any", server)).look()
    assert found is not None
    assert found.recycled_wal is recycled
    assert found.modified == STILL


def test_rows_are_read_again_from_before_the_checkpoint_before_the_last_one() -> None:
    answers = [(redo, redo + 1, redo + 5, SEGMENT, None, *[7] * len(KINDS)) for redo in (10, 10, 50, 90)]
    surroundings = Surroundings(cast("Any", Server(*answers, QueryError("it is gone"))))
    found = [surroundings.look() for _ in range(5)]
    assert [surroundings.redo_before(each) for each in found if each] == [None, None, 10, 50]
    assert found[-1] is None


@pytest.mark.system
def test_a_real_server_says_what_it_has_done() -> None:
    with real.private_folder() as folder:
        installation = real.installation()
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"autovacuum": "off"}, folder / "socket")
        try:
            server.execute("CREATE TABLE t (n int PRIMARY KEY) WITH (fillfactor = 10)")
            surroundings = Surroundings(server)
            begin = surroundings.look()
            time.sleep(1.1)  # files have their times in whole seconds
            server.execute("INSERT INTO t SELECT generate_series(1, 10000)")
            server.execute("VACUUM t")
            server.execute("CHECKPOINT")
            around = (surroundings.look(), surroundings.look())
            (met,) = surroundings.met([around])
        finally:
            server.stop(immediately=True)
    assert begin is not None
    assert met == ServerAtCut(1, in_checkpoint=False, recycled_wal=False, written=tuple(KINDS))
