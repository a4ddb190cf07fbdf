"""Callgrind's files: what a process executed, by function, less what exchanged bytes with the client."""

import subprocess
import sys
from pathlib import Path

import pytest

from pgassay import children
from pgassay.count import Valgrind, parse
from pgassay.interfaces.probe import BACKEND, OTHER, PARALLEL
from pgassay.testing import real

FILE = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 15360
cmd:  /usr/lib/postgresql/15/bin/postgres -D /data
part: 1

desc: I1 cache:
positions: line
events: Ir sysCount sysTime
summary: 1160 15

ob=(1) /usr/lib/postgresql/15/bin/postgres
fl=(1) ???
fn=(1) PostgresMain
0 100
cfn=(2) secure_read
calls=3 0
0 55
cfn=(3) 0x00000000001ea7b0
calls=2 0
* 700
cob=(2) /usr/lib/x86_64-linux-gnu/libc.so.6
cfi=(2) ???
cfn=(4) 0x00000000000a1000
calls=1 0
0 305

fn=(3)
0 690 2
fi=(3) elsewhere.c
+4 10

fn=(2)
0 50
cob=(2)
cfn=(4)
calls=1 0
0 5

ob=(2)
fn=(4)
0 210 5 17
cfn=(5) recursive
calls=1 0
0 100

fn=(5)
0 90
cfn=(6) recursive@@V_1.2'2
calls=4 0
0 10

fn=(6)
0 10 3
fn=(7) __libc_recv
0 0 4 900
fn=(8) __gettimeofday_syscall
0 0 1

totals: 1160 15 917
"""


def test_each_function_has_its_own_instructions_and_calls() -> None:
    found = parse(FILE.splitlines())
    assert found.kind == BACKEND
    assert found.functions == {
        "PostgresMain": (100.0, 0.0),
        "secure_read": (50.0, 3.0),
        "postgres+0x1ea7b0": (700.0, 2.0),
        "libc.so.6+0xa1000": (210.0, 2.0),
        "recursive": (100.0, 5.0),
        "__libc_recv": (0.0, 0.0),
        "__gettimeofday_syscall": (0.0, 0.0),
    }
    unlike = "waits for the client and clocks are left out"
    assert found.system_calls == {"postgres+0x1ea7b0": 2.0, "libc.so.6+0xa1000": 5.0, "recursive": 3.0}, unlike


MISSES = """\
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim sysCount sysTime
fn=(1) PostgresMain
0 100 30 20 1 2 3 1 1 0 9 4 2 1 2 50
+2 10 0 0 5
cfn=(2) secure_write
calls=1 0
0 7 1 1 1 1 1 1 1 1 1 1 1 1 1 9
fn=(2)
0 7 1 1 1 1 1 1 1 1 1 1 1 1 1 9
totals: 117 31 21 7 3 4 2 2 1 10 5 3 2 3 59
"""


def test_the_columns_are_those_that_the_file_names() -> None:
    found = parse(MISSES.splitlines())
    assert found.instructions == 110
    assert found.functions == {"PostgresMain": (110.0, 0.0), "secure_write": (7.0, 1.0)}
    assert found.system_calls == {"PostgresMain": 2.0, "secure_write": 1.0}
    assert found.modelled_misses == {"first_level_cache": 11.0, "last_level_cache": 2.0, "branch": 5.0}
    turned = MISSES.replace("Ir Dr", "Dr Ir").replace(" I1mr", " Event")
    assert parse(turned.splitlines()).functions["PostgresMain"] == (30.0, 0.0)
    assert "first_level_cache" not in parse(turned.splitlines()).modelled_misses
    assert parse(FILE.splitlines()).modelled_misses == {}, "not asked for, so none and not 0"


@pytest.mark.parametrize("name", ["secure_read", "pgstat_relation_flush_cb", "pgstat_flush_io"])
def test_what_goes_by_time_is_left_out_once_with_all_below_it(name: str) -> None:
    text = FILE.replace("secure_read", name)
    assert parse(text.splitlines()).instructions == 1160 - 55
    nested = text.replace("0x00000000000a1000", "pgstat_prep_pending_entry")
    nested = nested.replace("calls=1 0\n0 305\n", "calls=1 0\n0 0\n")
    assert parse(nested.splitlines()).instructions == 1160 - 55, "what one of them calls is part of it"
    assert parse(FILE.replace("secure_read", "pgstat_report_stat").splitlines()).instructions == 1160


@pytest.mark.parametrize(("main", "kind"), [("ParallelWorkerMain", PARALLEL), ("CheckpointerMain", OTHER)])
def test_a_process_is_known_by_its_main_function(main: str, kind: str) -> None:
    assert parse(FILE.replace("PostgresMain", main).splitlines()).kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "totals: 0\n",
        FILE.replace("totals: 1160", ""),
        FILE.replace("totals: 1160", "totals: 1161"),
        FILE.replace("events: Ir", "events: Dr"),
        FILE.replace(" sysCount", ""),
        FILE.replace("events: Ir sysCount sysTime\n", ""),
        FILE.replace("totals:", "events: sysCount Ir\ntotals:"),
        FILE.replace("0 690 2\n", "0\n"),
        FILE.replace("fn=(1) PostgresMain", "fn=(1)"),
    ],
)
def test_a_file_that_was_cut_short_or_is_another_is_refused(text: str) -> None:
    with pytest.raises((ValueError, LookupError)):
        parse(text.splitlines())


FILLING = "import ctypes; b = ctypes.create_string_buffer(65536); [ctypes.memset(b, 0, 65536) for _ in range({})]"


@pytest.mark.system
@pytest.mark.skipif(children.which("valgrind") is None, reason="valgrind is not installed")
def test_an_instruction_that_repeats_itself_is_not_counted_for_each_byte(tmp_path: Path) -> None:
    def filling(times: int) -> float:
        instrument = Valgrind(real.runner(), tmp_path, None)
        words = [*instrument.begin(), sys.executable, "-I", "-S", "-c", FILLING.format(times)]
        with instrument.window(1, ()) as executed:
            subprocess.run(words, check=True, timeout=300)
            (found,) = executed()
        return found.instructions

    assert filling(300) - filling(0) < 300 * 65536 / 4


WRITING = "import os; f = os.open({!r}, os.O_WRONLY | os.O_CREAT); [os.pwrite(f, b'1', 0) for _ in range({})]"


@pytest.mark.system
@pytest.mark.skipif(children.which("valgrind") is None, reason="valgrind is not installed")
def test_system_calls_are_counted_by_the_function_that_libc_names_after_them(tmp_path: Path) -> None:
    instrument = Valgrind(real.runner(), tmp_path, None)
    words = [*instrument.begin(), sys.executable, "-I", "-S", "-c", WRITING.format(str(tmp_path / "file"), 321)]
    with instrument.window(1, ()) as executed:
        subprocess.run(words, check=True, timeout=300)
        (found,) = executed()
    assert sum(made for name, made in found.system_calls.items() if "pwrite" in name) == 321
