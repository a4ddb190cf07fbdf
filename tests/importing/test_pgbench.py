"""pgbench's outputs of other versions than those that the load runs: 9.0 to 12, with -r, and aborted."""

import pytest

from pgassay.importing.pgbench import read_outputs
from pgassay.importing.reader import ForeignRun, Reading

OLD = (
    "starting vacuum...end.\ntransaction type: TPC-B (sort of)\nscaling factor: 10\nquery mode: simple\n"
    "number of clients: 4\nnumber of threads: 1\nnumber of transactions per client: 1000\n"
    "number of transactions actually processed: 4000/4000\ntps = 439.8 (including connections establishing)\n"
    "tps = 440.5 (excluding connections establishing)\n"
)
STATEMENTS = (
    "statement latencies in milliseconds:\n\t0.002001\t\\set nbranches 1 * :scale\n"
    "\t0.456\tUPDATE t SET a = 'number of clients: 7' -- tps = 3.0 (including connections establishing)\n"
    "\t1.5\tSELECT 'Client 1 aborted'\n"
)
NEW = (
    "pgbench (18.1)\nstarting vacuum...end.\ntransaction type: multiple scripts\nscaling factor: 10\n"
    "query mode: simple\nnumber of clients: 4\nnumber of threads: 1\nmaximum number of tries: 1\nduration: 10 s\n"
    "number of transactions actually processed: 4000\nnumber of failed transactions: 0 (0.000%)\n"
    "latency average = 91.057 ms\ninitial connection time = 82.138 ms\n"
    "tps = 440.5 (without initial connection time)\n"
    "SQL script 1: <builtin: TPC-B (sort of)>\n - weight: 1 (targets 50.0% of total)\n"
    " - number of transactions actually processed: 2000 (tps = 200.1)\n - latency average = 1.0 ms\n"
    " - statement latencies in milliseconds and failures:\n         0.567           0  BEGIN;\n"
    "SQL script 2: other.sql\n - weight: 1 (targets 50.0% of total)\n"
    " - number of transactions actually processed: 2000 (tps = 200.1)\n"
    " - statement latencies in milliseconds and failures:\n         0.567           0  SELECT 'Run was aborted';\n"
)


def runs(text: str) -> tuple[ForeignRun, ...]:
    reading = read_outputs("out.txt", text)
    assert isinstance(reading, Reading), reading
    return reading.runs


@pytest.mark.parametrize(
    "text",
    [
        OLD,
        OLD + STATEMENTS,
        OLD.replace("4000/4000\n", "4000/4000\nlatency average: 0.000 ms\n") + STATEMENTS,
        NEW,
    ],
    ids=["9.0", "9.0 -r", "9.4 -r", "18 -r"],
)
def test_a_whole_run_is_one_value_also_after_another(text: str) -> None:
    for times in (1, 2):
        found = runs(text * times)
        assert [(run.responses["tps"], run.fields["clients"], run.problems) for run in found] == [
            (440.5, "4", ())
        ] * times


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Client 2 aborted in state 8: ERROR:  deadlock detected\n" + OLD,
            "Client 2 aborted in state 8: ERROR:  deadlo",
        ),
        ("client 2 aborted in command 4 (SQL) of script 0; ERROR:  x\n" + OLD, "client 2 aborted in command 4"),
        (OLD + "Run was aborted; the above results are incomplete.\n", "Run was aborted"),
        (OLD.replace("4000/", "3100/"), "ran 3100 of 4000 transactions"),
        (OLD.replace("4000/", "3100/") + STATEMENTS, "ran 3100 of 4000 transactions"),
    ],
    ids=["9", "12", "11", "no stderr", "no stderr -r"],
)
def test_an_aborted_run_of_any_version_is_no_value(text: str, said: str) -> None:
    """pgbench prints tps all the same; before 12 it does not name itself, and a pipe may have lost stderr."""
    ((problem,),) = (run.problems for run in runs(text))
    assert problem.code == "aborted"
    assert problem.detail.startswith(said)
