"""Texts as trees with spans, and edits as splices of text."""

from dslint.document.edits import Change, Edit
from dslint.document.load import load
from dslint.document.tree import Document, Entry, Mapping, Node, Path, Problem, Scalar, Sequence, Span, format_path, to_python

__all__ = [
    "Change",
    "Document",
    "Edit",
    "Entry",
    "Mapping",
    "Node",
    "Path",
    "Problem",
    "Scalar",
    "Sequence",
    "Span",
    "format_path",
    "load",
    "to_python",
]
