"""What simulated drives take of memory is known before, and no more of them are simulated at once than fit."""

from typing import Any

import pytest

from pgassay import flash
from pgassay.cli import main
from pgassay.errors import UsageError
from pgassay.flash import simulation
from pgassay.flash.simulation import Description, describe

GIB = 1 << 30


def described(*parts: dict[str, Any], **drive: Any) -> Description:
    return describe({"drive": {"user_bytes": GIB, **drive}, "input": list(parts) or [{}]})


def per_block(*parts: dict[str, Any], **drive: Any) -> float:
    return simulation.forecast_bytes(described(*parts, **drive)) / (GIB // 4096)


def test_the_forecast_is_what_the_manual_says() -> None:
    assert per_block(over_provisioning="7%") == pytest.approx(4 + 1.07 * 4.125, rel=1e-3)
    assert per_block(pools=[["50%", "7%"], ["50%", "27%"]]) == per_block(over_provisioning=0.17)
    whole = per_block(kind="compressing")
    assert whole < 20
    halves: list[dict[str, Any]] = [
        {"bytes": 2048},
        {"between": [0, 4096]},
        {"weights": [[1024, 1], [3072, 1]]},
        {"quantiles": [[0, 0], ["100%", 4096]]},
    ]
    found = {per_block({"sizes": [sizes]}, kind="compressing") for sizes in halves}
    assert len(found) == 1
    assert found.pop() > whole + 5
    thin = per_block(kind="compressing", logical_bytes=2 * GIB)
    assert thin == pytest.approx(whole + 10)


def test_what_cannot_be_is_left_to_the_model() -> None:
    wrong: list[dict[str, Any]] = [{"user_bytes": 0}, {"user_bytes": 1 << 50}]
    assert [simulation.forecast_bytes(described(**drive)) for drive in wrong] == [0, 0]


def test_no_more_at_once_than_fit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    drives = [described(), described(user_bytes=2 * GIB)]
    largest = simulation.forecast_bytes(drives[1])
    for room, wanted, expected in ((1.2, 8, 1), (2.5, 8, 2), (100, 8, 8)):
        monkeypatch.setattr(simulation, "available_memory_bytes", lambda room=room: int(room * largest))
        assert simulation.at_once(drives, wanted) == expected
    monkeypatch.setattr(simulation, "available_memory_bytes", lambda: largest)
    with pytest.raises(UsageError, match="needs about"):
        simulation.at_once(drives, 1)
    assert main(["drive", "simulate", "--capacity", "2GB"]) == 2
    assert (
        "the model needs about 4.2MB of memory, 3.8MB are available\nhint: a smaller drive" in capsys.readouterr().err
    )


def test_a_drive_that_does_not_fit_is_refused_in_a_notebook_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "available_memory_bytes", lambda: 1 << 20)
    with pytest.raises(UsageError, match="needs about"):
        flash.simulate({"drive": {"user_bytes": "2GB"}})
