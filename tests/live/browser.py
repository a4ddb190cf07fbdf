"""A real browser for tests of pages: the machine's own Chromium, driven by Playwright; skipped where there is none."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import Page, sync_playwright

from pgassay.live.server import application, listening
from tests.report.browser import chromium

WIDE, PHONE = 1400, 380
PATIENCE_MS = 300_000
"""The longest wait for anything of a page: a busy machine is slow, and a page that hangs is still found."""


@contextmanager
def opened(address: str, *, width: int = WIDE, dark: bool = False) -> Iterator[tuple[Page, list[str]]]:
    """A page at `address`, and what the browser complains of (errors of scripts, refusals of the policy)."""
    program = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"], timeout=PATIENCE_MS
        )
        try:
            theme: Any = "dark" if dark else "light"
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            page.set_default_timeout(PATIENCE_MS)
            faults: list[str] = []
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
            page.goto(address)
            yield page, faults
        finally:
            browser.close()


@contextmanager
def serving(run: Path, port: int = 0, token: str = "token") -> Iterator[str]:
    """A server of `run` in a thread, on a port that is free or on `port`; gives the address with its token."""
    with listening(port) as bound:
        port = bound.getsockname()[1]
        app = application(run, token, port)
        config = uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/live?token={token}"
        finally:
            server.should_exit = True
            thread.join()


OVER_THE_EDGE = """() => document.documentElement.scrollWidth - document.documentElement.clientWidth"""
AXE = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
  .map((each) => `${each.id}: ${each.nodes[0].html}`)"""


def violations(page: Page, script: str) -> Any:
    """What axe-core objects to; its script is put in past the page's policy."""
    page.evaluate(script + "; undefined")
    return page.evaluate(AXE)
