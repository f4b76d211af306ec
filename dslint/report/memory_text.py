"""A ledger for people: bars over time, and the items of the largest moment."""

from __future__ import annotations

from collections.abc import Iterator

from dslint.memory.items import Item
from dslint.memory.ledger import Account, Ledger

WIDTH = 40
EIGHTHS = " ▏▎▍▌▋▊▉"
TITLES = {"gpu": "each GPU", "host": "each host", "nvme": "NVMe of each host", "disk": "disk"}
WORDS = {"fits": "fits", "tight": "tight: only estimates go over it", "does not fit": "does not fit", "unknown": "size not known"}


def render(ledger: Ledger) -> str:
    return "\n".join(_lines(ledger))


def _lines(ledger: Ledger) -> Iterator[str]:
    run, model = ledger.run, ledger.model
    yield f"{model.type}, {model.parameters / 1e9:.2f} B parameters, on {run.world} GPU{'s' * (run.world != 1)}: {_verdict(ledger)}"
    for account in ledger.accounts:
        yield ""
        yield from _account(account)
    if run.assumptions:
        yield ""
        yield from (f"assumed: {assumption}" for assumption in run.assumptions)


def _verdict(ledger: Ledger) -> str:
    return {"unknown": "no machine given (--gpu, --host-ram)"}.get(ledger.verdict, ledger.verdict)


def size(number: float) -> str:
    """Bytes in the binary unit that people read."""
    for unit, step in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= step:
            return f"{number / step:.2f} {unit}" if unit in ("TiB", "GiB") else f"{number / step:.0f} {unit}"
    return f"{number:.0f} B"


def _account(account: Account) -> Iterator[str]:
    of = f" of {size(account.capacity)}" if account.capacity is not None else ""
    yield f"{TITLES[account.place]}: {size(account.peak)}{of} at its peak ({account.peak_phase}), {WORDS[account.verdict]}"
    scale = max(account.peak, account.capacity or 0) or 1
    limit = None if account.capacity is None else round(WIDTH * account.capacity / scale)
    for phase, amount in account.sums.items():
        if amount:
            yield f"  {phase:8} {bar(amount / scale, limit)} {size(amount):>10}"
    for item in sorted(account.items, key=lambda item: -item.bytes):
        if account.peak_phase in item.phases:
            yield _item(item)


def bar(part: float, limit: int | None) -> str:
    """A bar of ``part`` of the width, with a mark where the memory ends."""
    eighths = round(part * WIDTH * 8)
    text = ("█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()).ljust(WIDTH + 1)
    if limit is None or text[limit] != " ":
        return text
    return f"{text[:limit]}│{text[limit + 1 :]}"


def _item(item: Item) -> str:
    about = "about " if item.estimate else ""
    return f"  {about + size(item.bytes):>17}  {item.name}: {item.formula}"
