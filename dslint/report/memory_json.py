"""A ledger as JSON: every item with its bytes, when it lives, formula and source."""

from __future__ import annotations

import json
from typing import Any

from dslint.memory.ledger import Account, Ledger


def render(ledger: Ledger) -> str:
    return json.dumps(to_json(ledger), ensure_ascii=False, indent=2)


def to_json(ledger: Ledger) -> dict[str, Any]:
    return {
        "version": 1,
        "verdict": ledger.verdict,
        "model": {"type": ledger.model.type, "parameters": ledger.model.parameters},
        "run": ledger.run._asdict(),
        "accounts": [_account(account) for account in ledger.accounts],
    }


def _account(account: Account) -> dict[str, Any]:
    return {
        "place": account.place,
        "verdict": account.verdict,
        "capacity": account.capacity,
        "peak": account.peak,
        "peak_phase": account.peak_phase,
        "least": account.least,
        "phases": account.sums,
        "items": [{**item._asdict(), "phases": list(item.phases)} for item in account.items],
    }
