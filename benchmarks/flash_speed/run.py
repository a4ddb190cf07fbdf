"""How fast the flash model is: against a minimal C++ loop of the same algorithm, and against what memory allows.

Both sides are programs that write on demand; slices alternate between them, and the ratio is that of each pair, so that
a busy machine slows both; time is the thread's own, and making the addresses is not counted.

`accesses` divides the time of a host write by (1 + write amplification) times the time of one prefetched random
read-modify-write: the host's write to the map, and a look at the map (and a write to it) for each page that collection
passes. The read-modify-writes go to a table as large as both of the drive's tables, on huge pages, and are measured in
turn with the drive. How far ahead they are prefetched is what makes them fastest at that footprint: each distance is
tried first, in turn with the others. So the yardstick knows nothing but memory; no access of the drive's is as free of
other work between prefetch and use.

`large` ages a page-mapped drive of 4 TB by theory, then writes 150 million blocks: is WA theory's from the start, how
much memory does it take at its peak, and how long.

usage: python -m benchmarks.flash_speed.run [reference|accesses|compressing|memory|large ...] [--gib N ...] [--slices N]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES_PER_BLOCK = 256
OVER_PROVISIONING = (0.07, 0.28)
DISTANCES = (8, 16, 32, 64, 96, 128)


class Side:
    """A program that does so much work for each line it is sent."""

    def __init__(self, command: list[str], suffix: str = "") -> None:
        self.suffix = suffix
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._line() != "ready":
            raise SystemExit(f"{command[0]} did not start")

    def slice(self, count: int) -> tuple[float, float]:
        """Nanoseconds for each, and write amplification."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}{self.suffix}\n")
        self._process.stdin.flush()
        seconds, amplification = self._line().split()
        return float(seconds) / count * 1e9, float(amplification)

    def memory_bytes(self, line: str) -> int:
        """Memory that the program holds now (VmRSS), or held at most (VmHWM)."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(row.split()[1]) * 1024 for row in status.splitlines() if row.startswith(line))

    def processor_seconds(self) -> float:
        """The processor time that the program has used."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@dataclass(frozen=True)
class Programs:
    """The two programs, built."""

    reference: str
    model: str

    def yardstick(self, gib: int, over_provisioning: float) -> Side:
        """The C++ loop in steady state."""
        return Side([self.reference, str(gib), str(PAGES_PER_BLOCK), str(over_provisioning)])

    def ours(self, gib: int, over_provisioning: float, kind: str = "page-mapped", ageing: str = "overwrite") -> Side:
        """The model in steady state."""
        return Side([self.model, kind, str(gib), str(PAGES_PER_BLOCK), str(over_provisioning), ageing])

    def rmw(self, gib: int, ahead: int) -> Side:
        """Random read-modify-writes, prefetched so many ahead."""
        return Side([self.reference, str(gib), "rmw"], f" {ahead}")


def build(folder: Path) -> Programs:
    """Compile both as well as their compilers can; the model for any processor, as it is shipped."""
    reference = folder / "reference"
    source = ROOT / "benchmarks" / "flash_speed" / "reference.cpp"
    subprocess.run(["g++", "-O3", "-march=native", "-std=c++17", "-o", reference, source], check=True)
    cargo = ["cargo", "build", "--quiet", "--release", "--package", "pgassay-flash", "--example", "slices"]
    subprocess.run([*cargo, "--target-dir", str(folder / "target")], check=True, cwd=ROOT)
    return Programs(str(reference), str(folder / "target" / "release" / "examples" / "slices"))


def interleaved(first: Side, second: Side, count: int, slices: int) -> tuple[list[tuple[float, float]], ...]:
    """Slices of both in turn, the one that begins changing from pair to pair; a first pair is thrown away."""
    rows: tuple[list[tuple[float, float]], ...] = ([], [])
    for number in range(slices + 1):
        order = (0, 1) if number % 2 else (1, 0)
        pair = {index: (first, second)[index].slice(count) for index in order}
        if number:
            rows[0].append(pair[0])
            rows[1].append(pair[1])
    first.close()
    second.close()
    return rows


def spread(values: list[float]) -> str:
    """Median and range."""
    return f"{statistics.median(values):6.3f}  ({min(values):.3f} … {max(values):.3f})"


def versus_reference(programs: Programs, sizes: list[int], slices: int) -> None:
    """Speed of the model over that of the C++ loop."""
    print("model / C++ loop, same algorithm (aim: at least 0.8)")
    for gib in sizes:
        for ratio in OVER_PROVISIONING:
            ours, theirs = programs.ours(gib, ratio), programs.yardstick(gib, ratio)
            a, b = interleaved(ours, theirs, 2_000_000, slices)
            speeds = [y[0] / x[0] for x, y in zip(a, b, strict=True)]
            best = 1e3 / min(x[0] for x in a)
            wa = f"WA {statistics.mean(x[1] for x in a):.3f} and {statistics.mean(y[1] for y in b):.3f}"
            print(
                f"  {gib:5} GiB  OP {ratio:4.0%}  {spread(speeds)}   best {best:.1f} M host writes/s   {wa}", flush=True
            )


def versus_page_mapped(programs: Programs, sizes: list[int], slices: int) -> None:
    """Speed of a compressing drive over that of a page-mapped one that keeps as many live blocks busy."""
    print("compressing / page-mapped (aim: at least 0.5)")
    for gib in sizes:
        for ratio in OVER_PROVISIONING:
            for size in (4032, 2048):
                ours, other = programs.ours(gib, ratio, kind=str(size)), programs.ours(gib, ratio)
                # Long enough that to fill the cache anew, which the other has had meanwhile, is little of a slice.
                a, b = interleaved(ours, other, 4_000_000, slices)
                speeds = [y[0] / x[0] for x, y in zip(a, b, strict=True)]
                extents = [y[0] / y[1] / (x[0] / (x[1] * 4096 / size)) for x, y in zip(a, b, strict=True)]
                wa = f"WA {statistics.mean(x[1] for x in a):.3f} and {statistics.mean(y[1] for y in b):.3f}"
                place = f"  {gib:5} GiB  OP {ratio:4.0%}  {size} B"
                print(f"{place}  {spread(speeds)}   a block programmed {spread(extents)}  {wa}", flush=True)


def best_distance(programs: Programs, gib: int) -> int:
    """How far ahead random read-modify-writes are best prefetched at this footprint."""
    memory = programs.rmw(gib, 0)
    times: dict[int, list[float]] = {ahead: [] for ahead in DISTANCES}
    for _ in range(9):
        for ahead in DISTANCES:
            memory.suffix = f" {ahead}"
            times[ahead].append(memory.slice(1_000_000)[0])
    memory.close()
    return min(DISTANCES, key=lambda ahead: statistics.median(times[ahead]))


def versus_memory(programs: Programs, sizes: list[int], slices: int) -> None:
    """Time of a host write over that of the memory accesses it needs."""
    print("host write / ((1 + WA) × random read-modify-write, prefetched as far ahead as is best) (aim: at most 1.5)")
    for gib in sizes:
        ahead = best_distance(programs, gib)
        for ratio in OVER_PROVISIONING:
            ours, memory = programs.ours(gib, ratio, ageing="theory"), programs.rmw(gib, ahead)
            a, b = interleaved(ours, memory, 2_000_000, slices)
            ratios = [x[0] / ((1 + x[1]) * y[0]) for x, y in zip(a, b, strict=True)]
            times = f"{statistics.median(x[0] for x in a):.1f} ns, {statistics.median(y[0] for y in b):.2f} ns"
            print(f"  {gib:5} GiB  OP {ratio:4.0%}  {spread(ratios)}   {times}, {ahead} ahead", flush=True)


def memory(programs: Programs, sizes: list[int], slices: int) -> None:
    """Bytes of memory for each 4 KiB of the drive, and what they are allowed to be."""
    print("bytes of memory for each 4 KiB of user capacity, OP 7 %")
    for gib in sizes:
        for kind in ("page-mapped", "4032", "2048"):
            ours = programs.ours(gib, 0.07, kind=kind, ageing="theory" if kind == "page-mapped" else "overwrite")
            ours.slice(slices)
            # 8 a logical block, 6 an extent on flash, live or dead: as many as the flash has room for.
            aim = 10 if kind == "page-mapped" else 8 + 6 * 1.07 * 4096 / int(kind)
            taken = ours.memory_bytes("VmRSS") / (gib << 18)
            print(f"  {gib:5} GiB  {kind:11}  {taken:5.2f}  (aim: at most {aim:.2f})")
            ours.close()


def large(programs: Programs, sizes: list[int], slices: int) -> None:
    """Time, memory and WA of a drive as large as they are sold, in so many windows after ageing."""
    print("page-mapped, OP 7 %, aged by theory, then written (aim: at most 10 GB at the peak)")
    for gib in sizes:
        began = time.monotonic()
        ours = programs.ours(gib, 0.07, ageing="theory")
        aged = f"aged in {time.monotonic() - began:.0f} s, {ours.processor_seconds():.0f} s of processor time"
        windows = [ours.slice(10_000_000) for _ in range(slices)]
        peak = ours.memory_bytes("VmHWM")
        print(f"  {gib:5} GiB  {aged}; {peak / 1e9:.2f} GB at the peak, {peak / (gib << 18):.2f} bytes a page")
        print(f"  {statistics.median(window[0] for window in windows):.1f} ns a host write; windows of 10 million: WA")
        print("  " + " ".join(f"{window[1]:.3f}" for window in windows), flush=True)
        ours.close()


def main() -> int:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = {
        "reference": (versus_reference, [16]),
        "accesses": (versus_memory, [4, 16, 64, 256, 1024]),
        "compressing": (versus_page_mapped, [16]),
        "memory": (memory, [16, 64]),
        "large": (large, [3725]),
    }
    parser.add_argument("kinds", metavar="kind", nargs="*", choices=kinds, help=", ".join(kinds))
    parser.add_argument("--gib", type=int, nargs="+", help="user capacities")
    parser.add_argument("--slices", type=int, default=15, help="pairs of slices")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = build(Path(folder))
        for kind in arguments.kinds or ["reference"]:
            measure, usual = kinds[kind]
            measure(programs, arguments.gib or usual, arguments.slices)
    return 0


if __name__ == "__main__":
    sys.exit(main())
