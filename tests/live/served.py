"""Planted runs, and a client that asks the server of one as a browser would."""

import re
import shutil
from pathlib import Path

from starlette.testclient import TestClient

from pgassay.live.server import application
from pgassay.testing.planted import make_run

HOSTILE_NAME = "<img src=x onerror=alert(2)>"
TOKEN = "a-token"
PORT = 8543
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def planted(root: Path) -> Path:
    """Runs of every state: finished, cut short, damaged in three ways, and one whose texts are scripts."""
    make_run(root / "one")
    made = root / "two"
    shutil.copytree(root / "one", made)
    (made / "journal.jsonl").write_bytes((made / "journal.jsonl").read_bytes()[:-10])
    shutil.copytree(root / "one", root / "broken")
    (root / "broken" / "journal.jsonl").write_bytes(b"rubbish\nmore\n")
    shutil.copytree(root / "one", root / "partly")
    (root / "partly" / "trials" / "000005" / "trial.json").write_bytes(b"{")
    (root / "partly" / "index.parquet").unlink()
    shutil.copytree(root / "one", root / "empty")
    (root / "empty" / "run.json").write_bytes(b"")
    hostile = root / HOSTILE_NAME
    shutil.copytree(root / "one", hostile)
    study = hostile / "study.toml"
    kept = study.read_text(encoding="utf-8")
    study.write_text(re.sub(r"^title = .*$", lambda _: f"title = '''{HOSTILE}'''", kept, flags=re.MULTILINE), "utf-8")
    return root


def client(run: Path, *, token: bool = True) -> TestClient:
    """Of a server of `run`; without `token` nobody has let it in."""
    app = application(run, TOKEN, PORT)
    found = TestClient(app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)
    if token:
        found.cookies.set(f"pgassay-{PORT}", TOKEN)
    return found
