"""What loading a file can say: code, name, and one line of documentation for ``dslint explain``."""

from __future__ import annotations

CODES: dict[str, tuple[str, str]] = {
    "PA001": ("not-utf-8", "The file is not UTF-8 text, so no reader can take it as a config."),
    "PA002": ("syntax-error", "The text breaks off or breaks the grammar here; every reader refuses the file."),
    "PA003": (
        "python-literal",
        "True, False and None are Python; JSON writes true, false and null, and Hjson swallows the rest of the line as a string.",
    ),
    "PA004": ("lenient-json", "Hjson, which DeepSpeed reads, takes this; strict JSON, which Transformers and Accelerate read, does not."),
    "PA005": (
        "duplicate-key",
        "A key is written twice in one block: DeepSpeed refuses the file, strict JSON readers silently keep the last.",
    ),
    "PA006": ("too-large", "The file is larger than --max-bytes; a config of that size is a mistake or an attack."),
    "PA007": ("too-deep", "The file is nested more than 200 levels deep."),
    "PA008": ("empty-file", "The file holds nothing."),
    "PA009": ("nul-character", "The file holds a NUL character: it is binary, or was written half."),
    "PA010": ("number-too-large", "A number has more digits than any reader takes."),
    "PA011": ("too-many-nodes", "Aliases and merge keys expand the file beyond 100,000 nodes."),
    "PA012": ("unsafe-tag", "A YAML tag asks the reader to build an object; safe loaders refuse it and dslint never runs it."),
    "PA013": ("several-documents", "A YAML file holds more than one document; only the first is read."),
    "PA015": ("no-assignment", "A line of variables is no NAME=value, or its quote is not closed."),
    "PA016": (
        "no-host",
        "DeepSpeed's launcher refuses a hostfile with a line that is not NAME slots=GPUS: 'Hostfile contains a bad entry'.",
    ),
    "PA017": ("host-twice", "DeepSpeed's launcher refuses a host that is listed twice: 'Hostfile contains multiple entries for …'."),
    "PA014": ("bad-text", "The text holds characters that stand for no text (a lone surrogate)."),
}
MAXIMUM_DEPTH = 200
