"""How long an editor waits: from a change of a file to what is found in it, over the protocol of a real `dslint lsp`.

usage: python -m tools.bench.keystroke [--changes N] FILE...
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Editor:
    """A client that speaks just enough of the protocol."""

    def __init__(self) -> None:
        self.server = subprocess.Popen([sys.executable, "-m", "dslint", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.asked, self.answers = self.server.stdin, self.server.stdout
        self.send("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, number=1)
        self.receive(lambda message: message.get("id") == 1)
        self.send("initialized", {})

    def send(self, method: str, parameters: dict[str, Any], number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": parameters} | ({} if number is None else {"id": number})
        body = json.dumps(message).encode()
        self.asked.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.asked.flush()

    def receive(self, wanted: Any) -> dict[str, Any]:
        """The next message that is wanted."""
        while True:
            length = 0
            while (line := self.answers.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            message: dict[str, Any] = json.loads(self.answers.read(length))
            if wanted(message):
                return message

    def found(self, uri: str) -> None:
        """Wait for what is found in a file."""
        self.receive(lambda message: message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri)


def milliseconds(editor: Editor, file: Path, changes: int) -> list[float]:
    """The wait after each of so many changes: a space more at the end of the text."""
    uri, text = file.resolve().as_uri(), file.read_text(encoding="utf-8")
    editor.send("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 0, "text": text}})
    editor.found(uri)
    waits: list[float] = []
    for number in range(1, changes + 1):
        change = {"text": text + "\n" * number}
        start = time.perf_counter()
        editor.send("textDocument/didChange", {"textDocument": {"uri": uri, "version": number}, "contentChanges": [change]})
        editor.found(uri)
        waits.append((time.perf_counter() - start) * 1000)
    editor.send("textDocument/didClose", {"textDocument": {"uri": uri}})
    return waits


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("files", type=Path, nargs="+")
    arguments.add_argument("--changes", type=int, default=50)
    options = arguments.parse_args()
    editor = Editor()
    for file in options.files:
        waits = milliseconds(editor, file, options.changes)
        lines = file.read_text(encoding="utf-8").count("\n")
        print(f"{file.name}: {lines} lines, median {statistics.median(waits):.1f} ms, longest {max(waits):.1f} ms of {len(waits)} changes")
    editor.server.kill()


if __name__ == "__main__":
    main()
