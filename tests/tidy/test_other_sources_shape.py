"""The shape of what ruff and mypy do not see: Rust modules, shell scripts, the Makefile.

rustfmt leaves long comments and strings alone, so the length of lines is checked here. clippy keeps functions short.
"""

from pathlib import Path

ROOT = Path(__file__).parents[2]
RUST = sorted((ROOT / "crates").rglob("*.rs"))
SCRIPTS = [path for path in sorted((ROOT / "scripts").iterdir()) if path.is_file()] + [ROOT / ".ci" / "run"]

LINE_LENGTH_MAX = 120


def long_lines(source: str) -> list[str]:
    """The lines that are too long, as ``:number has n characters``."""
    return [
        f":{number} has {len(line)} characters, more than {LINE_LENGTH_MAX}"
        for number, line in enumerate(source.splitlines(), start=1)
        if len(line) > LINE_LENGTH_MAX
    ]


def rust_faults(source: str) -> list[str]:
    """What is wrong with a Rust module's outer shape."""
    faults = long_lines(source)
    if not source.startswith("//!"):
        faults.append("does not open with a //! comment that says what it is for")
    return faults


def script_faults(source: str, is_run: bool) -> list[str]:
    """What is wrong with a shell script; ``is_run`` says that it is a program and not sourced by one."""
    faults = long_lines(source)
    lines = source.splitlines()
    if is_run and (lines[0] != "#!/usr/bin/env bash" or "set -euo pipefail" not in lines):
        faults.append("does not start strictly: #!/usr/bin/env bash, set -euo pipefail")
    if not lines[1 if is_run else 0].startswith("# "):
        faults.append("does not open with a comment that says what it is for")
    return faults


def test_every_rust_module_has_the_shape() -> None:
    assert RUST
    assert [f"{path.relative_to(ROOT)} {fault}" for path in RUST for fault in rust_faults(path.read_text())] == []


def test_every_script_has_the_shape() -> None:
    faults = [
        f"{path.relative_to(ROOT)} {fault}"
        for path in SCRIPTS
        for fault in script_faults(path.read_text(), is_run=not path.name.startswith("_"))
    ]
    assert faults + long_lines((ROOT / "Makefile").read_text()) == []


def test_each_fault_is_found() -> None:
    assert rust_faults("fn f() {}\n") == ["does not open with a //! comment that says what it is for"]
    assert rust_faults("//! What.\n" + "/" * 121) == [":2 has 121 characters, more than 120"]
    assert len(script_faults("#!/bin/sh\necho\n", is_run=True)) == 2
    assert script_faults("# What.\n", is_run=False) == []
