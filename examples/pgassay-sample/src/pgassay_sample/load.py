"""The load `batches`: one connection appends rows to a table, so many in each transaction.

It needs no program beside PostgreSQL: the statements go over the connection that pgassay keeps to its server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.factor import Stage
from pgassay.interfaces.kinds import whole
from pgassay.interfaces.load import BaseLoad, Driver, LoadOptions, LoadResult
from pgassay.interfaces.options import option, rows_of
from pgassay.interfaces.probe import Sample
from pgassay.interfaces.server import Server
from pgassay.study.responses import Better, Response
from pgassay.study.scale_model import ModelSize

TABLE = "sample_rows"
ROW_BYTES = 100
RESPONSES = (
    Response("tps", "transactions per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
)


@dataclass(frozen=True, kw_only=True)
class BatchOptions(LoadOptions):
    """What `batches` is asked; the options that every load has come along."""

    driver = "batches"

    rows: int = option(
        whole(),
        default=10_000,
        summary="rows that are there at the start",
        stage=Stage.DATA,
        read_back=rows_of(TABLE),
        size=ModelSize(data="row"),
    )
    batch: int = option(whole(), default=100, summary="rows that a transaction appends")

    def estimated_bytes(self) -> int:
        """The rows with their headers, and the empty cluster."""
        return super().estimated_bytes() + self.rows * 2 * ROW_BYTES


class BatchLoad(BaseLoad[BatchOptions]):
    """Appends batches until the time is up."""

    responses = RESPONSES

    def data_key(self) -> Mapping[str, str]:
        """The rows at the start."""
        return {"rows": str(self.options.rows)}

    def create(self, server: Server) -> None:
        """One table."""
        server.execute(f"CREATE TABLE {TABLE} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, filler text)")

    def fill(self, server: Server) -> None:
        """The rows at the start."""
        server.execute(_insert(self.options.rows))
        server.execute(f"VACUUM (ANALYZE) {TABLE}")

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        """One batch after the other; what the server answers to a failed one becomes a problem of the result."""
        clock, length_s = self.tools.clock, self.options.duration_s or 60
        began = clock.monotonic_ns(), clock.wall_ns()
        end_ns = began[0] + length_s * 10**9
        insert, problems = _insert(self.options.batch), dict[str, str]()
        each_second: list[int] = []
        while (now_ns := clock.monotonic_ns()) < end_ns and not problems:
            try:
                server.execute(insert)
            except BenchError as error:
                problems["aborted"] = error.message
                break
            second = (now_ns - began[0]) // 10**9
            each_second += [0] * (second + 1 - len(each_second))
            each_second[second] += 1
        ended = clock.monotonic_ns(), clock.wall_ns()
        done, elapsed_s = sum(each_second), (ended[0] - began[0]) / 1e9
        output.mkdir(parents=True, exist_ok=True)
        (output / "batches.out").write_text("".join(f"{count}\n" for count in each_second), encoding="utf-8")
        return LoadResult(
            status=1 if problems else 0,
            began=began,
            ended=ended,
            transactions=done,
            responses={
                "tps": done / elapsed_s if done else None,
                "latency_ms": elapsed_s * 1e3 / done if done else None,
            },
            series=tuple(
                Sample(began[0] + second * 10**9, began[1] + second * 10**9, self.name, "tps", "1/s", float(count))
                for second, count in enumerate(each_second)
            ),
            problems=problems,
            read_back={"load.batch": str(self.options.batch)},
        )


def _insert(rows: int) -> str:
    return f"INSERT INTO {TABLE} (filler) SELECT repeat('x', {ROW_BYTES}) FROM generate_series(1, {rows})"


DRIVER = Driver(BatchOptions, BatchLoad, "one connection that appends rows in batches")
