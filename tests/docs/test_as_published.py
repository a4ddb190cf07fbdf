"""The plans that docs/published-studies.md shows are of the studies as they are now, and each can be finished."""

import pytest

from tests.docs.as_published import KEPT, MODELS, OF_TODAY, WHOLE, Planned, quick, untestable


@pytest.mark.parametrize("planned", [*WHOLE, *MODELS], ids=lambda each: each.file.stem)
def test_the_kept_plan_is_of_the_study_as_it_is_today(planned: Planned) -> None:
    """A study that changes needs its dry run again: the page has the command."""
    plan, study = planned.plan, planned.parsed()
    design = study.design
    assert (plan["blocks_min"], plan["blocks_max"], plan["budget_s"]) == (
        design.blocks_min, design.blocks_max, design.budget_s,
    )  # fmt: skip
    assert (plan["primary"], len(plan["arms"])) == (study.primary, len(study.arms))
    sized = planned.sized()
    assert plan["arms"] == [arm.name for arm in sized.arms]
    assert plan["fixed"] == {name: level.typed for name, level in sized.fixed.items()}
    assert (plan["scale_model"] is not None) == bool(planned.scale_to)


@pytest.mark.parametrize("planned", [*WHOLE, *MODELS], ids=lambda each: each.file.stem)
def test_the_kept_plan_names_how_it_differs_and_when_it_reboots_as_the_study_does_today(planned: Planned) -> None:
    plan, study = planned.plan, planned.sized()
    assert plan["differs"] == list(study.differs)
    blocks = study.design.blocks_min, study.design.blocks_max
    reboots = [each - 1 if study.design.reboots else 0 for each in blocks]
    assert [plan["reboots_min"], plan["reboots_max"]] == reboots


@pytest.mark.parametrize("planned", [*WHOLE, *MODELS], ids=lambda each: each.file.stem)
def test_the_budget_holds_the_fewest_blocks(planned: Planned) -> None:
    """The drive studies were once given a week for what takes months, and would have ended without a verdict."""
    plan = planned.plan
    assert plan["warnings"] == []
    assert plan["time_min_s"] is None or plan["time_min_s"] <= plan["budget_s"]


@pytest.mark.parametrize("planned", WHOLE, ids=lambda each: each.file.stem)
def test_every_finding_can_be_judged_as_published_or_says_why_not(planned: Planned) -> None:
    """On drives that are declared to be what the authors' were, only the studies' own reasons remain."""
    study = planned.parsed()
    found = {claim.text: untestable(claim, study) for claim in planned.claims(study)}
    assert any(not why for why in found.values())
    assert not [why for why in found.values() if "timing" in why or "does not have" in why], found


@pytest.mark.parametrize("name", [each for each in OF_TODAY if each != "volumes"])
def test_a_quick_size_of_the_questions_of_today_has_a_finding_to_judge(name: str) -> None:
    """`volumes` has its authors' design and no claim."""
    study = quick(name)
    assert any(not untestable(claim, study) for claim in Planned.claims(study))


NUMBERS = {"four": 4, "five": 5}


def told(finding: str) -> str:
    """What "Study by study" says of a finding, by the beginning of its row."""
    page = (KEPT.parent / "evidence" / "published-studies.md").read_text(encoding="utf-8")
    (found,) = (line for line in page.splitlines() if line.startswith(f"| {finding}"))
    return found


def test_the_rows_study_by_study_count_the_claims_that_are_judged_now() -> None:
    by_name = {planned.study: planned for planned in WHOLE}
    drives, tpcc = (by_name[name] for name in ("fillfactor-drive", "tpcc-fillfactor"))
    found = drives.claims(drives.parsed())
    most = [claim for claim in found if len(claim.than) > 1]
    assert f"{_word(len(most))} claims since that run" in told("insert and update_non_index gain most")
    assert all(len(claim.than) == NUMBERS["five"] for claim in most)
    thirds = [claim for claim in found if claim.response == "write_amplification"]
    assert f"{_word(len(thirds))} claims as published" in told("write amplification a third")
    (space,) = (claim for claim in found if len(claim.than) == 1)
    assert "one ratio by the other" in space.text
    assert "one ratio by the other" in told("it takes far less on the CSD")
    pattern = [claim for claim in tpcc.claims(tpcc.parsed()) if claim.than]
    assert f"{_word(len(pattern))} claims" in told("the same pattern at 1.4 TB")


def _word(count: int) -> str:
    return next(word for word, number in NUMBERS.items() if number == count)
