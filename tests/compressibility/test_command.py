"""`pgassay drive compressibility` on files made by hand: samples near the whole, what is printed, what is refused."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pgassay._core import stored_bytes
from pgassay.cli import main

MB = 1 << 20


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """One unnamed relation of 6 MB, whose compressibility changes from place to place."""
    (tmp_path / "base/5").mkdir(parents=True)
    (tmp_path / "PG_VERSION").write_text("15\n")
    random = np.random.default_rng(4)
    alphabet = np.repeat(2.0 ** random.uniform(0, 8, 6 * MB // 8192), 8192)
    data = (random.random(6 * MB) * alphabet).astype(np.uint8)
    (tmp_path / "base/5/16384").write_bytes(data.tobytes())
    return tmp_path


def found(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["drive", "compressibility", *words, "--json"]) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert printed["format"] == 1
    return printed


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["drive", "compressibility", *words]) == 2
    return capsys.readouterr().err


def test_the_whole_is_exact(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    answer = found(capsys, str(cluster), "--codec", "zstd-1,none", "--granularity", "1B,512B,4kB", "--whole")
    (part,) = answer["parts"]
    sizes = stored_bytes((cluster / "base/5/16384").read_bytes(), "zstd-1").astype(int)
    stored = {(one["codec"], one["granularity_bytes"]): one for one in part["stored"]}
    assert stored["zstd-1", 1]["stored_bytes"] == sizes.sum()
    assert stored["zstd-1", 512]["stored_bytes"] == (-(-sizes // 512) * 512).sum()
    assert stored["none", 1]["ratio"] == stored["zstd-1", 4096]["ratio"] == 1
    assert {one["standard_error_bytes"] for one in part["stored"]} == {0}
    assert (part["kind"], part["name"], part["read_bytes"]) == ("unnamed", "file 5/16384", 6 * MB)


def test_a_sample_is_near_the_whole_and_says_how_near(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    (whole,) = found(capsys, str(cluster), "--whole")["parts"]
    (part,) = found(capsys, str(cluster), "--sample", "2MB")["parts"]
    assert part["read_bytes"] == 2 * MB
    for sampled, exact in zip(part["stored"], whole["stored"], strict=True):
        error = sampled["standard_error_bytes"]
        assert 0 < error < 0.1 * exact["stored_bytes"]
        assert abs(sampled["stored_bytes"] - exact["stored_bytes"]) < 3 * error
    assert found(capsys, str(cluster), "--sample", "2MB")["parts"] == [part]


def test_people_are_told_that_it_is_an_estimate(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    assert main(["drive", "compressibility", str(cluster), "--sample", "2MB"]) == 0
    printed = capsys.readouterr().out
    assert "6MB, of which 2MB (33 %) were read and compressed" in printed
    assert "no drive was measured" in printed
    assert "file 5/16384" in printed
    assert "±" in printed
    assert "zstd-1, 512B" in printed


def test_bad_words_are_refused(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    where = str(cluster)
    assert '--codec: there is no codec "gzip"' in refused(capsys, where, "--codec", "gzip")
    assert "powers of two from 1B to 4kB" in refused(capsys, where, "--granularity", "3B")
    assert "powers of two from 1B to 4kB" in refused(capsys, where, "--granularity", "8kB")
    assert "whole per cents from 10 to 100" in refused(capsys, where, "--fillfactor", "5")
    assert "--sample wants a size above 0" in refused(capsys, where, "--sample", "0MB")
    assert "unit" in refused(capsys, where, "--sample", "100")


def test_what_is_no_cluster_is_refused(capsys: pytest.CaptureFixture[str], cluster: Path, tmp_path: Path) -> None:
    assert "neither a directory nor a connection string" in refused(capsys, str(tmp_path / "nowhere"))
    assert "not the data directory of a PostgreSQL cluster" in refused(capsys, str(cluster / "base"))
    assert "could not read the server" in refused(capsys, f"host={tmp_path} port=1")
    (cluster / "base/5/16384").write_bytes(b"")
    assert "has no data to look at" in refused(capsys, str(cluster))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    (cluster / "base/5/16384").chmod(0)
    assert "16384" in refused(capsys, str(cluster))
    (cluster / "base").chmod(0)
    assert "no permission to read" in refused(capsys, str(cluster))
    (cluster / "base").chmod(0o700)
