"""The report's page of each run, made when a browser asks for it and kept until the record says more.

The page is the one that `pgassay report` writes, with a menu; its data lie beside it in a temporary folder, so nothing
is written into a run. Its one script is named to the browser by its hash, so that no other can run.
"""

import base64
import hashlib
import shutil
from collections import OrderedDict
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from pgassay import scratch
from pgassay.live.access import policy
from pgassay.live.catalogue import signature
from pgassay.record.reading import Run
from pgassay.report import own_sections, page
from pgassay.report.files import DATA
from pgassay.report.findings import Findings

KEPT_MAX = 16
_BEGIN, _END = '<script type="module">', "</script>"


@dataclass(frozen=True)
class Report:
    """A page and what it may load; `data` is the folder of its tables and figures."""

    html: str
    policy: str
    data: Path


class Reports:
    """Makes one at a time: a second core is the measurement's."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._folder = self._held.enter_context(scratch.folder("live pages"))
        self._kept: OrderedDict[str, tuple[str, Report]] = OrderedDict()
        self._lock = Lock()

    def close(self) -> None:
        """Remove what is kept."""
        self._held.close()

    def of(self, identity: str, run: Path) -> Report:
        """The report of a run as it stands; raises whatever a damaged record makes of it."""
        with self._lock:
            written = f"{signature(run)} {own_sections.stamp(run)}"
            known = self._kept.get(identity)
            if known is not None and known[0] == written:
                self._kept.move_to_end(identity)
                return known[1]
            made = self._made(identity, run)
            self._kept[identity] = (written, made)
            self._kept.move_to_end(identity)
            while len(self._kept) > KEPT_MAX:
                oldest, _ = self._kept.popitem(last=False)
                shutil.rmtree(self._place(oldest), ignore_errors=True)
            return made

    def _made(self, identity: str, run: Path) -> Report:
        folder = self._place(identity)
        shutil.rmtree(folder, ignore_errors=True)
        around = (("All runs", "/"), ("Live", f"/run/{identity}/live"), ("Files", f"/run/{identity}/files/"))
        path = page.write(Findings(Run.open(run, leave_out=True)), folder, pictures=False, menu=around)
        html = path.read_text(encoding="utf-8")
        return Report(html, policy(scripts=_allowed(html), drawn=True), folder / DATA)

    def _place(self, identity: str) -> Path:
        return self._folder / identity


def _allowed(html: str) -> str:
    """The page's one script, as a Content Security Policy names it."""
    script = html.partition(_BEGIN)[2].rpartition(_END)[0]
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
