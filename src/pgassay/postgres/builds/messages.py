"""Every message about builds that a user may see: lower case, no full stop, with the remedy."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.errors import UsageError
from pgassay.study.units import format_bytes


class BuildError(BenchError):
    """A PostgreSQL could not be built, fetched or verified."""


def unknown_block_size(name: str, text: str, known: Iterable[int]) -> UsageError:
    """A size that configure would refuse."""
    return UsageError(
        f'"{name}" cannot be "{text}"', f"PostgreSQL knows {', '.join(format_bytes(size) for size in known)}"
    )


def bare_block_size(name: str, text: str, known: Sequence[int]) -> UsageError:
    """8192 or 8? SHOW counts bytes, configure kB; at most one of them is a size that PostgreSQL knows."""
    meant = [size for size in known if size in (int(text), int(text) * 1024)]
    hint = f'write "{format_bytes(meant[0])}"' if meant else f"PostgreSQL knows {', '.join(map(format_bytes, known))}"
    return UsageError(f'"{name}" = {text} has no unit', hint)


def bad_source(text: str) -> UsageError:
    """A level of `build.source` that is none."""
    return UsageError(
        f'"{text}" names no source of PostgreSQL',
        "give official, distribution, tarball:FILE, directory:DIR or git:DIR@COMMIT",
    )


def bad_extension(text: str) -> UsageError:
    """A level of `build.extension` that is none."""
    return UsageError(f'"{text}" names no source of an extension', "give directory:DIR or git:DIR@COMMIT")


def no_extension(what: str) -> UsageError:
    """Nothing that PostgreSQL's makefiles for extensions (PGXS) build."""
    return UsageError(f"{what} has no Makefile: it is no extension that PGXS builds", "name the extension's own folder")


def bad_flags(text: str) -> UsageError:
    """Flags that a command line cannot hold."""
    return UsageError(
        f'"build.cflags" cannot be "{text}"', "give compiler flags separated by spaces: -O3 -march=native"
    )


def no_cache(path: Path, detail: str) -> UsageError:
    """The cache's directory cannot be used."""
    return UsageError(f'builds cannot be kept in "{path}": {detail}', "name another place with PGASSAY_CACHE")


_ROOM = "free space there, remove builds (pgassay postgres list, remove), or name another place with PGASSAY_CACHE"


def too_little_space(path: Path, builds: int, needed: int, free: int) -> BuildError:
    """Said before anything is written."""
    what = "a build needs" if builds == 1 else f"{builds} builds need"
    return BuildError(f'"{path}" has {format_bytes(free >> 20 << 20)} free, {what} about {format_bytes(needed)}', _ROOM)


def disk_full(path: Path) -> BuildError:
    """It filled up while a source was unpacked."""
    return BuildError(f'the disk of "{path}" is full', _ROOM)


def missing_tools(tools: Iterable[str], install: str) -> BuildError:
    """No compiler, no make, no bison …: seen before the build starts."""
    return BuildError(f"building PostgreSQL needs {', '.join(tools)}, which this machine lacks", install)


def failed(step: str, words: str, hint: str, log: Path) -> BuildError:
    """configure or make failed; `words` are its own."""
    return BuildError(f"{step} failed: {words}", f"{hint}; its whole output is in {log}")


def wrong_checksum(what: str, expected: str, found: str) -> BuildError:
    """A file whose contents are not those that were published."""
    return BuildError(
        f"{what} has the SHA-256 {found[:16]}…, its checksum says {expected[:16]}…",
        "the file is damaged or not the one that was published: it was not used; fetch it again",
    )


def not_fetched(what: str, detail: str) -> BuildError:
    """The network or the server refused."""
    return BuildError(
        f"could not fetch {what}: {detail}",
        "fetch it elsewhere and name it: build.source = tarball:FILE (with FILE.sha256 beside it, it is checked)",
    )


def not_unpacked(path: Path, detail: str) -> BuildError:
    """No tarball, or a damaged one."""
    return BuildError(
        f'"{path}" cannot be unpacked: {detail}',
        "fetch it again; it must be a tar file, plain or with gzip, bzip2 or xz",
    )


def not_exported(folder: Path, sha: str, detail: str) -> BuildError:
    """git cannot write a commit's files, or the disk cannot take them."""
    return BuildError(
        f'commit {sha[:12]} of "{folder}" cannot be exported: {detail}', "check the repository with git fsck"
    )


def bad_checksum_file(path: Path, detail: str) -> BuildError:
    """The file beside a tarball holds something else."""
    return BuildError(
        f'"{path}" holds no checksum: {detail}', "fetch it again beside its tarball, or remove it to build unchecked"
    )


def needs_consent(package: str) -> UsageError:
    """The machine's package sources have no deb-src entry; ours would be a private one."""
    return UsageError(
        f"the source package {package} is not available: apt has no source entries",
        "--allow-deb-src lets apt read them from a private configuration; the machine's own stays unchanged",
    )


def no_package_source(detail: str, *, newer: bool = False) -> BuildError:
    """apt is not here, or found nothing; `newer`: it was not allowed to look into newer suites."""
    look = "let apt look into Debian's newer suites with --allow-deb-src, or " if newer else ""
    hint = f"{look}use build.source = official or tarball:FILE"
    return BuildError(f"no source package of PostgreSQL: {detail}", hint)


def not_a_source(path: Path) -> UsageError:
    """A folder or tarball that holds something else."""
    return UsageError(
        f'"{path}" does not hold the source of PostgreSQL', "its top has a file configure and a folder src/backend"
    )


def no_such_source(path: Path) -> UsageError:
    """Neither a file nor a folder."""
    return UsageError(
        f'there is no "{path}"', "name PostgreSQL's source: tarball:FILE, directory:DIR or git:DIR@COMMIT"
    )


def not_a_checkout(path: Path) -> UsageError:
    """A folder that git does not know."""
    return UsageError(f'"{path}" is not a git repository', f"a source without one is named as directory:{path}")


def configured_in_place(path: Path) -> UsageError:
    """A tree with its own objects would mix them into ours."""
    return UsageError(
        f'"{path}" is configured and built in place', f"run make distclean there, or use git:{path}@COMMIT"
    )


def unknown_commit(path: Path, commit: str, words: str) -> UsageError:
    """git knows no such commit; `words` are its own."""
    return UsageError(f'"{path}" has no commit "{commit}": {words}', f"git -C {path} log --oneline lists them")


def no_tags(path: Path, name: str) -> UsageError:
    """A name that may be a tag, in a clone that was made without them."""
    return UsageError(
        f'"{path}" has no commit "{name}", and no tags', f"git -C {path} fetch --tags brings those of its origin"
    )


def no_commits(path: Path) -> UsageError:
    """A repository in which nothing was ever committed."""
    return UsageError(f'"{path}" has no commits', "commit the sources first, or name another repository")


def same_commit(good: str, bad: str) -> UsageError:
    """Two names of one commit."""
    return UsageError(f'"{good}" and "{bad}" are the same commit', "name two commits that differ")


def not_before(good: str, bad: str) -> UsageError:
    """Nothing leads from the one to the other by first parents."""
    return UsageError(
        f'"{good}" is not on the line of first parents of "{bad}"',
        f"git log --first-parent {bad} lists the commits that can be the good one",
    )


def no_version(what: str) -> BuildError:
    """The source's configure script has no PACKAGE_VERSION."""
    return BuildError(f"{what} does not say which version of PostgreSQL it is")


def other_version(what: str, expected: str, found: str) -> UsageError:
    """`build.version` against what the source says."""
    return UsageError(f"{what} is PostgreSQL {found}, not {expected}", "change build.version or build.source")


def unknown_version(detail: str) -> UsageError:
    """A version is needed, and nothing says which."""
    return UsageError(f"no version of PostgreSQL to build is given, and {detail}", "name one: build.version = 17.5")


def damaged(key: str, detail: str) -> BuildError:
    """The cache was changed, or the disk lost something."""
    return BuildError(f"build {key} in the cache is damaged: {detail}", f"remove it: pgassay postgres remove {key}")


def damaged_source(path: Path, detail: str) -> BuildError:
    """A tarball or a note of the cache was changed by hand."""
    return BuildError(
        f'"{path}" in the cache is damaged: {detail}',
        "remove that file: a source is fetched again when it is needed",
    )


def damaged_builds(keys: Sequence[str], looked_at: int) -> BuildError:
    """What `verify` found, after all builds were looked at."""
    return BuildError(
        f"{len(keys)} of {looked_at} builds {'is' if len(keys) == 1 else 'are'} damaged",
        f"remove them; a study builds them again: pgassay postgres remove {' '.join(keys)}",
    )


def not_as_requested(key: str, name: str, expected: object, found: object) -> BuildError:
    """The programs are not what their key says."""
    return BuildError(
        f"build {key} has {name} = {found}, not {expected} as requested", f"pgassay postgres remove {key}"
    )


def unknown_build(text: str, known: Iterable[str]) -> UsageError:
    """No such key in the cache."""
    return UsageError(f'no build "{text}" is in the cache', f"the cache holds: {', '.join(known) or 'none'}")


def ambiguous_build(text: str, matching: Iterable[str]) -> UsageError:
    """A prefix of several keys."""
    return UsageError(f'"{text}" matches several builds: {", ".join(matching)}', "give more digits")


def not_built(name: str) -> UsageError:
    """A dry run needs the programs, and builds none."""
    return UsageError(
        f"PostgreSQL {name} is not built yet, and a dry run builds nothing", "build it first: pgassay postgres build"
    )


def named_and_built() -> UsageError:
    """Both a bin directory and a build are asked for."""
    return UsageError("--pg-bindir names the programs, build.* factors build them", "leave one of them out")
