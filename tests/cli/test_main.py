"""The program's manners: help, version, errors with hints on standard error, exit status 2."""

from importlib import import_module

import pytest

from pgassay import __version__
from pgassay.cli import COMMANDS, main
from pgassay.cli.parser import Parser


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("-?", "--help", "-h", "help"):
        assert main([word]) == 0
        shown = capsys.readouterr().out
        assert all(f"  {name}" in shown for name in COMMANDS)


def test_no_command_is_a_fault_that_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Usage:" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pgassay {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_without_doing_anything(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: pgassay {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["rnu"], 'unknown command "rnu"', 'did you mean "run"?'),
        (["studies", "--fatcors"], 'unrecognized argument "--fatcors"', 'did you mean "--factors"?'),
        (["run"], "the following arguments are required: STUDY", 'try "pgassay run --help" for more information'),
        (["run", "filfactor"], 'is called "filfactor"', 'did you mean "fillfactor"?'),
        (["run", "no/such.toml"], "no such file or directory", ""),
        (["run", "fillfactor", "--quick", "--as-published"], "not allowed with argument --quick", ""),
        (["run", "fillfactor", "--set", "load.scale"], "wants NAME=VALUE", "for example"),
        (["run", "fillfactor", "--levels", "table.filfactor=1,2"], "unknown factor", 'mean "table.fillfactor"?'),
        (["run", "fillfactor", "--levels", "table.fillfactor=100,5"], "fillfactor", ""),
        (["run", "fillfactor", "--budget", "5 fortnights"], "fortnights", "min"),
        (["run", "fillfactor", "--blocks", "9..3"], "1 <= MIN <= MAX", ""),
        (["compare", "server.work_mem"], "wants NAME=VALUE", ""),
        (["compare", "server.work_mem=1MB"], "varies nothing", ""),
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


def test_a_command_s_module_has_what_the_dispatcher_calls() -> None:
    for name in COMMANDS:
        module = import_module(f"pgassay.cli.{name}")
        module.add_arguments(Parser(f"pgassay {name}", COMMANDS[name]))
        assert callable(module.run)
