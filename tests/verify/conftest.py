"""One fork server for the whole run; without the engines these tests are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from dslint.verify.outcome import Outcome
from dslint.verify.pool import Pool
from dslint.verify.runner import verify

ENGINES = find_spec("torch") is not None and find_spec("deepspeed") is not None


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    if not ENGINES:
        pytest.skip("torch and deepspeed are not installed")
    with Pool() as shared:
        yield shared


@pytest.fixture
def proved(pool: Pool) -> Callable[..., Outcome]:
    def call(config: dict[str, Any], **options: Any) -> Outcome:
        return verify(config, **{"timeout": 240.0, "pool": pool, **options})

    return call
