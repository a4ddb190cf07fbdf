"""How large the house is: `python -m tests.house [CHECKOUT]` prints lines, modules, functions, words and commands.

For changes that make it smaller: call it before and after. It reads text and syntax trees, and runs nothing.
"""

import ast
import re
import sys
from pathlib import Path
from statistics import median


def functions(source: str) -> list[int]:
    """How many lines each function of a module has, methods and inner functions among them."""
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [(node.end_lineno or node.lineno) - node.lineno + 1 for node in found]


def counts(checkout: Path) -> dict[str, int | float]:
    """What there is of each, by what it is called."""
    modules = {path: path.read_text() for path in sorted((checkout / "src" / "pgassay").rglob("*.py"))}
    lengths = [length for source in modules.values() for length in functions(source)]
    documents = [path.read_text() for path in (checkout / "docs").rglob("*.md")]
    readme, changelog = ((checkout / name).read_text() for name in ("README.md", "CHANGELOG.md"))
    sources = "\n".join(modules.values())
    listed = re.search(r"^(?:COMMANDS|LISTED)\b.*?\n}", modules[checkout / "src/pgassay/cli/__init__.py"], re.M | re.S)
    return {
        "lines of src/pgassay": sum(len(source.splitlines()) for source in modules.values()),
        "modules": len(modules),
        "functions": len(lengths),
        "lines of the median function": median(lengths),
        "message modules": sum(path.name == "messages.py" for path in modules),
        '"told" and "beside" in src': len(re.findall(r"\b(?:told|beside)\b", sources, re.I)),
        "commands that are listed": len(re.findall(r'"[a-z-]+": "', listed.group())) if listed else 0,
        "pages of docs": len(documents),
        "words of docs": sum(len(text.split()) for text in documents),
        "lines of README": len(readme.splitlines()),
        "links of README": len(re.findall(r"\]\(", readme)),
        "entries of the changelog": len(re.findall(r"^- ", changelog, re.M)),
        "lines of the changelog": len(changelog.splitlines()),
    }


def main() -> None:
    """Print the counts of a checkout, of this one if none is named."""
    checkout = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    for name, count in counts(checkout).items():
        print(f"{count:>9,} {name}")


if __name__ == "__main__":
    main()
