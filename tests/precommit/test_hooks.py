"""The hooks as a user has them: pre-commit itself, in a repository of its own, with a clone of this project as it stands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import GOOD, TYPO, write

PROJECT = Path(__file__).parents[2]
CONFIG = """repos:
  - repo: {repo}
    rev: {rev}
    hooks:
      - id: {hook}
"""


def git(folder: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "PRE_COMMIT_HOME": os.environ["DSLINT_TEST_HOOKS"]}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the present files of this one, committed or not."""
    place = tmp_path_factory.mktemp("project") / "dslint"
    os.environ["DSLINT_TEST_HOOKS"] = str(tmp_path_factory.mktemp("pre-commit"))
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (PROJECT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, place / name)
    git(place, "init", "--quiet")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", "as it stands")
    return place


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


def use(scratch: Path, clone: Path, hook: str) -> None:
    rev = git(clone, "rev-parse", "HEAD").stdout.strip()
    write(scratch / ".pre-commit-config.yaml", CONFIG.format(repo=clone, rev=rev, hook=hook))
    git(scratch, "add", ".pre-commit-config.yaml")
    subprocess.run([sys.executable, "-m", "pre_commit", "install"], cwd=scratch, capture_output=True, check=True)


def commit(scratch: Path) -> subprocess.CompletedProcess[str]:
    git(scratch, "add", "--all")
    return git(scratch, "commit", "--message", "a config", check=False)


def test_a_broken_config_is_not_committed_and_a_good_one_is(scratch: Path, clone: Path) -> None:
    use(scratch, clone, "dslint")
    write(scratch / "package.json", {"name": "x", "dependencies": {}})
    write(scratch / "tsconfig.json", '{"compilerOptions": {} // not strict JSON\n}')
    config = write(scratch / "ds_config.json", TYPO)
    refused = commit(scratch)
    assert refused.returncode != 0
    assert "unknown key gradient_cliping" in refused.stdout + refused.stderr
    assert git(scratch, "rev-parse", "HEAD", check=False).returncode != 0, "nothing is committed"
    write(config, GOOD)
    accepted = commit(scratch)
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert "Passed" in accepted.stdout + accepted.stderr


def test_dslint_fix_repairs_it(scratch: Path, clone: Path) -> None:
    use(scratch, clone, "dslint-fix")
    config = write(scratch / "ds_config.json", TYPO)
    refused = commit(scratch)
    assert refused.returncode != 0
    assert "files were modified by this hook" in refused.stdout + refused.stderr
    assert json.loads(config.read_text()) == {**GOOD, "gradient_clipping": 1.0}
    accepted = commit(scratch)
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr


def test_the_environment_of_the_hooks_is_light(scratch: Path, clone: Path) -> None:
    use(scratch, clone, "dslint")
    write(scratch / "ds_config.json", GOOD)
    assert commit(scratch).returncode == 0
    installed = {folder.name.split("-")[0].lower() for folder in Path(os.environ["DSLINT_TEST_HOOKS"]).rglob("*.dist-info")}
    assert "dslint_train" in installed
    assert not installed & {"torch", "deepspeed", "transformers", "accelerate", "pydantic", "numpy"}
