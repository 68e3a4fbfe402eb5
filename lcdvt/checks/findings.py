"""What a check of a survey or a run found, one sentence each."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """Something that is wrong: where, what, and what to do."""

    where: str
    what: str
    cure: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.cure}."


@dataclass
class Checked:
    """A survey or run that was looked at from end to end."""

    name: str
    kind: str
    """"survey" or "run"."""
    files: int = 0
    objects: int = 0
    findings: list[Finding] = field(default_factory=list)
    incomplete: dict[str, dict[str, str]] = field(default_factory=dict)
    """Objects stored without a file that could not be read: object -> file -> why. On the disk nothing is wrong."""

    @property
    def is_sound(self) -> bool:
        """Say whether nothing is wrong."""
        return not self.findings

    def add(self, where: object, what: str, cure: str) -> None:
        """Note what is wrong."""
        self.findings.append(Finding(str(where), what.rstrip("."), cure.rstrip(".")))

    def to_record(self) -> dict[str, Any]:
        """Return the check as JSON can hold it."""
        return {**asdict(self), "is_sound": self.is_sound}
