"""The stub says what the compiled module has: mypy's stubtest imports the module and compares."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_stub_fits_the_module() -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "pgassay._core"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
