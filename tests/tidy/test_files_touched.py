"""Root touches what others may have changed through `pgassay.files` alone, which follows no link.

In the rooms and the lab, which handle clusters, drives and repairs as root, a path is not good enough for what writes,
changes or removes files: the servers' account can put a link in the place of each directory that it may write. So
these packages do not call what works by path. Where only we can write, a line may all the same, if it ends with a
comment that says why: `# ours: …` (a file of the kernel, the state directory, a folder that is still closed to others).

The other packages write into folders of the user who calls pgassay (records, reports, captures, outputs of loads, the
cache of builds), where no other account may write. They give no file away, either.
"""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "pgassay"
WATCHED = ("drive", "host", "lab", "postgres")
OF_THE_USER = ("postgres/builds/",)
THE_WAY = ("files.py", "copying.py")
GIVING = {"chown", "lchown", "fchown"}
BY_PATH = {
    "os": {*GIVING, "chmod", "unlink", "remove", "removedirs", "truncate", "link"},
    "shutil": {"rmtree", "copytree", "move", "chown", "copy", "copy2", "copyfile"},
}
METHODS = {"write_text", "write_bytes", "chmod", "lchmod", "touch", "hardlink_to", "umount", "umount2"}
_REASON = re.compile(r"# ours: \S+ \S+")


def faults(source: str, *, watched: bool = True) -> list[str]:
    """Each call that is not allowed, with its line, unless that line says why the place is ours."""
    lines = source.splitlines()
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        called = node.func
        module = called.value.id if isinstance(called.value, ast.Name) else ""
        refused = module in BY_PATH and called.attr in GIVING
        if watched:
            refused |= called.attr in BY_PATH.get(module, METHODS)
            # of a path: a `Directory` is asked for a name
            refused |= called.attr == "unlink" and module not in BY_PATH and not node.args
        if refused and not _REASON.search(lines[(node.end_lineno or node.lineno) - 1]):
            found.append(f":{node.lineno} {ast.unparse(called)}")
    return found


def test_nothing_of_others_is_touched_by_path() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if name in THE_WAY:
            continue
        watched = name.startswith(tuple(f"{each}/" for each in WATCHED)) and not name.startswith(OF_THE_USER)
        found += [f"{name}{fault}" for fault in faults(path.read_text(), watched=watched)]
    assert found == [], 'use `files.Directory`; where only we can write, end the line with "# ours: " and why'


def test_what_works_by_path_is_a_fault() -> None:
    for line in (
        "os.chown(path, 1, 1)", "os.fchown(descriptor, 1, 1)", "os.unlink(path)", "shutil.rmtree(path)",
        "shutil.copytree(a, b)", "shutil.move(a, b)", "(place / name).write_text('x')", "path.unlink(missing_ok=True)",
        "path.chmod(0o600)", "libc.umount2(point, 0)", "path.touch()",
    ):  # fmt: skip
        assert len(faults(line)) == 1, line
        assert faults(f"{line}  # ours: a control group") == [], line
        assert len(faults(f"{line}  # ours: yes")) == 1, "a reason has more than a word"
    assert faults("folder.unlink('name')\nfolder.give('name', owner)\nos.open(path, os.O_RDONLY)") == []


def test_elsewhere_only_giving_away_is() -> None:
    assert faults("path.write_text('x')\nshutil.rmtree(path)", watched=False) == []
    assert faults("os.chown(path, 1, 1)\nshutil.chown(path, 'a')", watched=False) == [":1 os.chown", ":2 shutil.chown"]
