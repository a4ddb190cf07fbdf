"""Several servers on the command line: each has a name, and the names are the levels."""

import argparse
from collections.abc import Sequence
from typing import Any

import pytest

from pgassay.cli.compare import add_arguments, document_of, with_full_names
from pgassay.cli.run import bench_options, servers_of
from pgassay.errors import UsageError


def given(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return with_full_names(parser.parse_args([*words]))


def document(*words: str) -> dict[str, Any]:
    return document_of(given(*words))


@pytest.mark.parametrize(
    ("texts", "servers"),
    [
        ([], {}),
        (["host=a dbname=b"], {"": ["host=a dbname=b"]}),
        (["A=host=a port=1", "B=postgresql://me@b/app"], {"A": ["host=a port=1"], "B": ["postgresql://me@b/app"]}),
        (
            ["A=host=a,host=b", "B=service=c,postgres://d"],
            {"A": ["host=a", "host=b"], "B": ["service=c", "postgres://d"]},
        ),
    ],
)
def test_a_server_alone_needs_no_name_and_several_have_one(texts: Sequence[str], servers: dict[str, list[str]]) -> None:
    assert servers_of(texts) == servers


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([""], "--server names no server"),
        (["host=a", "host=b"], "several servers need a name each"),
        (["A=host=a", "postgresql://b"], "several servers need a name each"),
        (["A=host=a", "A=host=b"], '--server names "A" twice'),
        (["A=host=a,host=b", "B=host=c"], "more servers of one kind than of another"),
    ],
)
def test_what_names_no_servers_is_refused(texts: Sequence[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        servers_of(texts)


def test_the_servers_are_the_levels_and_the_first_is_the_baseline() -> None:
    found = document("--server", "A=host=a", "--server", "B=host=b", "-S")
    assert found["factors"] == {"postgres.server": ["A", "B"]}
    assert "hosts" not in found["design"]
    crossed = document("work_mem=4MB", "work_mem=8MB", "--server", "A=host=a", "--server", "B=host=b")
    assert list(crossed["factors"]) == ["postgres.server", "server.work_mem"]


def test_no_verdict_before_enough_sets_of_servers_gave_blocks() -> None:
    found = document("--server", "A=host=a,host=b,host=c,host=d", "--server", "B=host=e,host=f,host=g,host=h")
    assert found["design"]["hosts"] == 3


def test_nothing_at_all_is_no_comparison() -> None:
    with pytest.raises(UsageError, match="nothing is compared"):
        document()


def test_a_restart_command_is_about_one_server() -> None:
    words = ("--server", "A=host=a", "--server", "B=host=b", "--i-own", "--restart-command", "/bin/true")
    with pytest.raises(UsageError, match="--restart-command restarts one server"):
        bench_options(given(*words))
