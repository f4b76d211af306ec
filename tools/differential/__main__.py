"""Run the comparison: ``python -m tools.differential --seed 1 --parser 5000 --engine 1000 --report docs/measurements/differential.md``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.differential.compare import Figures, compare
from tools.differential.judges import default_cache
from tools.differential.report import disagreements, listing, markdown

WANTED = (0.98, 0.98, 0.95)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.differential", description=__doc__)
    parser.add_argument("--seed", type=int, action="append", help="may be given several times (default 1)")
    parser.add_argument("--parser", type=int, default=5000, help="mutants for the parser, for each seed")
    parser.add_argument("--engine", type=int, default=1000, help="mutants for the engine, for each seed")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where DeepSpeed's verdicts are kept")
    parser.add_argument("--report", type=Path, help="write the result to this file")
    parser.add_argument("--list", action="store_true", help="print every disagreement as a JSON line with its config")
    options = parser.parse_args()
    results = [compare(seed, options.parser, options.engine, options.cache) for seed in options.seed or [1]]
    cases = [case for result in results for case in (*result.parser, *result.engine)]
    print(listing(cases) if options.list else "\n".join(disagreements(cases)))
    enough = True
    for result in results:
        for judge, some in (("parser", result.parser), ("engine", result.engine)):
            figures = Figures.of(some)
            enough &= all(share >= wanted for share, wanted in zip(figures.shares(), WANTED, strict=True))
            print(f"seed {result.seed} {judge}: " + ", ".join(f"{share:.2%}" for share in figures.shares()), figures, file=sys.stderr)
    if options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(markdown(results))
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
