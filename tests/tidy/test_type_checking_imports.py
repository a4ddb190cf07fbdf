"""A name imported for types only must not be used when the program runs.

mypy treats both kinds of import alike, and a command that imports lazily meets the missing name only when a user calls
it. So each module is compiled as it runs, without its `if TYPE_CHECKING:` blocks, and the compiler itself says which
names are then read: it knows scopes, and which annotations are evaluated.
"""

import ast
import dis
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

SOURCE = Path(__file__).parents[2] / "src"
READS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}


class _WithoutTypeChecking(ast.NodeTransformer):
    """Takes the blocks for the type checker out of a module, and keeps the names that they bind."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if ast.unparse(node.test) not in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            return node
        for statement in node.body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self.names |= {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
            else:
                names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
                self.names |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
        return node.orelse or ast.copy_location(ast.Pass(), node)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def faults(source: str) -> list[str]:
    """Each use at run time of a name that only the type checker knows, as ``:line name``."""
    if "TYPE_CHECKING" not in source:
        return []  # most modules: nothing to compile for
    block = _WithoutTypeChecking()
    module = compile(block.visit(ast.parse(source)), "module", "exec", dont_inherit=True)
    bound = {step.argval for step in dis.get_instructions(module) if step.opname == "STORE_NAME"}
    missing = block.names - bound
    found = set()
    for code in _codes(module):
        line = code.co_firstlineno
        for step in dis.get_instructions(code):
            line = (step.positions and step.positions.lineno) or line
            if step.opname in READS and step.argval in missing:
                found.add((line, step.argval))
    return [f":{line} {name}" for line, name in sorted(found)]


def test_no_name_for_types_is_used_at_run_time() -> None:
    modules = sorted(SOURCE.rglob("*.py"))
    sources = {path.relative_to(SOURCE): path.read_text() for path in modules}
    assert sum("if TYPE_CHECKING:" in source for source in sources.values()) > 10
    assert [f"{path}{fault}" for path, source in sources.items() for fault in faults(source)] == []


HEAD = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from record import STUDY, Run\n    Runs = list[Run]\n"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("def run(path):\n    return path / STUDY\n", ":6 STUDY"),
        ("class Kept(Run):\n    pass\n", ":5 Run"),
        ("def f(run: Run) -> None: ...\n", ":5 Run"),
        ("def f(x):\n    return [Runs(y) for y in x]\n", ":6 Runs"),
        ("def f():\n    from record import Run\ndef g(x):\n    return isinstance(x, Run)\n", ":8 Run"),
    ],
)
def test_a_use_at_run_time_is_found(body: str, fault: str) -> None:
    assert faults(HEAD + body) == [fault]


@pytest.mark.parametrize(
    "body",
    [
        'def f(run: "Run") -> "list[Run]": ...\n',
        "def f(x):\n    run: Run = x\n    return run\n",
        "def f(x):\n    from record import Run\n    return Run(x)\n",
        "def f(Run):\n    return lambda: Run\n",
        "from record import STUDY\nNAME = STUDY\n",
    ],
)
def test_an_annotation_or_an_import_where_it_is_used_is_not(body: str) -> None:
    assert faults(HEAD + body) == []
