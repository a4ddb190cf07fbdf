"""The player of slices against pgbench: the same scripts on one server, in turns; transactions for each CPU second.

At equal CPU means that what is compared is transactions per CPU second of the client program, the server's share apart:
on a machine whose cores are shared, transactions a second tell who got the cores. Both are printed, as ratios with
intervals over pairs. pgbench's scripts are asked of the installed program (`--show-script`). Pairs are short and many:
what else the machine does comes and goes, and is alike for the two sides of a short one. `--calls` counts system calls
for each transaction instead, by strace(1), which no other process can change. The script `pipelined`, which is played
if it is asked for, is simple-update in one pipeline.

    python -m benchmarks.player [--scale 10] [--seconds 1] [--pairs 12] [--clients 1,4,16,64] [--scripts=-S,-N]
                                [--protocols prepared,simple] [--calls] [--directory DIR]
"""

import argparse
import itertools
import resource
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

from benchmarks.private_server import Bench, serving
from benchmarks.ratios import interval
from pgassay.load.player import PlayedLoad, PlayedScript, Player

SCRIPTS = {"-S": "select-only", "-N": "simple-update"}
PIPELINED = "pipelined"
PROTOCOLS = ("prepared", "simple")


@dataclass(frozen=True)
class Case:
    """What both play."""

    flag: str
    protocol: str
    clients: int

    @property
    def threads(self) -> int:
        """As many as the machine of the promise has cores."""
        return min(2, self.clients)


@dataclass(frozen=True)
class Rate:
    """Transactions per second by the clock, and per CPU second of the client program."""

    tps: float
    per_cpu_s: float


def text_of(bench: Bench, case: Case) -> str:
    """What both play, as pgbench shows it."""
    program = str(bench.installation.bindir / "pgbench")
    shown = bench.runner.run([program, f"--show-script={SCRIPTS.get(case.flag, 'simple-update')}"])
    text = shown.stderr or shown.stdout
    if case.flag != PIPELINED:
        return text
    return text.replace("BEGIN;", "\\startpipeline\nBEGIN;").replace("END;", "END;\n\\endpipeline")


def pgbench(bench: Bench, case: Case, scale: int, seconds: int) -> list[str]:
    """The command of one run."""
    script = [case.flag]
    if case.flag == PIPELINED:
        file = bench.directory / "pipelined.sql"
        file.write_text(text_of(bench, case), encoding="utf-8")
        script = ["-f", str(file), "-s", str(scale)]
    return [
        *(str(bench.installation.bindir / "pgbench"), "-n", *script, "-M", case.protocol),
        *("-c", str(case.clients), "-j", str(case.threads), "-T", str(seconds)),
        *("-h", str(bench.server.endpoint.socket_directory), "-p", str(bench.server.endpoint.port)),
        *("-U", bench.server.endpoint.user, bench.server.endpoint.database),
    ]


def by_pgbench(bench: Bench, command: Sequence[str]) -> Rate:
    """One run of pgbench."""
    before = _children_cpu_s()
    done = bench.runner.run(command)
    words = done.stdout.split()
    tps = float(words[words.index("tps") + 2])
    count = int(words[words.index("processed:") + 1].partition("/")[0])
    return Rate(tps, count / (_children_cpu_s() - before))


def by_player(player: Player, seconds: int) -> Rate:
    """One slice."""
    played = player.play(duration_ms=seconds * 1000)
    return Rate(played.tps, played.transactions / (played.cpu_ns / 1e9))


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def played(bench: Bench, case: Case, scale: int) -> PlayedLoad:
    """pgbench's own script, for the player."""
    script = PlayedScript(case.flag.strip("-"), text_of(bench, case))
    return PlayedLoad((script,), case.clients, case.threads, case.protocol, seed=1, variables={"scale": str(scale)})


def compare(bench: Bench, case: Case, scale: int, seconds: int, pairs: int) -> None:
    """Pairs of runs, the first side changing; prints one line."""
    load, command = played(bench, case, scale), pgbench(bench, case, scale, seconds)
    tps, cpu = list[float](), list[float]()
    with Player(load, bench.server.endpoint, bench.runner, bench.clock) as player:
        player.play(duration_ms=500)
        for pair in range(pairs):
            if pair % 2 == 0:
                ours, theirs = by_player(player, seconds), by_pgbench(bench, command)
            else:
                theirs, ours = by_pgbench(bench, command), by_player(player, seconds)
            tps.append(log(ours.tps / theirs.tps))
            cpu.append(log(ours.per_cpu_s / theirs.per_cpu_s))
    print(
        f"{case.flag} {case.protocol:8} {case.clients:2} clients: player / pgbench"
        f" tps {interval(tps)}, transactions per CPU second of the client {interval(cpu)}",
        flush=True,
    )


def count_calls(bench: Bench, case: Case, scale: int) -> None:
    """System calls for each transaction, of 2000 of them; what pgbench takes to begin and end is in its count."""
    each = max(1, 2000 // case.clients)
    words = [f"-t{each}" if word == "-T" else word for word in pgbench(bench, case, scale, 0)]
    words.remove("0")
    traced = subprocess.run(["strace", "-c", "-f", *words], capture_output=True, text=True, check=True)
    theirs = calls(traced.stderr)
    with Player(played(bench, case, scale), bench.server.endpoint, bench.runner, bench.clock) as player:
        player.play(transactions=10)  # statements are prepared now
        command = ["strace", "-c", "-f", "-p", str(player.pid)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
            time.sleep(1)  # until it is attached to each thread
            player.play(transactions=each)
            tracer.send_signal(signal.SIGINT)
            ours = calls(tracer.communicate()[1])
    count = each * case.clients
    print(
        f"{case.flag} {case.protocol:8} {case.clients:2} clients: system calls for each transaction:"
        f" player {ours / count:.1f}, pgbench {theirs / count:.1f}",
        flush=True,
    )


def calls(table: str) -> int:
    """The sum at the end of strace's table."""
    total = next(line for line in table.splitlines() if line.endswith(" total"))
    return int(total.split()[3])


def main(words: Sequence[str] | None = None) -> None:
    """All cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--clients", default="1,4,16,64")
    parser.add_argument("--scripts", default=",".join(SCRIPTS))
    parser.add_argument("--protocols", default=",".join(PROTOCOLS))
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args(words)
    with serving(given.directory, "player", {"max_connections": "300"}) as bench:
        endpoint = bench.server.endpoint
        program = str(bench.installation.bindir / "pgbench")
        bench.runner.run([program, "-i", "-q", "-s", str(given.scale)], environment=endpoint.environment())
        clients = [int(each) for each in given.clients.split(",")]
        scripts, protocols = given.scripts.split(","), given.protocols.split(",")
        for flag, protocol, count in itertools.product(scripts, protocols, clients):
            if (flag, protocol) == (PIPELINED, "simple"):
                continue  # there are none in the simple protocol
            if given.calls:
                count_calls(bench, Case(flag, protocol, count), given.scale)
            else:
                compare(bench, Case(flag, protocol, count), given.scale, given.seconds, given.pairs)


if __name__ == "__main__":
    main()
