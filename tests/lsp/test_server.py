"""The language server as an editor sees it: a real client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient

STAGE = json.dumps(
    {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "zero_optimization": {"stage": 2, "overlap_com": True}}, indent=2
)


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[sys.executable, "-m", "dslint", "lsp", "--target", "deepspeed==0.19.8"]))
async def client(lsp_client: LanguageClient, tmp_path: Path):
    folder = lsp.WorkspaceFolder(tmp_path.as_uri(), "project")
    await lsp_client.initialize_session(
        lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=tmp_path.as_uri(), workspace_folders=[folder])
    )
    yield lsp_client
    await lsp_client.shutdown_session()


async def opened(client: LanguageClient, file: Path, text: str) -> str:
    """Open a file that need not be saved, and wait for what is found in it."""
    uri = file.as_uri()
    language = "json" if file.suffix == ".json" else "yaml"
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, language, 1, text)))
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return uri


async def changed(client: LanguageClient, uri: str, text: str, version: int = 2) -> None:
    document = lsp.VersionedTextDocumentIdentifier(version, uri)
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [lsp.TextDocumentContentChangeWholeDocument(text)]))
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)


async def told(client: LanguageClient, uri: str) -> None:
    """Wait until something was said of a file."""
    while uri not in client.diagnostics:
        await asyncio.wait_for(client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS), timeout=60)


def codes(client: LanguageClient, uri: str) -> list[str]:
    return [str(diagnostic.code) for diagnostic in client.diagnostics[uri]]


def at(text: str, mark: str, shift: int = 0) -> lsp.Position:
    """The position of a piece of a text (of ASCII)."""
    before = text[: text.index(mark) + shift]
    return lsp.Position(before.count("\n"), len(before.rpartition("\n")[2]))


def applied(text: str, edits: list[lsp.TextEdit]) -> str:
    """A text after an editor made the edits."""
    lines = text.splitlines(keepends=True)

    def offset(where: lsp.Position) -> int:
        return sum(map(len, lines[: where.line])) + where.character

    for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


async def actions(client: LanguageClient, uri: str, where: lsp.Range, only: list[str] | None = None) -> list[lsp.CodeAction]:
    context = lsp.CodeActionContext(client.diagnostics[uri], only)
    parameters = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), where, context)
    return [action for action in await client.text_document_code_action_async(parameters) or [] if isinstance(action, lsp.CodeAction)]


@pytest.mark.asyncio
async def test_what_is_found_follows_the_typing(client: LanguageClient, tmp_path: Path) -> None:
    uri = await opened(client, tmp_path / "ds.json", STAGE)
    [found] = client.diagnostics[uri]
    assert (found.code, found.severity, found.source) == ("SC001", lsp.DiagnosticSeverity.Error, "dslint")
    assert found.range == lsp.Range(at(STAGE, '"overlap_com"'), at(STAGE, '"overlap_com"', len('"overlap_com"')))
    await changed(client, uri, STAGE.replace("overlap_com", "overlap_comm"))
    assert not client.diagnostics[uri]
    await changed(client, uri, STAGE[:-3], 3)
    assert codes(client, uri) == ["PA002"], "a broken text says so, and is still a DeepSpeed config"


@pytest.mark.asyncio
async def test_columns_are_counted_in_utf_16(client: LanguageClient, tmp_path: Path) -> None:
    text = '{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "_": "🦥", "zero_optimizatoin": {"stage": 2}}'
    uri = await opened(client, tmp_path / "ds.json", text)
    [found] = client.diagnostics[uri]
    assert found.range.start.character == text.index('"zero_') + 1


@pytest.mark.asyncio
async def test_hover_explains_keys_and_findings(client: LanguageClient, tmp_path: Path) -> None:
    uri = await opened(client, tmp_path / "ds.json", STAGE)
    document = lsp.TextDocumentIdentifier(uri)
    stage = await client.text_document_hover_async(lsp.HoverParams(document, at(STAGE, '"stage"', 2)))
    text = stage.contents.value  # type: ignore[union-attr]
    assert "zero_optimization.stage" in text
    assert "ZeRO stage" in text
    assert "Default: `0`" in text
    wrong = await client.text_document_hover_async(lsp.HoverParams(document, at(STAGE, '"overlap_com"', 2)))
    assert "SC001" in wrong.contents.value  # type: ignore[union-attr]
    assert await client.text_document_hover_async(lsp.HoverParams(document, lsp.Position(0, 0))) is None


@pytest.mark.asyncio
async def test_keys_and_values_are_completed_in_a_broken_text(client: LanguageClient, tmp_path: Path) -> None:
    uri = await opened(client, tmp_path / "ds.json", STAGE)
    document = lsp.TextDocumentIdentifier(uri)
    typing = STAGE.replace('"overlap_com": true', '"off')
    await changed(client, uri, typing)
    items = await client.text_document_completion_async(lsp.CompletionParams(document, at(typing, '"off', 4)))
    found = {item.label: item for item in items or []}
    assert {"offload_optimizer", "offload_param"} <= found.keys()
    assert "stage" not in found, "what is there is not proposed again"
    edit = found["offload_optimizer"].text_edit
    assert edit.new_text == '"offload_optimizer": '  # type: ignore[union-attr]
    assert edit.range.start == at(typing, '"off')  # type: ignore[union-attr]
    choosing = STAGE.replace('"overlap_com": true', '"offload_optimizer": {"device": ""}')
    await changed(client, uri, choosing, 3)
    values = await client.text_document_completion_async(lsp.CompletionParams(document, at(choosing, '""}', 1)))
    assert {"cpu", "nvme", "none"} <= {item.label for item in values or []}


@pytest.mark.asyncio
async def test_keys_of_yaml(client: LanguageClient, tmp_path: Path) -> None:
    text = "base_model: NousResearch/Llama-3.2-1B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\nmicro_batch_size: 2\n"
    uri = await opened(client, tmp_path / "axolotl.yaml", text)
    typing = f"{text}gradient_acc"
    await changed(client, uri, typing)
    where = lsp.Position(5, len("gradient_acc"))
    items = await client.text_document_completion_async(lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), where))
    assert "gradient_accumulation_steps" in {item.label for item in items or []}


@pytest.mark.asyncio
async def test_a_quick_fix_and_all_safe_repairs(client: LanguageClient, tmp_path: Path) -> None:
    text = STAGE.replace('"stage": 2', '"stage": 2,\n    "contiguous_gradient": true')
    uri = await opened(client, tmp_path / "ds.json", text)
    here = lsp.Range(at(text, '"overlap_com"'), at(text, '"overlap_com"', 3))
    [quick] = await actions(client, uri, here, ["quickfix"])
    [edited] = quick.edit.document_changes  # type: ignore[union-attr,misc]
    assert '"overlap_comm": true' in applied(text, edited.edits)  # type: ignore[union-attr]
    assert quick.is_preferred
    [everything] = await actions(client, uri, here, ["source.fixAll"])
    [edited] = everything.edit.document_changes  # type: ignore[union-attr,misc]
    mended = applied(text, edited.edits)  # type: ignore[union-attr]
    await changed(client, uri, mended)
    assert not client.diagnostics[uri]
    assert await actions(client, uri, here) == [], "nothing is left to do"


@pytest.mark.asyncio
async def test_files_are_checked_together_as_they_stand_in_the_editor(client: LanguageClient, tmp_path: Path) -> None:
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": "auto"}')
    train = "output_dir: out\nper_device_train_batch_size: 2\nlearning_rate: 1.0e-5\nnum_train_epochs: 1\ndeepspeed: ds.json\n"
    uri = await opened(client, tmp_path / "train.yaml", train)
    linked = (tmp_path / "ds.json").as_uri()
    await told(client, linked)
    assert client.diagnostics[linked], "what is wrong in the linked file is said there, though it is not open"
    document = lsp.TextDocumentIdentifier(uri)
    there = await client.text_document_definition_async(lsp.DefinitionParams(document, at(train, "ds.json", 2)))
    assert there.uri == linked  # type: ignore[union-attr]
    await opened(client, tmp_path / "ds.json", '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}')
    while client.diagnostics[linked]:  # the text in the editor counts, not what is on the disk
        await asyncio.wait_for(client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS), timeout=60)


@pytest.mark.asyncio
async def test_settings_hold_and_their_mistakes_are_said(client: LanguageClient, tmp_path: Path) -> None:
    uri = await opened(client, tmp_path / "ds.json", STAGE)
    assert codes(client, uri) == ["SC001"]
    (tmp_path / "dslint.yaml").write_text("ignore: [SC001]\n")
    client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert not client.diagnostics[uri]
    (tmp_path / "dslint.yaml").write_text("ignor: [SC001]\n")
    client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([]))
    await client.wait_for_notification(lsp.WINDOW_SHOW_MESSAGE)
    assert "ignor" in client.messages[-1].message


def test_without_pygls_it_says_what_to_install() -> None:
    hidden = "import sys; sys.modules['pygls'] = None; from dslint.cli import main; main(['lsp'])"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "dslint-train[lsp]" in done.stderr
