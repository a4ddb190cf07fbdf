"""Thresholds as a JUnit file, which continuous integration shows as tests: a case a threshold and treatment.

A case passes where the whole interval is on the good side, as `--check` demands: what is not known yet is a failure of
its own type, so that file and exit status never differ. The elements are those of Jenkins' junit-10.xsd, which GitLab
and the others read; nothing else is in them.
"""

from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from pgassay.analysis.decide import Judgement, Outcome
from pgassay.outgoing import visible
from pgassay.report import decide

if TYPE_CHECKING:
    from pgassay.report.findings import Findings


def write(findings: "Findings", path: Path) -> None:
    """Write the file at `path`, over one that is there; raises `OSError`."""
    path.write_bytes(document(findings))


def document(findings: "Findings") -> bytes:
    """The file's contents: one suite, named as the study is; the baseline's own, which do not count, are left out."""
    judged = [each for each in findings.once(decide.judgements) if decide.counted(findings, each)]
    counts = {
        "tests": str(len(judged)),
        "failures": str(sum(each.outcome is not Outcome.PASS for each in judged)),
        "errors": "0",
        "skipped": "0",
    }
    whole = ElementTree.Element("testsuites", counts)
    name, started = findings.run.header.study, findings.run.header.started_utc.removesuffix("Z")
    seconds = f"{sum(trial.length_s for trial in findings.trials):.3f}"
    suite = ElementTree.SubElement(
        whole, "testsuite", {"name": visible(name), "timestamp": visible(started), "time": seconds, **counts}
    )
    for each in judged:
        suite.append(_case(findings, each, name))
    ElementTree.indent(whole)
    body: bytes = ElementTree.tostring(whole, encoding="utf-8", xml_declaration=True)
    return body + b"\n"


def _case(findings: "Findings", judged: Judgement, study: str) -> ElementTree.Element:
    where = judged.place.name or "the load"
    names = {"classname": f"{study}.{where}", "name": judged.limit.text}
    case = ElementTree.Element("testcase", {name: visible(text) for name, text in names.items()})
    measured = decide.here(judged)
    if judged.outcome is not Outcome.PASS:
        why = judged.why or f"measured: {measured}"
        failure = ElementTree.SubElement(case, "failure", {"type": judged.outcome.value, "message": visible(why)})
        failure.text = visible(f"{judged.limit.text}: {judged.outcome.value} with {where}; measured: {measured}")
    return case
