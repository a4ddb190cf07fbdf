"""nvme-cli's JSON in every form that its plugins print. No such drive stood by: the texts were written after the
plugins' printing code (1.16 to 3.0-rc1), with the two counts of ScaleFlux's log taken from the published study.
"""

import json
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgassay.drive import smart
from pgassay.drive.smart import (
    INTEL_UNIT_BYTES,
    MEDIA_LOGS,
    Media,
    parse_capacity,
    parse_contents,
    parse_media,
    parse_standard,
)


def device_stats(title: str, nand: int, host: int) -> str:
    """Intel's log and its many copies."""
    stats = {
        "program_fail_count": {"normalized": 100, "raw": 0},
        "wear_leveling": {"normalized": 99, "raw": {"min": 12, "max": 14, "avg": 13}},
        "nand_bytes_written": {"normalized": 100, "raw": nand},
        "host_bytes_written": {"normalized": 100, "raw": host},
    }
    return json.dumps({title: "nvme0", "Device stats": stats})


WD_PAGES = """{
  "Wear Range Delta":1,
  "Physical media units written":4097
}
{
  "nand_bytes_written raw":77,
  "host_bytes_written raw":33
}
"""
"""`wdc vs-smart-add-log` prints a document for each log page."""

Log = tuple[tuple[str, ...], str, Media]
LOGS: dict[str, Log] = {
    "OCP, first names": (
        ("ocp", "smart-add-log"),
        '{"Physical media units written":{"hi":0,"lo":123456789012},"Physical media units read":{"hi":0,"lo":5}}',
        Media(123456789012, unit_bytes=1),
    ),
    "OCP, second names": (
        ("ocp", "smart-add-log"),
        '{"physical_media_units_written":{"hi":1,"lo":7},"log_page_version":4}',
        Media(2.0**64 + 7, unit_bytes=1),
    ),
    "FDP": (("fdp", "stats"), '{"hbmw":"18446744073709551617","mbmw":20,"mbe":0}', Media(20, 2.0**64 + 1, 1)),
    "ScaleFlux": (
        ("sfx", "smart-log-add"),
        device_stats("ScaleFlux Smart log", 35523407, 21257937),
        Media(35523407, 21257937, None),
    ),
    "Intel": (
        ("intel", "smart-log-add"),
        device_stats("Intel Smart log", 900, 300),
        Media(900, 300, INTEL_UNIT_BYTES),
    ),
    "Solidigm": (
        ("solidigm", "smart-log-add"),
        device_stats("Solidigm SMART log", 900, 300),
        Media(900, 300, INTEL_UNIT_BYTES),
    ),
    "DapuStor": (("dapustor", "smart-log-add"), device_stats("Dapustor Smart log", 900, 300), Media(900, 300)),
    "Micron, log 0xD0": (
        ("micron", "vs-nand-stats"),
        '{"Micron Vendor Specific Extended SMART Health Log: 0xD0":'
        '[{"NAND Writes (Bytes Written)":"0x1f4","Program Failure Count":"0x0"}]}',
        Media(500, unit_bytes=1),
    ),
    "Micron, OCP": (
        ("micron", "vs-smart-add-log"),
        '{"OCP SMART Cloud Health Log: 0xC0":[{"Physical Media Units Written":"0x10000000000000001"}]}',
        Media(2.0**64 + 1, unit_bytes=1),
    ),
    "Micron, two kinds of cell": (
        ("micron", "vs-nand-stats"),
        '{"OCP Hyperscale Cloud Health Log: 0xC0":'
        '[{"Physical Media Units Written - TLC":"0x64","Physical Media Units Written - SLC":"0x20"}]}',
        Media(132, unit_bytes=1),
    ),
    "WD, two kinds of cell": (
        ("wdc", "vs-nand-stats"),
        '{"NAND Writes TLC (Bytes)":"18446744073709551617","NAND Writes SLC (Bytes)":9,"NAND Program Failures":0}',
        Media(2.0**64 + 10, unit_bytes=1),
    ),
    "WD, halves": (
        ("wdc", "vs-smart-add-log"),
        '{"NAND Bytes Written Hi":0,"NAND Bytes Written Lo":4096}',
        Media(4096, unit_bytes=1),
    ),
    "WD, flat": (
        ("wdc", "vs-smart-add-log"),
        '{"nand_bytes_written raw":77,"host_bytes_written raw":33}',
        Media(77, 33, None),
    ),
    "WD, a document for each page": (("wdc", "vs-smart-add-log"), WD_PAGES, Media(4097, unit_bytes=1)),
    "WD, the second page": (
        ("wdc", "vs-smart-add-log"),
        WD_PAGES.replace("Physical media units written", "Percent Free Blocks"),
        Media(77, 33),
    ),
}


@pytest.mark.parametrize("form", LOGS)
def test_every_form_of_nand_writes(form: str) -> None:
    command, text, expected = LOGS[form]
    assert parse_media(command, text) == expected


FORM = smart._ocp.__annotations__


def test_every_command_and_every_form_has_a_text_here() -> None:
    """A parser that no command reaches is dead; one without a text is a guess."""
    reached = set()
    for command, text, expected in LOGS.values():
        for form in MEDIA_LOGS[command]:
            with pytest.MonkeyPatch.context() as patching:
                patching.setattr(smart, "MEDIA_LOGS", {command: (form,)})
                if parse_media(command, text) == expected:
                    reached.add((command, form))
    assert reached == {(command, form) for command, forms in MEDIA_LOGS.items() for form in forms}
    named = vars(smart).values()
    forms = {each for each in named if isinstance(each, partial) or getattr(each, "__annotations__", {}) == FORM}
    assert forms == {form for forms in MEDIA_LOGS.values() for form in forms}


def test_the_published_ratio_comes_out() -> None:
    command, text, _ = LOGS["ScaleFlux"]
    media = parse_media(command, text)
    assert media is not None
    assert media.host is not None
    assert round(media.nand / media.host, 2) == 1.67


CAPACITY = """logic            capacity: 6400GB(0x2e93432b0)
provisioned      capacity: 3200GB(0x1749a42b0)
free provisioned capacity: 3000GB(0x15d50d130)
used provisioned capacity:  200GB(0x17497180)
"""
"""`sfx query-cap` of 1.16 to 2.6; later ones add a line."""
USED_BYTES = 0x17497180 * 512


@pytest.mark.parametrize("more", ["", "map_unit                 :0x4K\n"])
def test_what_is_used_of_a_compressing_drive_is_told_to_the_sector(more: str) -> None:
    assert parse_capacity(CAPACITY + more) == {"physical_bytes": USED_BYTES}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "vu ioctl fail, errno 25",
        CAPACITY.replace("free provisioned", "free"),
        CAPACITY.replace("0x15d50d130", "0x1749a42b1"),  # more than there is
        CAPACITY.replace("0x15d50d130", "?"),
    ],
)
def test_what_tells_no_capacity(text: str) -> None:
    assert parse_capacity(text) == {}


def test_a_nearly_full_drive_is_not_taken_for_an_empty_one() -> None:
    """Of less than 50 GB that are free nvme-cli prints what remains of 64 bits."""
    free = ((10 * 1953504 - 97696368) % 2**64) // 1953504 + 50
    status = {"Provisioned Capacity [GB]": 3200, "Free Physical Space [GB]": free, "Compression Ratio": 250}
    assert parse_contents(json.dumps({"Device stats": status})) == {}


@pytest.mark.parametrize("used", ["percent_used", "percentage_used"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_the_standard_log(used: str, quote: str) -> None:
    text = (
        f'{{"critical_warning":0,"{used}":3,"data_units_read":{quote}11{quote},"data_units_written":{quote}7{quote}}}'
    )
    found = parse_standard(text)
    assert found == {"host_bytes_written": 3_584_000, "host_bytes_read": 5_632_000, "percentage_used": 3}


@pytest.mark.parametrize(
    "text", ["", "NVMe status: Invalid Log Page", "[]", "7", "{}", '{"Physical media units written":{"hi":0}}']
)
def test_what_is_no_such_log_tells_nothing(text: str) -> None:
    assert not [command for command in MEDIA_LOGS if parse_media(command, text) is not None]
    assert parse_standard(text) == {}


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_document_makes_it_fall_over(document: Any) -> None:
    text = json.dumps(document)
    assume(not re.search("written|mbmw", text, re.IGNORECASE))  # hypothesis draws names from our sources, too
    assert not [command for command in MEDIA_LOGS if parse_media(command, text) is not None]
    assert parse_standard(text) == {}
