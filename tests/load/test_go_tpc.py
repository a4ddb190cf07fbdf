"""go-tpc's words, its command, and what becomes of a run that fails; verbatim output of a real run of 4 threads."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pgassay.bench.load import LoadResult
from pgassay.bench.places import Endpoint
from pgassay.bench.server import Server
from pgassay.errors import UsageError
from pgassay.load import go_tpc as module
from pgassay.load.go_tpc import GoTpcOptions
from pgassay.testing.fakes.clock import FakeClock
from pgassay.testing.fakes.runner import FakeRunner, Program
from pgassay.testing.fakes.server import FakeInstallation
from tests.load.loads import fake_tools, go_tpc
from tests.load.samples import FOLDER

SAID = (FOLDER / "gotpc_run_json.txt").read_text(encoding="utf-8")
OPTIONS = {"warehouses": "2", "threads": "4", "duration": "10s"}


def server(folder: Path) -> Server:
    installation = FakeInstallation()
    installation.initialize(folder / "data", {})
    return installation.start(folder / "data", {}, folder)


def played(folder: Path, program: Program, passed_s: float = 10.0) -> LoadResult:
    """A run of go-tpc that prints what `program` says, in `passed_s` of the fake clock."""
    clock = FakeClock()

    def timed(arguments: Sequence[str], given: str) -> tuple[int, str, str]:
        clock.advance(passed_s)
        return program(arguments, given)

    load = go_tpc(OPTIONS, fake_tools(FakeRunner({"go-tpc": timed}), clock))
    return load.run(server(folder), folder / "out", 1)


def test_the_socket_is_given_and_no_password() -> None:
    endpoint = Endpoint(Path("/tmp/pgassay-x y"), 54320, "postgres", "someone")
    said = module.run_command("go-tpc", endpoint, GoTpcOptions.from_levels(OPTIONS))
    assert "--targets=:54320" in said
    assert "--conn-params=host=%2Ftmp%2Fpgassay-x+y&sslmode=disable" in said
    assert {"--warehouses=2", "--threads=4", "--time=10s", "--output=json"} <= set(said)
    assert not any("password" in word for word in said)


def test_every_transaction_of_a_run(tmp_path: Path) -> None:
    result = played(tmp_path, lambda arguments, given: (0, SAID, ""))
    assert dict(result.problems) == {}
    assert result.transactions == 409 + 4433 + 388 + 4262 + 356
    found = result.responses
    assert found["new_order_tps"] == pytest.approx(26653.5 / 60)
    assert found["new_orders_per_minute"] == 26653.0
    assert found["delivery_latency_p90_ms"] == 12.6
    assert found["tps"] == pytest.approx((26653.5 + 25603.2 + 2465.8 + 2346.3 + 2144.0) / 60)
    assert found["latency_ms"] == pytest.approx(37889 / 9848, abs=0.01)
    assert found["failed_share"] == 0.0, "three were under way at the end, and four threads may each have one"
    assert next(sample.value for sample in result.series) == pytest.approx(52515.5 / 60, rel=1e-3)


def test_more_errors_than_threads_are_failures() -> None:
    said = module.parse(SAID.replace('"Count":"2"', '"Count":"500"'))
    assert module.count_failed(said.summary, 4) == 501 - 4


@pytest.mark.parametrize(
    ("status", "stdout", "stderr", "code", "detail"),
    [
        (0, "failed to ping db, err dial unix /x: connect: no such file\n", "", "aborted", "failed to ping db"),
        (2, "", "panic: runtime error: invalid memory address\n\ngoroutine 1", "aborted", "panic: runtime error"),
        (1, "", 'Error: unknown flag: --threds\nUsage:\n  go-tpc tpcc run', "aborted", "unknown flag"),
        (-11, "", "", "killed", "signal 11"),
        (0, SAID[: SAID.index("Finished")], "", "aborted", "stopped due to timeout"),
        (0, "", "", "aborted", "no message"),
        (0, '[{"Operation":"NEW_ORDER_ERR","Prefix":"[Summary] ","Count":"9"}]\n', "", "no_transactions", "no trans"),
    ],
)  # fmt: skip
def test_a_run_that_fails_says_why(
    tmp_path: Path, status: int, stdout: str, stderr: str, code: str, detail: str
) -> None:
    result = played(tmp_path, lambda arguments, given: (status, stdout, stderr))
    assert list(result.problems) == [code]
    assert detail in result.problems[code]
    assert result.responses["tps"] is None


def test_a_run_that_ends_early_is_short(tmp_path: Path) -> None:
    assert "short" in played(tmp_path, lambda arguments, given: (0, SAID, ""), passed_s=4.0).problems


def test_garbage_between_the_lines_is_passed_over() -> None:
    said = module.parse('[{"Count"\n[1, 2]\n[{"Prefix":"[Summary] ","Operation":"PAYMENT","Count":"x"}]\n{}\n')
    assert said.summary == (module.Operation("PAYMENT", False, 0, 0.0, 0.0, 0.0),)


@pytest.mark.parametrize("levels", [{"threads": "0"}, {"warehouses": "few"}, {"duration": "1.5s"}])
def test_wrong_options_are_named(levels: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=next(iter(levels))):
        GoTpcOptions.from_levels(levels)
