"""Plain YAML scalars as another loader reads them, where it differs from PyYAML (YAML 1.1).

A document is read before its format is known. ``reread`` goes over its plain strings once more and gives them the value that the
loader of the format makes of them; quoted and block strings stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dslint.document.tree import Document, Mapping, Node, Scalar, Sequence

# what OmegaConf takes for a float and PyYAML for a string: numbers with an exponent that lack the dot or the sign
OMEGACONF_FLOAT = re.compile(r"[-+]?[0-9]+(?:_[0-9]+)*(?:\.[0-9_]*)?[eE][-+]?[0-9]+|\.[0-9]+(?:_[0-9]+)*[eE][-+][0-9]+")


def reread(document: Document) -> None:
    """Give plain scalars the value that OmegaConf gives them. Doing it twice changes nothing."""
    if document.syntax != "yaml" or document.root is None:
        return
    document.dialect = "omegaconf"
    for scalar in _scalars(document.root):
        text = scalar.value
        if isinstance(text, str) and text[-1:].isdigit() and OMEGACONF_FLOAT.fullmatch(text):
            if document.text[scalar.span.start : scalar.span.end] == text:
                scalar.value = float(text.replace("_", ""))


def _scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _scalars(item)
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield from _scalars(entry.value)
