"""The program's manners: help, version, errors with hints on standard error, exit status 2."""

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pgassay import __version__
from pgassay.cli import COMMANDS, LISTED, main
from pgassay.cli.parser import Parser
from pgassay.cli.plan import lengths, reboot_lines, unbuilt_lines
from pgassay.errors import UsageError
from pgassay.lab.plan import Plan
from pgassay.postgres.builds.builder import MissingBuild
from pgassay.testing.planted import make_run
from tests.drive.test_kept_snapshots import keep
from tests.packages import Install


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("-?", "--help", "-h", "help"):
        assert main([word]) == 0
        shown = capsys.readouterr().out
        assert [name for names in LISTED.values() for name in names if f"\n  {name} " not in shown] == []
        assert [title for title in LISTED if f"\n{title}:\n" not in shown] == []


def test_help_lists_what_somebody_is_about_to_do_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert len(LISTED) == 5
    assert sum(map(len, LISTED.values())) <= 24
    rare = set(COMMANDS) - {name for names in LISTED.values() for name in names}
    assert rare == {"completion"}
    assert not re.search(r"^  completion ", shown, re.MULTILINE)
    assert main(["completion", "bash"]) == 0


def sections(help_text: str) -> dict[str, list[str]]:
    """The last name of each option, by the heading that it is under."""
    found: dict[str, list[str]] = {}
    for line in help_text.splitlines():
        if heading := re.fullmatch(r"(\w.*):", line):
            found[heading[1]] = []
        elif option := re.match(r"  (?:-\S, )?(--[\w-]+)", line):
            found[[*found][-1]].append(option[1])
    return found


def test_help_of_run_has_ten_options_first_and_the_others_under_headings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = capsys.readouterr().out
    assert shown.startswith("usage: pgassay run [OPTION]... STUDY\n\n")
    found = sections(shown)
    common = found.pop("options")
    assert common[0] == "--help"
    assert common[1:] == [
        "--quick", "--as-published", "--set", "--levels", "--blocks", "--budget", "--live", "--data-dir", "--out",
        "--dry-run",
    ]  # fmt: skip
    assert [name for name, options in found.items() if not options] == ["positional arguments"]
    assert {"--weigh", "--check", "--resolution"} <= set(found["verdicts"])
    assert {"--on", "--hosts"} <= set(found["blocks on other machines"])
    assert sum(map(len, found.values())) >= 30


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("drive simulate --capcity", "--capacity"),
        ("drive snapshots --kep", "--keep"),
        ("fleet certs x --dayz", "--days"),
    ],
)
def test_a_mistyped_option_of_an_action_is_answered_with_the_nearest_one(
    line: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert f'did you mean "{meant}"?' in capsys.readouterr().err


def test_what_one_run_or_several_alone_can_have_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (str(make_run(tmp_path / name, discarded=False).path) for name in ("one", "other"))
    for option in (["--csv"], ["--quiet"], ["--check"], ["--weigh", "tps > 1"]):
        assert main(["show", one, other, *option]) == 2
        assert f"{option[0]} is for the answer of one run" in capsys.readouterr().err
    assert main(["show", one, other, "--by-host"]) == 2
    assert "--by-host is for one run" in capsys.readouterr().err
    for words in (["--verbose"], []):
        assert main(["show", one, other, *words]) == 0
        assert ("(secondary)" in capsys.readouterr().out) == bool(words)


SAMPLE = """
def add_arguments(parser):
    parser.add_argument("--loudly", action="store_true")

def run(arguments):
    print("HELLO" if arguments.loudly else "hello")
    return 0
"""


def test_another_package_s_command_is_listed_without_being_imported(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("pg-hello", "[pgassay.commands]\nhello = sample_hello\n", SAMPLE, "sample_hello")
    assert main(["--help"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "pg-hello" in line]
    assert line.split(maxsplit=1) == ["hello", "from package pg-hello 1.2"]
    assert "sample_hello" not in sys.modules
    assert main(["hello", "--loudly"]) == 0
    assert capsys.readouterr().out == "HELLO\n"
    assert main(["helo"]) == 2
    assert 'did you mean "hello"?' in capsys.readouterr().err


def test_a_command_may_not_take_the_name_of_one_of_ours(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("pg-hello", "[pgassay.commands]\nstudies = sample_studies\n", SAMPLE, "sample_studies")
    assert main(["--help"]) == 0
    refused = 'command "studies" of package pg-hello 1.2 cannot be used: pgassay has a command of this name'
    assert refused in capsys.readouterr().out
    assert main(["studies"]) == 0
    assert "fillfactor" in capsys.readouterr().out


def test_a_broken_command_names_its_package_and_stops_no_other(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("pg-hello", "[pgassay.commands]\nhello = sample_wrong:RUN\n", "RUN = 7", "sample_wrong")
    assert main(["studies"]) == 0
    assert main(["hello"]) == 2
    said = capsys.readouterr().err
    assert 'command "hello" of package pg-hello 1.2 cannot be used: "sample_wrong:RUN" is of type int' in said
    assert "pip uninstall pg-hello" in said


def test_no_command_is_a_fault_that_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Usage:" in capsys.readouterr().out


def test_two_ways_to_say_how_small_a_model_is_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "fillfactor", "--scale", "1/10", "--scale-to", "1GB", "--dry-run"]) == 2
    assert "not allowed with argument --scale" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "words"), [("--scale", '"" is not a scale'), ("--scale-to", '"" is not an amount')])
def test_an_empty_scale_is_refused_and_plans_no_original(
    option: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of a variable of a shell that is not set: the original may be terabytes."""
    assert main(["run", "tpcc-fillfactor", "--as-published", option, "", "--dry-run"]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.out == ""


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pgassay {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_without_doing_anything(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: pgassay {name}" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["run"], ["drive", "snapshots"]])
def test_help_of_a_command_is_its_own(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for asked in (["help", *words], [*words, "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(asked)
        assert ended.value.code == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert f"usage: pgassay {' '.join(words)}" in shown[0]


@pytest.mark.parametrize(
    ("environment", "is_terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"PG_COLOR": "always"}, False, True),
        ({"PG_COLOR": "never"}, True, False),
        ({"PG_COLOR": "always", "NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_on_a_terminal_unless_it_is_refused(
    environment: dict[str, str], is_terminal: bool, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PG_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    out, error = (io.StringIO() for _ in range(2))
    monkeypatch.setattr(out, "isatty", lambda: is_terminal)
    monkeypatch.setattr(error, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", error)
    assert main(["doctor"]) == 0
    assert main(["rnu"]) == 2
    assert ("\x1b[" in out.getvalue()) is coloured
    assert ("\x1b[" in error.getvalue()) is coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert re.match(r"(ok|note|warning|error) +\S", plain), "the word says it too, for terminals without colour"


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["rnu"], 'unknown command "rnu"', 'did you mean "run"?'),
        (["studies", "--fatcors"], 'unrecognized argument "--fatcors"', 'did you mean "--factors"?'),
        (["run"], "the following arguments are required: STUDY", 'try "pgassay run --help" for more information'),
        (["run", "filfactor"], 'is called "filfactor"', 'did you mean "fillfactor"?'),
        (["run", "no/such.toml"], "no such file or directory", 'see "pgassay studies"'),
        (["run", "fillfactor", "--seed", "-1"], '--seed wants a whole number from 0 on, not "-1"', "--help"),
        (["calibrate", "--runs", "two"], '--runs wants a whole number from 0 on, not "two"', "--help"),
        (["run", "fillfactor", "--seed"], "--seed wants a value", "--help"),
        (["check", "/etc/passwd"], '"/etc/passwd" is not a run directory: it is a file', "name a directory that"),
        (["run", "fillfactor", "--out", "/", "--dry-run"], '"/" exists already', "name a directory that does not"),
        (["compare", "server.jit=on", "server.jit=off", "--out", "/"], '"/" exists already', "pgassay resume"),
        (["compare", "server.jit=on", "server.jit=off", "--quick"], 'unrecognized argument "--quick"', ""),
        (
            ["compare", "laod.clients=1", "laod.clients=2"],
            'unknown factor "laod.clients"',
            'did you mean "load.clients"?',
        ),
        (["compare", "a.b=1", "a.b=2"], 'setting "a.b" belongs to an extension', "shared_preload_libraries"),
        (["help", "rnu"], 'unknown command "rnu"', 'did you mean "run"?'),
        (["export", "/x", "--csv", "--json"], "not allowed with argument --csv", "--help"),
        (["compare", "a=1"], '"server.a=1" alone varies nothing', "the baseline first"),
        (
            ["run", "fillfactor", "--quick", "--dry-run", "--allow-busy", "--data-dir", "/etc/passwd/x/y"],
            'could not make "/etc/passwd/x/y" for clusters: not a directory',
            "--data-dir",
        ),
        (["run", "fillfactor", "--quick", "--as-published"], "not allowed with argument --quick", ""),
        (["run", "fillfactor", "--set", "load.scale"], "takes NAME=VALUE", "for example"),
        (["run", "fillfactor", "--levels", "table.filfactor=1,2"], "unknown factor", 'mean "table.fillfactor"?'),
        (["run", "fillfactor", "--levels", "table.fillfactor=100,5"], "fillfactor", ""),
        (["run", "fillfactor", "--budget", "5 fortnights"], "fortnights", "min"),
        (["run", "fillfactor", "--budget", "1e999h"], "1e999h", "units"),
        (["run", "fillfactor", "--blocks", "9..3"], "1 <= MIN <= MAX", ""),
        (["compare", "server.work_mem"], "takes NAME=VALUE", ""),
        (["compare", "server.work_mem=1MB"], "varies nothing", ""),
        (["compare", "server.work_mem=1MB", "server.wrk_mem=2MB"], "one level each", "one of the two is mistyped"),
        (["compare", "server.work_me=1MB", "server.work_mem=2MB"], "one level each", "one of the two is mistyped"),
        (
            ["compare", "server.work_mem=1MB", "server.jit=on"],
            '"server.work_mem=1MB" alone varies nothing',
            "NAME=OTHER",
        ),
        (["drive", "snapshots", "--keep", "20"], '"20" is not an amount of memory', "GB"),
        (["drive", "snapshots", "--keep=-1GB"], '--keep cannot be "-1GB"', "20GB"),
        (["compare", "server.jit=on", "server.jit=off", "-T", "9", "-t", "9"], "-T and -t cannot be used together", ""),
        (["compare", "server.jit=on", "server.jit=off", "-S", "-f", "a.sql"], "-f and -S cannot be used together", ""),
        (["compare", "load.clients=1", "load.clients=4", "-c", "3"], "-c and load.clients cannot be used together", ""),
        (["show", "/nowhere/at/all"], "not a", ""),
    ],
)
def test_faults(words: list[str], error: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    told = capsys.readouterr().err
    assert told.startswith("pgassay: error: ")
    assert error in told
    assert hint in told
    assert "Traceback" not in told


def test_a_newer_run_is_an_error_of_check_and_not_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text('{"format": 99, "program_version": "9.9"}')
    assert main(["check", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "pgassay: error: " in said.err
    assert "has format 99" in said.err
    assert "hint: read it with pgassay 9.9 or later" in said.err


def test_damage_found_by_check_is_a_finding_on_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run")
    (run.path / "study.toml").unlink()
    assert main(["check", str(run.path)]) == 2
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith("error: study.toml: ")
    assert main(["show", str(run.path)]) == 2
    assert f"hint: see all findings with: pgassay check {run.path}" in capsys.readouterr().err


def test_kept_snapshots_are_told_and_let_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["drive", "snapshots", "--data-dir", str(tmp_path)]
    assert main(where) == 0
    assert capsys.readouterr().out == f"no snapshots in {tmp_path}\n"
    keep(tmp_path, "a", "b")
    assert main([*where, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["what"] for each in told["snapshots"]] == ["data b", "data a"]
    assert told["snapshots"][1]["last_used_utc"] == "2001-09-07T01:46:40Z"
    assert main([*where, "--keep", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[:2]] == ["a", "b"]
    assert lines[2:] == [f"no snapshots in {tmp_path}"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """argparse refuses some declarations only when it is asked for any order."""
    assert main([name, "--no-such-option"]) == 2
    assert "error:" in capsys.readouterr().err


def test_options_and_arguments_may_come_in_any_order() -> None:
    parser = Parser("pgassay ask", "ask")
    import_module("pgassay.cli.ask").add_arguments(parser)
    read = [
        parser.read(["cap", *words])
        for words in (
            ["a=1,2", "b=1,2", "--replay", "--seed", "7"],
            ["--seed", "7", "a=1,2", "--replay", "b=1,2"],
            ["--replay", "a=1,2", "b=1,2", "--seed", "7"],
        )
    ]
    assert read[0].levels_given == ["a=1,2", "b=1,2"]
    assert read[0].replay
    assert read[0] == read[1] == read[2]
    assert parser.read(["cap", "--replay"]).levels_given == []
    with pytest.raises(UsageError, match="CAPTURE"):
        parser.read(["--replay"])


def test_python_runs_the_package() -> None:
    done = subprocess.run([sys.executable, "-m", "pgassay", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"pgassay {__version__}\n"


def test_a_plan_says_which_builds_come_first_and_how_long_they_take() -> None:
    missing = [MissingBuild(f"15.18, {size}kB pages", "distribution", 280.0, Path("/cache")) for size in (2, 4)]
    first, *each = unbuilt_lines(missing)
    assert first.startswith("  to build    2 PostgreSQLs into /cache, about 9 min 20 s by the builds made here")
    assert [line.strip() for line in each] == [f"15.18, {size}kB pages; source: distribution" for size in (2, 4)]
    assert "some minutes each" in unbuilt_lines([replace(missing[0], seconds=None)])[0]
    assert unbuilt_lines([]) == []


def test_a_plan_of_transactions_does_not_pretend_to_know_their_length() -> None:
    blank: dict[str, Any] = dict.fromkeys(field.name for field in fields(Plan))

    def told(**known: float | bool | None) -> str:
        return lengths(Plan(**{**blank, **known}))

    assert told() == "their length is unknown until the first trial"
    timed: dict[str, float] = {"trial_s": 10.0, "load_s": 8.0, "preparation_s": 0.0, "ageing_s": 0.0}
    timed |= {"time_min_s": 100.0, "time_max_s": 200.0, "trial_calibrated": False}
    assert told(**timed) == "a trial about 10 s, 8 s of it under load: 1 min 40 s to 3 min 20 s"
    laid_out = told(**{**timed, "layout_s": 2.0, "layout_bytes": 5 << 30})
    assert laid_out.startswith("a trial about 10 s, 8 s of it under load, 2 s for laying out its file of 5.00 GB: ")
    assert told(**{**timed, "load_s": 9.7}).startswith("a trial about 10 s: "), "to the second it is all load"
    assert told(**{**timed, "preparation_s": 43.0}).endswith("to 3 min 20 s, 43 s of it for snapshots")
    assert told(**{**timed, "paced_by": 3}).startswith("a trial about 10 s, 8 s of it under load, by 3 runs here: ")
    calibrated = {**timed, "load_s": None, "trial_calibrated": True}
    assert told(**calibrated) == "a trial about 10 s, as calibrated: 1 min 40 s to 3 min 20 s"
    assert told(**{**timed, "ageing_s": 40.0}).endswith("to 3 min 20 s, 40 s for ageing the drives")


def test_a_plan_counts_the_reboots_that_a_study_asks_for() -> None:
    blank: dict[str, Any] = dict.fromkeys(field.name for field in fields(Plan))
    assert reboot_lines(Plan(**{**blank, "reboots_min": 0, "reboots_max": 0})) == []
    (said,) = reboot_lines(Plan(**{**blank, "reboots_min": 4, "reboots_max": 250}))
    assert said.split(None, 1) == [
        "reboots", "none, where its authors made 4 to 250 reboots, one after each block",
    ]  # fmt: skip


def test_help_of_a_command_loads_no_heavy_library() -> None:
    modules = [f"pgassay.cli.{name.replace('-', '_')}" for name in COMMANDS]
    code = f"""
import importlib, sys
for name in {modules!r}:
    importlib.import_module(name)
print(sorted({{"numpy", "scipy", "polars", "altair", "psycopg"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_command_s_module_has_what_the_dispatcher_calls() -> None:
    for name in COMMANDS:
        module = import_module(f"pgassay.cli.{name.replace('-', '_')}")
        module.add_arguments(Parser(f"pgassay {name}", COMMANDS[name]))
        assert callable(module.run)


@pytest.mark.parametrize("command", ["run fillfactor --dry-run", "advise --dry-run", "rerun x", "calibrate"])
def test_a_budget_needs_a_unit(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """5 was taken as 5 seconds, and the plan went on."""
    assert main([*command.split(), "--budget", "5"]) == 2
    assert '"5" is not a length of time' in capsys.readouterr().err


def test_show_alone_shows_the_last_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["show"]) == 2
    assert 'there is no run in "runs" here' in capsys.readouterr().err
    (tmp_path / "runs").mkdir()
    for place, name in enumerate(("b-new", "a-old")):
        make_run(tmp_path / "runs" / name)
        os.utime(tmp_path / "runs" / name / "journal.jsonl", (2000 - place, 2000 - place))
    assert main(["show", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["show"]) == 0
    assert "runs/b-new" in capsys.readouterr().out


def test_an_option_of_another_command_suggests_none_that_looks_a_little_like_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--init` was answered with `--client`."""
    assert main(["run", "fillfactor", "--init", "x.sql"]) == 2
    said = capsys.readouterr().err
    assert 'unrecognized argument "--init"' in said
    assert "did you mean" not in said
