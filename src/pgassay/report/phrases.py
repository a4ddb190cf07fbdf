"""What responses are called in a sentence: a DBA says "p99 is 17 % lower", not "99th percentile of latency -17 %".

A response without an entry is called by its title, so that every response of every load has a sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.study.responses import Response


@dataclass(frozen=True)
class Phrase:
    """`name` stands in "no difference in …", `reason` in "decide by …"; then subject and ends of a sentence.

    `subject` may hold `{work}`, the unit of a load's work; `times` follows "2.25 times".
    """

    name: str
    reason: str
    subject: str
    more: str = "higher"
    less: str = "lower"
    times: str = "as high"
    unit: str = ""
    brief: str = ""
    """In a badge, where the name is too long for one."""

    @property
    def badge(self) -> str:
        """`+26 % space`: what stands behind the number."""
        return self.brief or self.name

    def sentence(self, amount: str, end: str, work: str) -> str:
        """`p99 is 17.2 % lower`."""
        return f"{self.subject.format(work=work)} {amount} {end}".strip()


_TIME = ("more time", "less time", "as long")
_SIZE = ("larger", "smaller", "as large")
_PHRASES: Mapping[str, Phrase] = {
    "tps": Phrase("throughput", "throughput", "throughput is", brief="speed"),
    "qps": Phrase("statements per second", "throughput", "the number of statements per second is"),
    "iops": Phrase("reads and writes per second", "throughput", "the number of reads and writes per second is"),
    "latency_ms": Phrase("mean latency", "latency", "mean latency is"),
    "latency_p50_ms": Phrase("median latency", "latency", "median latency is"),
    "latency_p95_ms": Phrase("p95 latency", "latency", "p95 is"),
    "latency_p99_ms": Phrase("p99 latency", "latency", "p99 is"),
    "latency_p999_ms": Phrase("p99.9 latency", "latency", "p99.9 is"),
    "latency_max_ms": Phrase("greatest latency", "latency", "the greatest latency is"),
    "database_bytes": Phrase("database size", "space", "the database is", *_SIZE, brief="space"),
    "table_bytes": Phrase("table size", "space", "the tables are", *_SIZE),
    "index_bytes": Phrase("index size", "space", "the indexes are", *_SIZE),
    "physical_bytes": Phrase(
        "space on flash", "space", "the flash holds", "more live bytes", "fewer live bytes", "as many live bytes"
    ),
    "wal_bytes_per_transaction": Phrase(
        "WAL", "WAL", "each {work} writes", "more WAL", "less WAL", "as much WAL"
    ),
    "server_cpu_us_per_transaction": Phrase(
        "server CPU", "CPU", "each {work} takes", "more server CPU", "less server CPU", "as much server CPU"
    ),
    "disk_written_bytes_per_transaction": Phrase(
        "bytes written to the device", "bytes written", "each {work} writes", "more to the device",
        "less to the device", "as much to the device",
    ),
    "nand_bytes_per_transaction": Phrase(
        "bytes that the flash programs", "wear of the flash", "for each {work} the flash programs", "more bytes",
        "fewer bytes", "as many bytes",
    ),
    "write_amplification": Phrase("write amplification", "wear of the flash", "write amplification is"),
    "idx1_trimmed_ms": Phrase("index probes before the scan", "probes", "index probes before the scan take", *_TIME),
    "idx2_trimmed_ms": Phrase("index probes after the scan", "probes", "index probes after the scan take", *_TIME),
    "idx2_slowdown": Phrase("what a scan does to index probes", "probes", "the slowdown of probes by the scan is"),
    "probes_ms": Phrase("index probes", "probes", "index probes on average take", *_TIME),
    "seq_ms": Phrase("sequential scan", "scans", "the sequential scan takes", *_TIME),
    "vacuum_ms": Phrase("time of VACUUM", "VACUUM", "VACUUM takes", *_TIME),
    "full_page_images_per_transaction": Phrase(
        "full-page images", "WAL", "each {work} writes", "more full-page images", "fewer full-page images",
        "as many full-page images",
    ),
    "hot_share": Phrase(
        "share of HOT updates", "HOT updates", "the share of HOT updates is", unit="points"
    ),
}  # fmt: skip


def of(response: Response) -> Phrase:
    """What a response is called in sentences."""
    found = _PHRASES.get(response.name)
    if found is not None:
        return found
    title = response.title.replace("{", "(").replace("}", ")")
    unit = {"share": "points", "count": "", "1": "", "ratio": "", "us": "µs"}.get(response.unit, response.unit)
    return Phrase(title, title, f"{title}:", unit=unit)
