"""A plug-in of pytest that writes down what becomes of each test: `-p tests.slow_results --results-to FILE`.

A line of JSON per event, as it happens, so that what is known outlives a process that is killed: which tests there are,
which one began and by when it must have ended, and how it ended after how many seconds.
"""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

COLLECTED, BEGAN, PASSED, SKIPPED, FAILED = "collected", "began", "passed", "skipped", "failed"
WHY_CHARACTERS = 4000
"""How much of a failure is written down at once: pytest itself shows it when the file has ended."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to."""
    parser.addoption("--results-to", type=Path, metavar="FILE", help="append a line of JSON for each test")


def pytest_configure(config: pytest.Config) -> None:
    """Write only if asked."""
    path = config.getoption("--results-to")
    if path is not None:
        config.pluginmanager.register(_Writer(path), "slow results")


@dataclass
class _Writer:
    path: Path
    _reports: list[pytest.TestReport] = field(default_factory=list)

    def write(self, test: str, event: str, **more: float | bool | str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"test": test, "event": event, **more}) + "\n")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.config.option.collectonly:
            for item in session.items:
                self.write(item.nodeid, COLLECTED, alone=item.get_closest_marker("alone") is not None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        self._reports.clear()
        mark = item.get_closest_marker("timeout")
        limit_s = float(mark.args[0]) if mark is not None and mark.args else 0.0
        self.write(item.nodeid, BEGAN, at_s=time.time(), limit_s=limit_s)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        outcomes = {report.outcome for report in self._reports}
        ended = next((each for each in (FAILED, SKIPPED) if each in outcomes), PASSED)
        seconds = round(sum(report.duration for report in self._reports), 1)
        why = "\n".join(report.longreprtext for report in self._reports if report.failed)
        self.write(nodeid, ended, seconds=seconds, **({"why": why[-WHY_CHARACTERS:]} if why else {}))
