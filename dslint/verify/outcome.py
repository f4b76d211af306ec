"""What came of a verification."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

Status = Literal["pass", "fail", "unverified"]


class Row(NamedTuple):
    """One thing that was declared, what was found, and the verdict on it; ``reason``: in a sentence, where "declared, but trained" does not say it."""

    what: str
    declared: str
    found: str
    status: Status
    reason: str = ""

    @property
    def same(self) -> bool:
        return self.status == "pass"


class Substitution(NamedTuple):
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class EngineError:
    """The engine's own words: ``where`` is the innermost frame in an installed package, ``phase`` what was being done.

    ``ours``: no engine had a part in it, dslint itself is at fault.
    """

    type: str
    message: str
    where: str
    phase: str
    ours: bool = False
    causes: tuple[str, ...] = ()
    trace: str = ""

    @property
    def full(self) -> str:
        """The error with all that led to it."""
        return "\n".join((str(self), *self.causes))

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


@dataclass(frozen=True, slots=True)
class Outcome:
    """``losses``: one for each step, mean over the ranks. ``bytes_per_rank``: storages of parameters and optimizer.

    ``adjustments``: what was scaled to this machine. ``substitutions``: what was replaced after a known error.
    ``gpu_only``: what no CPU run exercises.
    """

    name: str
    status: Status
    reason: str = ""
    error: EngineError | None = None
    table: tuple[Row, ...] = ()
    losses: tuple[float, ...] = ()
    learning_rates: tuple[float, ...] = ()
    skipped_steps: tuple[int, ...] = ()
    substitutions: tuple[Substitution, ...] = ()
    adjustments: tuple[str, ...] = ()
    gpu_only: tuple[str, ...] = ()
    ranks: int = 0
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    bytes_per_rank: tuple[dict[str, int], ...] = ()
    context: str = "native"
    seconds: float = 0.0

    def exit_code(self, strict: bool) -> int:
        return 1 if self.status == "fail" or (strict and self.status == "unverified") else 0

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = asdict(self)
        plain["file"] = plain.pop("name")
        plain["table"] = [row._asdict() for row in self.table]
        plain["substitutions"] = [substitution._asdict() for substitution in self.substitutions]
        return plain

    def render(self) -> str:
        """A few lines for people."""
        lines = [f"{self.name}: {self.status.upper()}" + (f": {self.reason}" if self.reason else "")]
        if self.error:
            first, *more = str(self.error).splitlines() or [""]
            lines += [f"  engine    {first}", *(f"            {line}" for line in more)]
            lines.append(f"            in {self.error.where} ({self.error.phase})")
        for row in self.table:
            if not row.same:
                lines.append(f"  {row.status:9} {row.what}: " + (row.reason or f"declared {row.declared}, but the run showed {row.found}"))
        if proved := [f"{row.what} {row.found}" for row in self.table if row.same]:
            lines.append(f"  trained   {', '.join(proved)}")
        if self.losses:
            lines.append(f"  loss      {self.losses[0]:.4f} → {self.losses[-1]:.4f} in {len(self.losses)} steps")
        if self.bytes_per_rank:
            most = max(self.bytes_per_rank, key=lambda held: sum(held.values()))
            lines.append(f"  bytes     {most['parameters']:,} of parameters and {most['optimizer']:,} of optimizer on a rank")
        lines += [f"  replaced  {substitution.what}: {substitution.why}" for substitution in self.substitutions]
        lines += [f"  adapted   {adjustment}" for adjustment in self.adjustments]
        if self.gpu_only:
            lines.append(f"  only a GPU shows  {'; '.join(self.gpu_only)}")
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        if self.ranks:
            lines.append(f"  on {self.ranks} ranks ({self.device}), {self.seconds:.1f} s; {versions}")
        return "\n".join(lines)
