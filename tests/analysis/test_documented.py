"""The examples of docs/statistics.md and docs/scaling.md, run as they stand."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs"
BLOCKS = [
    block
    for page in ("statistics.md", "scaling.md")
    for block in re.findall(r"```python\n(.*?)```", (FOLDER / page).read_text(encoding="utf-8"), re.DOTALL)
]


def test_the_page_has_examples() -> None:
    assert len(BLOCKS) >= 5
    assert all("assert" in block for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS)
def test_an_example_says_what_the_product_says(block: str) -> None:
    exec(compile(block, "docs", "exec"), {})
