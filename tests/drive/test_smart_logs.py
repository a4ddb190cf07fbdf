"""nvme-cli's JSON in every form that its plugins print. No such drive stood by: the texts were written after the
plugins' printing code (v3.0-rc1), with the two counts of ScaleFlux's log taken from the published study.
"""

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgassay.drive.smart import INTEL_UNIT_BYTES, Media, parse_media, parse_standard


def device_stats(title: str, nand: int, host: int) -> str:
    """Intel's log and its many copies."""
    stats = {
        "program_fail_count": {"normalized": 100, "raw": 0},
        "wear_leveling": {"normalized": 99, "raw": {"min": 12, "max": 14, "avg": 13}},
        "nand_bytes_written": {"normalized": 100, "raw": nand},
        "host_bytes_written": {"normalized": 100, "raw": host},
    }
    return json.dumps({title: "nvme0", "Device stats": stats})


PLUGINS = {"Intel": "intel", "Solidigm": "solidigm", "ScaleFlux": "sfx"}
"""Which plugin reads the logs whose units are the vendor's own."""

LOGS: dict[str, tuple[str, Media]] = {
    "OCP, first names": (
        '{"Physical media units written":{"hi":0,"lo":123456789012},"Physical media units read":{"hi":0,"lo":5}}',
        Media(123456789012, unit_bytes=1),
    ),
    "OCP, second names": (
        '{"physical_media_units_written":{"hi":1,"lo":7},"log_page_version":4}',
        Media(2.0**64 + 7, unit_bytes=1),
    ),
    "Intel": (device_stats("Intel Smart log", 900, 300), Media(900, 300, INTEL_UNIT_BYTES)),
    "Solidigm": (device_stats("Solidigm SMART log", 900, 300), Media(900, 300, INTEL_UNIT_BYTES)),
    "ScaleFlux": (device_stats("ScaleFlux Smart log", 35523407, 21257937), Media(35523407, 21257937, None)),
    "Micron, log 0xD0": (
        '{"Micron Vendor Specific Extended SMART Health Log: 0xD0":'
        '[{"NAND Writes (Bytes Written)":"0x1f4","Program Failure Count":"0x0"}]}',
        Media(500, unit_bytes=1),
    ),
    "Micron, OCP": (
        '{"OCP SMART Cloud Health Log: 0xC0":[{"Physical Media Units Written":"0x10000000000000001"}]}',
        Media(2.0**64 + 1, unit_bytes=1),
    ),
    "Micron, two kinds of cell": (
        '{"OCP Hyperscale Cloud Health Log: 0xC0":'
        '[{"Physical Media Units Written - TLC":"0x64","Physical Media Units Written - SLC":"0x20"}]}',
        Media(132, unit_bytes=1),
    ),
    "WD, halves": ('{"NAND Bytes Written Hi":0,"NAND Bytes Written Lo":4096}', Media(4096, unit_bytes=1)),
    "WD, flat": ('{"nand_bytes_written raw":77,"host_bytes_written raw":33}', Media(77, 33, None)),
    "FDP": ('{"hbmw":"18446744073709551617","mbmw":20,"mbe":0}', Media(20, 2.0**64 + 1, 1)),
}


@pytest.mark.parametrize("form", LOGS)
def test_every_form_of_nand_writes(form: str) -> None:
    text, expected = LOGS[form]
    assert parse_media(text, PLUGINS.get(form, "")) == expected


def test_the_published_ratio_comes_out() -> None:
    media = parse_media(LOGS["ScaleFlux"][0])
    assert media is not None
    assert media.host is not None
    assert round(media.nand / media.host, 2) == 1.67


@pytest.mark.parametrize("used", ["percent_used", "percentage_used"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_the_standard_log(used: str, quote: str) -> None:
    text = (
        f'{{"critical_warning":0,"{used}":3,"data_units_read":{quote}11{quote},"data_units_written":{quote}7{quote}}}'
    )
    found = parse_standard(text)
    assert found is not None
    assert (found.host_bytes_written, found.host_bytes_read) == (3_584_000, 5_632_000)
    assert found.percentage_used == 3


@pytest.mark.parametrize(
    "text", ["", "NVMe status: Invalid Log Page", "[]", "7", "{}", '{"Physical media units written":{"hi":0}}']
)
def test_what_is_no_such_log_tells_nothing(text: str) -> None:
    assert parse_media(text) is None
    assert parse_standard(text) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_document_makes_it_fall_over(document: Any) -> None:
    text = json.dumps(document)
    assume(not re.search("written|mbmw", text, re.IGNORECASE))  # hypothesis draws names from our sources, too
    assert parse_media(text) is None
    assert parse_standard(text) is None
