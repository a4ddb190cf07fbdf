"""The shape of every Python module: a docstring that says what and why, and functions that fit on a screen.

A module is as long as its concept needs; the limit for functions is TigerBeetle's. ruff keeps the rest.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted(path for folder in ("src", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py"))

FUNCTION_LINES_MAX = 70


def module_faults(source: str) -> list[str]:
    """What is wrong with a module's outer shape: one phrase a fault, with the line where it has one."""
    tree = ast.parse(source)
    faults = []
    if tree.body and ast.get_docstring(tree) is None:
        faults.append("has no docstring")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                faults.append(f":{node.lineno} {node.name} has {lines} lines, more than {FUNCTION_LINES_MAX}")
    return faults


def test_every_module_has_the_shape() -> None:
    assert len(FILES) > 10
    faults = [f"{path.relative_to(ROOT)} {fault}" for path in FILES for fault in module_faults(path.read_text())]
    assert faults == []


def test_a_long_function_is_a_fault() -> None:
    body = "    pass\n" * FUNCTION_LINES_MAX
    assert module_faults(f'"""What."""\ndef long() -> None:\n{body}') == [":2 long has 71 lines, more than 70"]
    assert module_faults(f'"""What."""\ndef fits() -> None:\n{body[9:]}') == []


def test_a_silent_module_is_a_fault() -> None:
    assert module_faults("x = 1\n") == ["has no docstring"]
    assert module_faults("") == [], "an empty file says nothing, so it needs no docstring"


def test_tests_lie_in_the_folder_of_what_they_test() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "pgassay").glob("*/__init__.py")}
    others = {"benchmarks", "cases", "core", "docs", "fakes", "samples", "security", "system", "tidy"}
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    modules = {path.stem for path in (ROOT / "src" / "pgassay").glob("*.py")}
    assert folders - others <= packages | modules, "a package was renamed or removed, its tests were not"
    assert packages - folders == set(), "a package without tests"
