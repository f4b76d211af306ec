"""Files that changed since a revision, as git sees it."""

from __future__ import annotations

import os
import subprocess

from dslint.faults import Fault


def changed_since(revision: str) -> set[str]:
    """The real paths of files that differ from a revision or that git does not know yet. Raises Fault."""
    top = _git("rev-parse", "--show-toplevel")[0]
    if revision.startswith("-"):
        raise Fault(f"--changed: {revision!r} is no revision")
    commit = _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", wrong=f"{revision!r} is no revision; write --changed=REV")[
        0
    ]
    different = _git("diff", "--name-only", "-z", "--diff-filter=d", "--no-ext-diff", commit, "--", directory=top)
    unknown = _git("ls-files", "--others", "--exclude-standard", "-z", directory=top)
    return {os.path.realpath(os.path.join(top, name)) for name in (*different, *unknown)}


def _git(*arguments: str, directory: str | None = None, wrong: str | None = None) -> list[str]:
    """What git prints, by NUL or line. Raises Fault."""
    try:
        done = subprocess.run(["git", *arguments], cwd=directory, capture_output=True, check=False)
    except OSError as error:
        raise Fault(f"--changed asks git, which cannot be run: {error.strerror or error}") from None
    if done.returncode:
        raise Fault(f"--changed: {wrong or os.fsdecode(done.stderr).strip() or 'git failed'}")
    text = os.fsdecode(done.stdout)
    return [name for name in text.split("\0" if "-z" in arguments else "\n") if name]
