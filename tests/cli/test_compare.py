"""`pgassay compare`: pgbench's options make the load of the study."""

import argparse
from typing import Any

import pytest

from pgassay.cli import compare
from pgassay.cli.compare import document_of, with_full_names
from pgassay.cli.run import overrides
from pgassay.errors import UsageError
from pgassay.lab.run import write_study


def document(*words: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    compare.add_arguments(parser)
    return document_of(with_full_names(parser.parse_args(["work_mem=4MB", "work_mem=8MB", *words])))


def load_of(*words: str) -> dict[str, str]:
    load = document(*words)["load"]
    assert isinstance(load, dict)
    return load


def test_variables_may_be_repeated_and_own_data_be_named() -> None:
    load = load_of("-f", "own.sql", "-D", "rows=5", "-D", "days=7", "--init", "schema.sql")
    assert (load["variables"], load["init"], load["script"]) == ("rows=5\ndays=7", "schema.sql", "own.sql")
    assert not load_of().keys() & {"variables", "init"}
    assert load_of()["scale"] == "50"
    assert "scale" not in load, "tables of one's own have no scale"
    assert load_of("--init", "schema.sql", "-s", "7")["scale"] == "7", "the value of :scale, as asked"


def test_space_is_judged_along_with_latency() -> None:
    """A fillfactor whose database is 1.8 times as large had "nothing that speaks against it"."""
    parser = argparse.ArgumentParser()
    compare.add_arguments(parser)
    document = document_of(with_full_names(parser.parse_args(["table.fillfactor=100", "table.fillfactor=50"])))
    assert document["responses"]["secondary"] == ["latency_p99_ms", "database_bytes"]  # type: ignore[index]


@pytest.mark.parametrize("load", ["fio", "cacheprobe", "tpcc", "replay", "unknown"])
def test_no_response_is_asked_for_that_the_load_does_not_measure(load: str) -> None:
    """`compare --load fio --primary iops` refused latency_p99_ms, which nobody had named."""
    secondary = document("--load", load)["responses"]["secondary"]
    assert secondary == (["database_bytes"] if load in ("fio", "cacheprobe") else ["latency_p99_ms", "database_bytes"])


def counted(*words: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    compare.add_arguments(parser)
    arguments = with_full_names(parser.parse_args(["work_mem=4MB", "work_mem=8MB", "--count", *words]))
    return write_study("compare", document_of(arguments), overrides(arguments)).document


def test_a_count_is_of_transactions_by_one_client_and_settles_instructions() -> None:
    found = counted("-N")
    load = found["load"]
    assert load.keys().isdisjoint({"duration"})
    assert (load["count"], load["clients"], load["jobs"], load["script"]) == ("on", "1", "1", "simple-update")
    assert (int(load["transactions"]), load["scale"]) == (500, "5")
    assert found["responses"]["primary"] == "instructions_per_transaction"
    assert found["design"]["resolution"] == "0.2%"
    assert (
        counted("-t", "70", "-s", "2", "-c", "2")["load"].items()
        >= {"transactions": "70", "scale": "2", "clients": "2"}.items()
    )
    assert counted("--resolution", "1%")["design"]["resolution"] == "1%"
    assert counted("--primary", "wal_bytes_per_transaction")["responses"]["primary"] == "wal_bytes_per_transaction"
    assert document()["responses"]["primary"] == "tps"
    with pytest.raises(UsageError, match="transactions, not seconds"):
        counted("-T", "60")


def test_a_count_along_with_times_leaves_the_timed_study_as_it_is() -> None:
    parser = argparse.ArgumentParser()
    compare.add_arguments(parser)
    both, timed = (
        document_of(arguments) | {"fixed": arguments.set}
        for words in (["--count-also"], [])
        for arguments in [with_full_names(parser.parse_args(["work_mem=4MB", "work_mem=8MB", *words]))]
    )
    assert both == timed | {"fixed": ["load.count=also"]}


@pytest.mark.parametrize(
    ("words", "refused"),
    [(("--load", "sysbench"), 'the load "sysbench" cannot be counted'), (("--set", "load.duration=3s"), "not seconds")],
)
def test_what_has_no_instructions_to_count_is_refused_by_name(words: tuple[str, ...], refused: str) -> None:
    with pytest.raises(UsageError, match=refused):
        counted(*words)
