"""A headless Chromium that opens a page at any width, in light or dark, and answers a question about it in JavaScript.

The page lies in a frame as wide as asked: a window of Chromium is never narrower than 500 pixels. Where there is no
Chromium, or no npm for what a question needs from there, tests that ask are skipped.
"""

import html
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

PATIENCE_S = 600
_AXE = Path(__file__).parent / "axe"
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic", "--no-first-run",
)  # fmt: skip
_ASK = """
<script type="module">
const settled = () => new Promise((done) => setTimeout(done, 3000));
try {
  %s
  await settled();
  const answer = await (async () => { %s })();
  parent.postMessage({ answer }, "*");
} catch (error) {
  parent.postMessage({ error: String(error) }, "*");
}
</script>
"""
_FRAME = """<!doctype html><title>frame</title><style>body { margin: 0 } iframe { border: 0 }</style>
<iframe src="asked.html" style="width: %dpx; height: 900px"></iframe><pre id="answer"></pre>
<script>addEventListener("message", (event) => {
  document.getElementById("answer").textContent = JSON.stringify(event.data);
});</script>
"""
RUN_AXE = """
const found = await axe.run(document, { resultTypes: ["violations"] });
return found.violations.map((each) => `${each.id}: ${each.nodes[0].html} ${each.nodes[0].failureSummary}`);
"""
WIDE = """
const page = document.documentElement;
const over = [...document.querySelectorAll("main *")].filter((each) =>
  !each.closest(".wide, .chart, pre") && each.getBoundingClientRect().right > page.clientWidth + 1);
return { scroll: page.scrollWidth - page.clientWidth, over: over.map((each) => each.outerHTML.slice(0, 80)) };
"""
OPEN_ALL = 'document.querySelectorAll("details").forEach((fold) => { fold.open = true; });'


def chromium() -> str:
    """The program; skips the test where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no chromium: apt-get install chromium")
    return found


def axe(folder: Path) -> str:
    """axe-core's script, of the version and with the checksum in `tests/report/axe`; skips where npm cannot get it."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm: apt-get install npm")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_AXE / name, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm could not get axe-core within {PATIENCE_S} s")
    if done.returncode:
        assert "EINTEGRITY" not in done.stderr, done.stderr
        pytest.skip(f"npm could not get axe-core: {done.stderr.strip().splitlines()[-1:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def ask(page: Path, folder: Path, answer: str, *, first: str = "", script: str = "", width: int, dark: bool) -> Any:
    """What `answer` (the body of an async function) returns in the page, some seconds after `first` was run.

    `script` is put before it; `folder` holds the files that this takes.
    """
    text = page.read_text(encoding="utf-8")
    asked = f"<script>{script}</script>{_ASK % (first, answer)}"
    body, end, rest = text.rpartition("</body>")
    (folder / "asked.html").write_text(f"{body}{asked}{end}{rest}", encoding="utf-8")
    (folder / "frame.html").write_text(_FRAME % width, encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    options = (f"--window-size={max(width, 500)},900", scheme, "--virtual-time-budget=20000", "--dump-dom")
    shown = _run(folder, *options, (folder / "frame.html").as_uri())
    told = shown.partition('<pre id="answer">')[2].partition("</pre>")[0]
    assert told, "the page gave no answer"
    found = json.loads(html.unescape(told))
    assert "error" not in found, found
    return found["answer"]


def printed_pages(page: Path, folder: Path) -> int:
    """How many A4 pages it prints to."""
    pdf = folder / "printed.pdf"
    _run(folder, "--no-pdf-header-footer", f"--print-to-pdf={pdf}", "--virtual-time-budget=20000", page.as_uri())
    return pdf.read_bytes().count(b"/Type /Page\n")


def console(page: Path, folder: Path) -> list[str]:
    """What the page says on the console, errors of its scripts among it."""
    done = _started(
        folder, "--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom", page.absolute().as_uri()
    )
    return [line.partition("CONSOLE")[2] for line in done.stderr.splitlines() if ":CONSOLE" in line]


def _run(folder: Path, *options: str) -> str:
    return _started(folder, *options).stdout


def _started(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [chromium(), *_FLAGS, f"--user-data-dir={folder / 'profile'}", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done
