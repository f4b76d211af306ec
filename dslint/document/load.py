"""Bytes to a Document, whatever the bytes are."""

from __future__ import annotations

import codecs
import os

from dslint.document.codes import CODES
from dslint.document.tree import Document, Problem, Span, Syntax

MAXIMUM_BYTES = 1_000_000
SUFFIXES: dict[str, Syntax] = {".json": "json", ".hjson": "json", ".jsonc": "json", ".yaml": "yaml", ".yml": "yaml", ".env": "env"}
NAMES: dict[str, Syntax] = {".env": "env", "env": "env", ".deepspeed_env": "env", "hostfile": "hostfile"}
OTHER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def read(path: str | os.PathLike[str], max_bytes: int = MAXIMUM_BYTES) -> bytes:
    """The bytes of a file, at most one more than ``max_bytes`` (enough for ``load`` to see that it is too large). Raises OSError."""
    with open(path, "rb") as file:
        return file.read(max_bytes + 1)


def load(file: str, data: bytes, syntax: Syntax | None = None, max_bytes: int = MAXIMUM_BYTES) -> Document:
    """Parse a file's bytes. Bad content never raises: it is one problem of the document, whose root is then None.

    ``syntax``: by the name where not given, else by how the text begins.
    """
    if len(data) > max_bytes:
        return _refused(file, b"", syntax, "PA006", f"the file is larger than {max_bytes:,} bytes (--max-bytes)")
    if data.startswith(OTHER_MARKS):
        return _refused(file, data, syntax, "PA001", "the file is not UTF-8 but has the mark of UTF-16 or UTF-32; save it as UTF-8")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        return _refused(file, data, syntax, "PA001", f"the file is not UTF-8 text: byte {error.start + 1} cannot be read; save it as UTF-8")
    if not text.strip():
        return _refused(file, data, syntax, "PA008", "the file is empty")
    if "\0" in text:
        return _refused(file, data, syntax, "PA009", f"the file holds a NUL character at position {text.index(chr(0)) + 1}: it is no text")
    document = Document(file, data, text, syntax or _by_name(file) or _guess(text), None)
    if document.syntax == "json":
        from dslint.document.json import load_json

        load_json(document)
    elif document.syntax == "yaml":
        from dslint.document.yaml import load_yaml

        load_yaml(document)
    else:
        from dslint.document.lines import load_env, load_hostfile

        load_lines = load_env if document.syntax == "env" else load_hostfile
        load_lines(document)
    return document


def _by_name(file: str) -> Syntax | None:
    return SUFFIXES.get(os.path.splitext(file)[1].lower()) or NAMES.get(os.path.basename(file).lower())


def _guess(text: str) -> Syntax:
    start = text.lstrip()[0]
    if start not in "{[/":
        from dslint.document.lines import like_lines

        if (lines := like_lines(text)) is not None:
            return lines
    return "json" if start in "{[#/" else "yaml"


def _refused(file: str, data: bytes, syntax: Syntax | None, code: str, message: str) -> Document:
    document = Document(file, data, "", syntax or _by_name(file) or "json", None)
    document.problems.append(Problem(code, CODES[code][0], Span(0, 0), message))
    return document
