"""On CI a property has the same examples at every run, whatever this process has imported before it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = """
import tests.conftest
from hypothesis import given, strategies as st

drawn = []

@given(st.integers(), st.floats(), st.text())
def drawing(number, other, text):
    drawn.append(repr((number, other, text)))

drawing()
before, drawn = drawn, []
import pgassay.lab.catalogue
drawing()
assert len(before) > 50
print("the same" if drawn == before else "others")
"""


def test_what_is_imported_changes_no_example_on_ci() -> None:
    environment = {**os.environ, "CI": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("the same\n", "")
