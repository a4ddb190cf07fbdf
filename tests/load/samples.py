"""pgbench's own words, kept verbatim in tests/samples: the command, stdout and stderr of real runs of 15, 16 and 18."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "samples"


def texts(name: str) -> tuple[str, str]:
    """stdout and stderr of a sample; those of 18 were kept in one stream, which serves as both."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    if "--- stdout\n" not in text:
        return text, text
    stdout, _, stderr = text.partition("--- stdout\n")[2].partition("--- stderr\n")
    return stdout, stderr


def without(text: str, start: str) -> str:
    """The text without the lines that begin so."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(start))


def binary_fields(data: bytes) -> list[list[bytes | None]]:
    """The rows of a binary COPY without its header, taken apart by their lengths; None for NULL."""
    rows: list[list[bytes | None]] = []
    place = 0
    while place < len(data):
        count, place = int.from_bytes(data[place : place + 2], "big"), place + 2
        row: list[bytes | None] = []
        for _ in range(count):
            length, place = int.from_bytes(data[place : place + 4], "big", signed=True), place + 4
            row.append(None if length < 0 else data[place : place + length])
            place += max(0, length)
        rows.append(row)
    return rows
