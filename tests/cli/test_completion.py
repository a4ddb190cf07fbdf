"""The completion scripts in the shells themselves; a shell that is not installed is skipped by its name.

bash and fish are asked for the words directly; zsh, which has no such question, types into a terminal of its own.
"""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pgassay.cli import COMMANDS, completion, main
from pgassay.study import builtin
from tests.packages import Install

TIMEOUT_S = 300.0

Ask = Callable[[str], list[str]]
"""What may follow a line: the words that the shell offers in place of its last one."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with two runs, a folder that is none, and a study file."""
    for name in ("runs/one", "runs/two words", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("runs/one", "runs/two words"):
        (tmp_path / name / "run.json").touch()
    (tmp_path / "mine.toml").touch()
    (tmp_path / "mine.csv").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(shell: str, folder: Path) -> Path:
    path = folder / f"script.{shell}"
    path.write_text(completion.script(shell, builtin.names()), encoding="utf-8")
    return path


def output(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def needs(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    return found


@pytest.fixture
def bash(folder: Path) -> Ask:
    """Asks bash as readline does: `=` and `:` are words of their own."""
    program, script = needs("bash"), written("bash", folder)

    def ask(line: str) -> list[str]:
        words = re.findall(r"[=:]+|[^\s=:]+", line) + ([""] if line.endswith(" ") else [])
        text = (
            f"source {shlex.quote(str(script))}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1};"
            ' _shtab_pgassay pgassay; (( ${#COMPREPLY[@]} )) && printf "%s\\n" "${COMPREPLY[@]}" || :'
        )
        return output([program, "--norc", "-c", text], folder).splitlines()

    return ask


@pytest.fixture
def fish(folder: Path) -> Ask:
    program, script = needs("fish"), written("fish", folder)

    def ask(line: str) -> list[str]:
        text = f"source {shlex.quote(str(script))}; complete -C {shlex.quote(line)}"
        return [each.partition("\t")[0] for each in output([program, "--no-config", "-c", text], folder).splitlines()]

    return ask


@pytest.fixture
def zsh(folder: Path) -> Iterator[Ask]:
    """Types a line and TAB; a widget of the test's own prints the line that zsh has made of it."""
    program = needs("zsh")
    (folder / ".zfunc").mkdir()
    written("zsh", folder).rename(folder / ".zfunc/_pgassay")
    setup = (
        "PROMPT= RPROMPT= ; fpath=($PWD/.zfunc $fpath); autoload -Uz compinit; compinit -u -D;"
        ' tell() { zle -I; print -r -- "@@${BUFFER}@@"; BUFFER= }; zle -N tell;'
        " bindkey '^X' tell; bindkey '^I' expand-or-complete; setopt no_auto_menu no_auto_list; print -r -- @@ready@@\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(program, [program, "-f", "-i"], {**os.environ, "TERM": "dumb", "COLUMNS": "400"})

    def told() -> str:
        """What stands between the next two marks that were printed, not echoed."""
        seen = b""
        while True:
            ready, _, _ = select.select([terminal], [], [], TIMEOUT_S)
            assert ready, seen
            seen += os.read(terminal, 4096)
            found = re.search(rb"(?:^|[\r\n])@@([^@\r\n]*)@@", seen)
            if found:
                return found[1].decode()

    try:
        os.write(terminal, setup.encode())
        assert told() == "ready"

        def ask(line: str) -> list[str]:
            os.write(terminal, f"{line}\t\x18".encode())
            return [told().removeprefix(line.rpartition(" ")[0]).strip()]

        yield ask
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def test_bash(bash: Ask) -> None:
    assert bash("pgassay stu") == ["studies"]
    assert bash("pgassay run fillfactor-d") == ["fillfactor-drive"]
    assert bash("pgassay run mi") == ["mine.toml"]
    assert bash("pgassay show ") == ["runs/one", "runs/two words"]
    assert bash("pgassay show e") == ["elsewhere"]
    assert bash("pgassay drive sn") == ["snapshots"]
    assert bash("pgassay completion ") == ["bash", "zsh", "fish"]
    assert bash("pgassay run --pairing alt") == ["alternate"]
    assert bash("pgassay nothing-of-the-kind x") == []


def test_fish(fish: Ask) -> None:
    assert fish("pgassay stu") == ["studies"]
    assert fish("pgassay run fillfactor-d") == ["fillfactor-drive"]
    assert "mine.toml" in fish("pgassay run mi")
    assert "mine.csv" not in fish("pgassay run mi")
    assert fish("pgassay show runs/o") == ["runs/one"]
    assert fish("pgassay drive sn") == ["snapshots"]
    assert "--help" in fish("pgassay drive snapshots --h")


def test_zsh(zsh: Ask) -> None:
    assert zsh("pgassay stu") == ["studies"]
    assert zsh("pgassay run fillfactor-d") == ["fillfactor-drive"]
    assert zsh("pgassay run mine.t") == ["mine.toml"]
    assert zsh("pgassay show runs/o")[0].rstrip("/") == "runs/one"
    assert zsh("pgassay drive sn") == ["snapshots"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_command_is_in_every_script(shell: str) -> None:
    text = completion.script(shell, ())
    assert [name for name in COMMANDS if name not in text] == []
    assert "@WORDS@" not in text
    assert not re.search(r"'-\?'|-s \?|\{-\?", text), "zsh and fish would take it for a pattern of files"


def test_another_package_s_command_is_completed_and_a_broken_one_left_out(install: Install, bash: Ask) -> None:
    code = "def add_arguments(parser):\n    parser.add_argument('--loudly')\n\ndef run(arguments):\n    return 0\n"
    install("pg-hello", "[pgassay.commands]\nhello = sample_hello2\n", code, "sample_hello2")
    install("pg-broken", "[pgassay.commands]\nbroken = sample_absent\n")
    text = completion.script("bash", ())
    assert "--loudly" in text
    assert "sample_absent" not in text


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
    assert main(["completion"]) == 2


def test_the_command_prints_a_script_that_bash_can_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    text = capsys.readouterr().out
    assert subprocess.run([needs("bash"), "-n"], input=text, text=True, check=False).returncode == 0
    assert all(name in text for name in builtin.names())
