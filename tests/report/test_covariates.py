"""Covariate points stand in their own order, not in the order in which trials happened to run."""

from pgassay.report.trials import in_order


def test_numbers_go_up_and_names_keep_the_study_s_order() -> None:
    assert in_order(["load.clients=16", "load.clients=2", "load.clients=8"]) == (
        "load.clients=2",
        "load.clients=8",
        "load.clients=16",
    )
    assert in_order(["load.script=b", "load.script=a"]) == ("load.script=b", "load.script=a")
    assert in_order(["a=2, b=1", "a=1, b=2"]) == ("a=2, b=1", "a=1, b=2")
