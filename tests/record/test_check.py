"""Everything that can be wrong with a run is found, each kind by its own finding; a good run has none."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from pgassay.record.check import check
from pgassay.record.directory import RunDirectory
from pgassay.record.errors import NewerFormatError, NotARunError
from pgassay.record.journal import FILE, Decision, Entry, Kind, Step, encode, inputs_sha256
from pgassay.record.values import Reason
from pgassay.study.findings import Finding, Severity
from pgassay.study.responses import Status
from tests.fakes.disk import FakeDisk
from tests.record.runs import ROOT, RUN, commit, create, fake_disk, stage, tool_writes, trial

ERROR, NOTE = Severity.ERROR, Severity.NOTE


def good() -> FakeDisk:
    """A finished run of three trials."""
    disk = fake_disk()
    with create(disk) as run:
        for number in (1, 2, 3):
            run.decide(decision(Step.NEXT, number).as_data())
            commit(disk, run, number)
        run.decide(decision(Step.STOP, 3).as_data())
        run.finish("all blocks done")
    return disk


def decision(
    step: Step, number: int, arm: str = "build.block_size=8kB", budget_used_s: float | None = None
) -> Decision:
    return Decision(
        step, inputs_sha256(number), number, number if budget_used_s is None else budget_used_s, arm, number
    )


def overwrite(disk: FakeDisk, name: str, data: bytes) -> None:
    disk.truncate(RUN / name, 0)
    disk.append(RUN / name, data)


def found(disk: FakeDisk) -> list[tuple[Severity, str, str]]:
    return [(finding.severity, finding.where, finding.text) for finding in check(RUN, disk)]


def journalled(*steps: Callable[[RunDirectory], object]) -> list[Finding]:
    """The findings about a run in which these things were journalled."""
    disk = fake_disk()
    with create(disk) as run:
        for step in steps:
            step(run)
    return check(RUN, disk)


def test_a_good_run_has_no_findings() -> None:
    assert check(RUN, good()) == []


def test_what_is_no_run_of_ours_to_read_is_an_error_and_no_finding() -> None:
    with pytest.raises(NotARunError, match="is not a run directory"):
        check(ROOT / "missing", fake_disk())
    disk = good()
    overwrite(disk, "run.json", b'{"format": 99, "program_version": "9.9"}')
    with pytest.raises(NewerFormatError, match="has format 99"):
        check(RUN, disk)


@pytest.mark.parametrize(
    ("name", "data", "where", "what"),
    [
        ("trials/000002/pgbench.out", b"tps = 9", "trial 2", "pgbench.out was changed"),
        ("trials/000002/series.parquet", b"", "trial 2", "series.parquet was changed"),
        ("trials/000002/SHA256SUMS", b"", "trial 2", "pgbench.out was added"),
        ("trials/000002/SHA256SUMS", b"nonsense", "trial 2", "is not a list of checksums"),
        ("trials/000002/trial.json", b"{}", "trial 2", "trial.json was changed"),
        ("study.toml", b"[", "study.toml", "study.toml"),
        ("host.json", b'{"format": 1}', "host.json", "holds no facts"),
    ],
)
def test_a_changed_file_is_found(name: str, data: bytes, where: str, what: str) -> None:
    disk = good()
    overwrite(disk, name, data)
    findings = found(disk)
    assert any(severity is ERROR and place == where and what in text for severity, place, text in findings), findings


def test_a_trial_forged_with_its_sums_is_found_by_the_journal() -> None:
    disk = good()
    directory = RUN / "trials" / "000002"
    import hashlib

    new = disk.read(directory / "trial.json").replace(b"1000.0", b"2000.0")
    old_sum = hashlib.sha256(disk.read(directory / "trial.json")).hexdigest().encode()
    sums = disk.read(directory / "SHA256SUMS").replace(old_sum, hashlib.sha256(new).hexdigest().encode())
    overwrite(disk, "trials/000002/trial.json", new)
    overwrite(disk, "trials/000002/SHA256SUMS", sums)
    assert (ERROR, "trial 2", "does not have the hash that the journal gives") in found(disk)


def test_added_and_missing_files_are_found() -> None:
    disk = good()
    tool_writes(disk, RUN / "trials" / "000001" / "extra", b"")
    disk.remove(RUN / "trials" / "000003" / "pgbench.out")
    tool_writes(disk, RUN / "trials" / "notes.txt", b"")
    assert found(disk) == [
        (ERROR, "trials/notes.txt", "was not made by pgassay"),
        (ERROR, "trial 1", "extra was added"),
        (ERROR, "trial 3", "pgbench.out is missing"),
    ]


def test_a_lost_trial_is_found_twice_over() -> None:
    disk = good()
    disk.remove_tree(RUN / "trials" / "000002")
    assert (ERROR, "trial 2", "is in the journal but not under trials/") in found(disk)
    assert (ERROR, "trial 2", "is missing between committed trials") in found(disk)


def test_what_a_crash_leaves_is_a_note() -> None:
    disk = fake_disk()
    run = create(disk)
    commit(disk, run, 1)
    stage(disk, run, 2)
    journal = disk.read(RUN / FILE)
    lines = journal.splitlines(keepends=True)
    overwrite(disk, FILE, b"".join(lines[:2]) + lines[2][:9])
    assert found(disk) == [
        (NOTE, FILE, "the last line is torn (9 bytes); resuming cuts it off"),
        (NOTE, "trials/.staging-000002", "a trial is under way or was interrupted; it is not counted"),
        (NOTE, "trial 1", "is committed but not journalled; resuming adopts it"),
    ]


def test_a_doubled_trial_is_found() -> None:
    disk = fake_disk()
    with create(disk) as run:
        commit(disk, run, 1)
        run.commit_trial(stage(disk, run, 2), replace(trial(1), number=2), [])
        run.commit_trial(stage(disk, run, 3), replace(trial(1), number=3, attempt=2), [])
    arm = "block 1 build.block_size=8kB  load.clients=4"
    assert found(disk) == [
        (ERROR, "trial 2", f"repeats trial 1: {arm} attempt 1"),
        (ERROR, "trial 2", f"repeats trial 1: {arm} valid"),
        (ERROR, "trial 3", f"repeats trial 2: {arm} valid"),
    ]


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        ([lambda run: run.journal.append(Kind.RUN_STARTED, {"seed": 42})], "a run starts with its first line, once"),
        (
            [
                lambda run: run.journal.append(Kind.FINISHED),
                lambda run: run.journal.append(Kind.TRIAL_STARTED, {"number": 1}),
            ],
            "work goes on after the run was finished, without being resumed",
        ),
        ([lambda run: run.decide({"step": "perhaps"})], "is no decision: Invalid enum value 'perhaps' - at `$.step`"),
        (
            [
                lambda run: run.decide(decision(Step.NEXT, 2).as_data()),
                lambda run: run.decide(decision(Step.NEXT, 3, budget_used_s=1.0).as_data()),
            ],
            "the budget used is less than it was",
        ),
        (
            [
                lambda run: run.decide(decision(Step.DROP, 0, "a=1").as_data()),
                lambda run: run.decide(decision(Step.NEXT, 1, "a=1").as_data()),
            ],
            '"a=1" is run although it was dropped',
        ),
    ],
)
def test_a_journal_that_contradicts_itself_is_found(steps: list[Callable[[RunDirectory], object]], what: str) -> None:
    findings = journalled(*steps)
    assert [finding.text for finding in findings] == [what]
    assert all(finding.where.startswith("journal.jsonl line ") for finding in findings)


def test_a_trial_committed_without_a_start_is_found() -> None:
    disk = good()
    lines = [line for line in disk.read(RUN / FILE).splitlines() if b'"trial_started"' not in line]
    import msgspec

    entries = [msgspec.json.decode(line, type=Entry) for line in lines]
    renumbered = [replace(entry, seq=seq) for seq, entry in enumerate(entries, 1)]
    overwrite(disk, FILE, b"".join(encode(entry) for entry in renumbered))
    assert [what for _, _, what in found(disk)] == [
        f"trial {number} is committed but never started" for number in (1, 2, 3)
    ]


def test_another_seed_is_found() -> None:
    disk = good()
    overwrite(disk, "run.json", disk.read(RUN / "run.json").replace(b'"seed": 42', b'"seed": 43'))
    assert (ERROR, "journal.jsonl line 1", "the seed is not the one in run.json") in found(disk)


BESIDE = {"likeness.json": b'{"format": 1}', "statements.json": b"[]"}


@pytest.mark.parametrize("name", ["run.json", "study.toml", "host.json", *BESIDE])
def test_a_file_that_is_written_once_and_was_changed_since_is_found(name: str) -> None:
    """Each still reads well: a space more."""
    disk = fake_disk()
    create(disk, beside=BESIDE).close()
    assert found(disk) == []
    disk.append(RUN / name, b" \n")
    assert found(disk) == [(ERROR, name, "is not as it was when the run began")]


def test_what_a_capsule_goes_without_is_noted() -> None:
    disk = fake_disk()
    create(disk, beside=BESIDE).close()
    disk.remove(RUN / "statements.json")
    assert found(disk) == [(NOTE, "statements.json", "is not here: a capsule goes without it")]


@pytest.mark.parametrize("sums", [None, [], {"../../evil": "0"}, {"": 1}, {"trials": "0"}, {"host.json": None}])
def test_sums_of_older_and_of_forged_records(sums: object) -> None:
    disk = fake_disk()
    with create(disk) as run:
        first = run.journal.entries[0]
    data = {key: value for key, value in first.data.items() if key != "sha256"}
    overwrite(disk, FILE, encode(replace(first, data=data if sums is None else {**data, "sha256": sums})))
    assert [severity for severity, _, _ in found(disk)] == ([ERROR] if isinstance(sums, dict) else [])


def allowed(host: Mapping[str, object], *later: Mapping[str, object]) -> list[str]:
    """The errors of a run that began so, and went on so."""
    disk = fake_disk()
    with create(disk, host=host) as run:
        for each in later:
            run.resumed(each)
    return [finding.text for finding in check(RUN, disk) if finding.severity is ERROR]


def test_a_run_that_goes_on_as_it_did_not_begin_is_found() -> None:
    began = {"place": {"allow_busy": True, "allow_volatile": False}}
    assert allowed(began, {"allow_busy": True, "allow_volatile": False}, {}) == []
    assert allowed(began, {"allow_busy": False}) == ["goes on without --allow-busy, and the run began with it"]
    assert allowed(began, {"allow_volatile": True}) == ["goes on with --allow-volatile, and the run began without it"]
    assert allowed({}, {"allow_busy": True}) == [], "an older record does not tell how it began"


def test_trials_that_were_discarded_although_others_were_allowed_are_found() -> None:
    disk = fake_disk()
    with create(disk, host={"place": {"allow_busy": True}}) as run:
        staging = stage(disk, run, 1)
        run.commit_trial(
            staging, replace(trial(1), status=Status.INVALID, reasons=(Reason("foreign_cpu", "others"),)), ()
        )
    assert [finding.text for finding in check(RUN, disk) if finding.severity is ERROR] == [
        "1 trials were discarded because of other programs, and the run began with --allow-busy: trial 1"
    ]


def test_an_extension_that_is_none_is_found() -> None:
    (finding,) = journalled(lambda run: run.journal.append(Kind.EXTENDED, {"blocks_max": "many"}))
    assert "does not say how far the run goes on" in finding.text
