"""What a failed build needs, from its output; and which tools are missing before it begins."""

from pathlib import Path

import pytest

from pgassay.postgres.builds import builder
from pgassay.postgres.builds.builder import Toolchain
from pgassay.postgres.builds.recipe import BuildError
from tests.fakes.runner import FakeRunner


@pytest.mark.parametrize(
    ("output", "words", "remedy"),
    [
        ("checking for bison... no\nconfigure: error: bison not found\n", "bison not found", "bison"),
        ("make: flex: not found\n", "make: flex: not found", "flex"),
        ("configure: error: no acceptable C compiler found in $PATH", "no acceptable C compiler found in $PATH", "gcc"),
        (
            "a.c:5:10: fatal error: zstd.h: No such file or directory",
            "a.c:5:10: fatal error: zstd.h: No such",
            "libzstd-dev",
        ),
        ("configure: error: zlib library not found\nIf you have zlib …", "zlib library not found", "zlib1g-dev"),
    ],
)
def test_the_missing_package_is_named(output: str, words: str, remedy: str) -> None:
    assert builder.failure_line(output).startswith(words)
    assert builder.remedy(output, debian=True) == f"sudo apt-get install {remedy}"


def test_a_warning_about_bison_is_not_the_reason() -> None:
    output = "*** Without Bison you will not be able to build\nx.c:1: error: 'y' undeclared\nmake: *** [x.o] Error 1\n"
    assert builder.remedy(output, debian=True) == "see the compiler's message"
    assert builder.failure_line(output) == "x.c:1: error: 'y' undeclared"


def test_a_compiler_that_makes_no_program_may_dislike_its_flags_or_lack_a_library() -> None:
    output = (
        "configure: error: in `/x/objects':\nconfigure: error: C compiler cannot create executables\nSee config.log\n"
    )
    assert builder.failure_line(output) == "C compiler cannot create executables"
    assert builder.remedy(output, debian=True) == (
        "check the compiler's flags (build.cflags), or sudo apt-get install libc6-dev"
    )


def test_a_full_disk_and_silence() -> None:
    assert "disk is full" in builder.remedy("cc1: error: x.s: No space left on device", debian=True)
    assert builder.failure_line("\n") == "it printed nothing"


def test_missing_tools_are_found_before_the_build(tmp_path: Path) -> None:
    there = {"perl": "/usr/bin/perl", "apt-get": "/usr/bin/apt-get"}
    with pytest.raises(BuildError, match="needs a C compiler, make, bison, flex, which this machine lacks") as caught:
        Toolchain(FakeRunner(), {}, there.get).require(tmp_path)
    assert caught.value.hint == "sudo apt-get install gcc make bison flex"


def test_an_old_tarball_brings_its_parser_along(tmp_path: Path) -> None:
    parser = tmp_path / "src" / "backend" / "parser" / "gram.c"
    parser.parent.mkdir(parents=True)
    parser.touch()
    there = {name: f"/usr/bin/{name}" for name in ("gcc", "make", "perl")}
    Toolchain(FakeRunner(), {}, there.get).require(tmp_path)
    parser.unlink()
    with pytest.raises(BuildError, match="needs bison, flex") as caught:
        Toolchain(FakeRunner(), {}, there.get).require(tmp_path)
    assert caught.value.hint == "sudo dnf install bison flex"


def test_without_a_compiler_everything_that_lacks_is_named_at_once() -> None:
    there = {"make": "/usr/bin/make", "perl": "/usr/bin/perl", "apt-get": "/usr/bin/apt-get"}
    tools = Toolchain(FakeRunner(), {}, there.get)  # the fake knows no program
    with pytest.raises(BuildError, match="needs a C compiler, bison, flex, which this machine lacks") as caught:
        tools.compiler(17)
    assert caught.value.hint == "sudo apt-get install gcc bison flex"
    with pytest.raises(BuildError, match="needs a C compiler, which this machine lacks"):
        tools.compiler(15)  # whose tarball brings its parser along


def test_flags_follow_the_version_and_what_is_there() -> None:
    def pkg_config(arguments: object, given: str) -> tuple[int, str, str]:
        return (0 if arguments in (["--exists", "zlib"], ["--exists", "liblz4"]) else 1), "", ""

    runner = FakeRunner({"pkg-config": pkg_config})
    tools = Toolchain(runner, {}, lambda name: f"/usr/bin/{name}")
    assert tools.flags(13) == ("--without-readline",)
    assert tools.flags(17) == ("--without-readline", "--without-icu", "--with-lz4")
    assert Toolchain(runner, {}, lambda name: None).flags(13) == ("--without-readline", "--without-zlib")
