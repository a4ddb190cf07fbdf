"""What an emulated drive is: a preset (`ssd`, `csd`) or a description file, with single values laid over.

Keys, names, defaults and limits are the core's (`pgassay._core.DriveDescription`), as for the program that emulates
the drive and for `pgassay drive simulate`; this adds the file, the name and the wording for users. See docs/drives.md.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay import untrusted
from pgassay._core import DRIVE_PRESETS, FLASH_PROFILES, DescriptionError, DriveDescription
from pgassay.errors import UsageError
from pgassay.study.drives import Role


@dataclass(frozen=True)
class Description:
    """A named drive. `kind` is its preset or the stem of its file; `core` is what the core knows of it."""

    kind: str
    core: DriveDescription

    @property
    def without_flash(self) -> bool:
        """Whether it answers as a disk or a cloud's volume, whose times do not come from flash."""
        return self.core.profile is not None and self.core.profile not in FLASH_PROFILES

    @property
    def compresses(self) -> bool:
        return self.core.codec != "none"

    @property
    def role(self) -> Role:
        """What the drive is to a published study: a codec in front of page-mapped flash saves it no byte."""
        return Role.COMPRESSING if self.core.kind == "compressing" and self.compresses else Role.NORMAL

    @property
    def has_shape(self) -> bool:
        """Whether the size of its superblocks is settled: described, or brought by its profile of flash."""
        return self.core.has_shape or self.core.profile in FLASH_PROFILES

    def with_capacity(self, capacity_bytes: int) -> "Description":
        return replace(self, core=self.core.with_capacity(capacity_bytes))

    def with_values(self, values: Mapping[str, object]) -> "Description":
        """With values by key (`drive.policy`, `emulation.codec` …; `timing` as a table, None for no service times).

        Raises `UsageError` that names the key, what is wrong with the value and what is accepted.
        """
        try:
            return replace(self, core=self.core.replace(values))
        except DescriptionError as refused:
            raise impossible(self.kind, str(refused), refused.hint) from None


def impossible(kind: str, said: str, hint: str) -> UsageError:
    """There cannot be such a drive, in the words of the core or of the program that emulates it."""
    return UsageError(f'drive "{kind}" cannot be emulated: {said or "no reason given"}', hint or "see docs/drives.md")


def _invalid(path: Path, why: str, hint: str = "") -> UsageError:
    return UsageError(f'"{path}" is not a valid drive description: {why}', hint or "see docs/drives.md")


PRESETS: Mapping[str, Description] = {name: Description(name, DriveDescription.preset(name)) for name in DRIVE_PRESETS}
"""A normal drive, and one with transparent compression: the same flash, the same over-provisioning."""


def read(path: Path) -> Description:
    """A description file; raises `UsageError` with the path, the key and what is accepted."""
    try:
        document = untrusted.toml(untrusted.read_text(path, pipes=True))
        return Description(path.stem, DriveDescription(document))
    except OSError as failure:
        raise _invalid(path, (failure.strerror or str(failure)).lower()) from None
    except DescriptionError as refused:
        raise _invalid(path, str(refused), refused.hint) from None
    except ValueError as failure:
        raise _invalid(path, f"not valid TOML: {failure}") from None


def digest(path: Path) -> str:
    """Eight digits of a description's contents: another text is another level."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    except OSError as failure:
        raise _invalid(path, (failure.strerror or str(failure)).lower()) from None
