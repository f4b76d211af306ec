"""The language server: what an editor asks, answered from the desk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from dslint import __version__
from dslint.document import Document, Edit, Span
from dslint.engine.diagnostics import Diagnostic, Related
from dslint.faults import CheckCrashed, Fault
from dslint.lsp.actions import Action, fix_all, quick_fixes
from dslint.lsp.completion import Proposal, complete
from dslint.lsp.desk import Desk, file_name
from dslint.lsp.hover import hover
from dslint.lsp.links import linked_file
from dslint.lsp.positions import edit_range, offset, span_range
from dslint.workspace import Workspace

SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "info": lsp.DiagnosticSeverity.Information,
}
FIX_ALL = "source.fixAll.dslint"
TRIGGERS = ['"', " ", ":"]


class Server(LanguageServer):
    """``workspace``: makes what files are checked against, as for ``dslint check``."""

    def __init__(self, workspace: Callable[[], Workspace]) -> None:
        super().__init__("dslint", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.desk = Desk(workspace)
        self._told: set[str] = set()
        self._trouble = ""

    def file(self, uri: str) -> str | None:
        """The file of a URI; None for a text that is no file yet."""
        path = uris.to_fs_path(uri) if uri.startswith("file:") else None
        return file_name(path) if path else None

    def put(self, uri: str) -> None:
        """The text of an open file is what the editor holds now."""
        if (file := self.file(uri)) is not None:
            self.desk.put(file, self.workspace.get_text_document(uri).source)
            self.tell()

    def tell(self) -> None:
        """Check, and publish what is found; what was told of other files before is taken back."""
        try:
            found = self.desk.check()
        except Fault as fault:
            self._say(str(fault))
            return
        except CheckCrashed as crash:
            self._say(f"a check failed in {crash}: {crash.__cause__!r}; `dslint check` on that file writes a report")
            return
        self._trouble = ""
        for file in self._told - found.keys():
            self._publish(file, [])
        for file, diagnostics in found.items():
            if diagnostics or file in self._told or self.desk.document(file) is not None:
                self._publish(file, diagnostics)
        self._told = set(found)

    def _publish(self, file: str, diagnostics: list[Diagnostic]) -> None:
        uri = uri_of(file)
        document = self.desk.document(file)
        version = self.workspace.get_text_document(uri).version if document is not None else None
        shown = [shown_diagnostic(diagnostic) for diagnostic in diagnostics]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown, version))

    def _say(self, trouble: str) -> None:
        """Show a message, once as long as it is the same."""
        if trouble != self._trouble:
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"dslint: {trouble}"))
        self._trouble = trouble


def uri_of(file: str) -> str:
    return Path(os.path.abspath(file)).as_uri()


def shown_diagnostic(diagnostic: Diagnostic) -> lsp.Diagnostic:
    return lsp.Diagnostic(
        range=span_range(diagnostic.document, diagnostic.span),
        message=diagnostic.message,
        severity=SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        source="dslint",
        related_information=[_related(related) for related in diagnostic.related] or None,
    )


def _related(related: Related) -> lsp.DiagnosticRelatedInformation:
    place = lsp.Location(uri_of(related.document.file), span_range(related.document, related.span))
    return lsp.DiagnosticRelatedInformation(place, related.message)


def server(workspace: Callable[[], Workspace]) -> Server:
    """A server with all that it answers."""
    dslint = Server(workspace)

    @dslint.feature(lsp.INITIALIZED)
    def initialized(ls: Server, _: lsp.InitializedParams) -> None:
        if (root := ls.workspace.root_path) and os.path.isdir(root):
            os.chdir(root)  # as if dslint were run there: links start from the working directory

    @dslint.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(ls: Server, parameters: lsp.DidOpenTextDocumentParams) -> None:
        ls.put(parameters.text_document.uri)

    @dslint.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(ls: Server, parameters: lsp.DidChangeTextDocumentParams) -> None:
        ls.put(parameters.text_document.uri)

    @dslint.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(ls: Server, parameters: lsp.DidCloseTextDocumentParams) -> None:
        if (file := ls.file(parameters.text_document.uri)) is not None:
            ls.desk.take(file)
            ls.tell()

    @dslint.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def did_save(ls: Server, _: lsp.DidSaveTextDocumentParams) -> None:
        ls.desk.forget()
        ls.tell()

    @dslint.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(ls: Server, _: lsp.DidChangeWatchedFilesParams) -> None:
        ls.desk.forget()
        ls.tell()

    @dslint.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(ls: Server, parameters: lsp.HoverParams) -> lsp.Hover | None:
        place = _place(ls, parameters.text_document.uri, parameters.position)
        text = hover(ls.desk, place[0].file, place[1]) if place else None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None

    @dslint.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=TRIGGERS))
    def completed(ls: Server, parameters: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        place = _place(ls, parameters.text_document.uri, parameters.position)
        return [_item(place[0], proposal) for proposal in complete(ls.desk, place[0].file, place[1])] if place else []

    @dslint.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(ls: Server, parameters: lsp.DefinitionParams) -> lsp.Location | None:
        place = _place(ls, parameters.text_document.uri, parameters.position)
        file = linked_file(ls.desk, place[0].file, place[1]) if place else None
        start = lsp.Position(0, 0)
        return lsp.Location(uri_of(file), lsp.Range(start, start)) if file else None

    @dslint.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, FIX_ALL]))
    def actions(ls: Server, parameters: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        document = _open(ls, parameters.text_document.uri)
        if document is None:
            return []
        only = parameters.context.only
        found: list[lsp.CodeAction] = []
        if _asked(lsp.CodeActionKind.QuickFix, only):
            where = parameters.range
            span = Span(offset(document, where.start), offset(document, where.end))
            found += [_action(document, action, lsp.CodeActionKind.QuickFix) for action in quick_fixes(ls.desk, document.file, span)]
        if _asked(FIX_ALL, only) and (all_safe := fix_all(ls.desk, document.file)) is not None:
            found.append(_action(document, all_safe, FIX_ALL))
        return found

    return dslint


def _open(ls: Server, uri: str) -> Document | None:
    file = ls.file(uri)
    return ls.desk.document(file) if file is not None else None


def _place(ls: Server, uri: str, where: lsp.Position) -> tuple[Document, int] | None:
    """The open document of a URI, and a position as an offset of its text."""
    document = _open(ls, uri)
    return (document, offset(document, where)) if document is not None else None


def _asked(kind: str, only: object) -> bool:
    """Does the editor want actions of this kind? ``only``: kinds, of which one with fewer parts stands for all below it."""
    return not isinstance(only, (list, tuple)) or any(kind == str(one) or kind.startswith(f"{one}.") for one in map(_kind, only))


def _kind(kind: object) -> object:
    return kind.value if isinstance(kind, lsp.CodeActionKind) else kind


def _item(document: Document, proposal: Proposal) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        proposal.label,
        kind=lsp.CompletionItemKind.Property if proposal.is_key else lsp.CompletionItemKind.Value,
        detail=proposal.detail or None,
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, proposal.about) if proposal.about else None,
        filter_text=proposal.text,  # it is held against the word that it replaces, quotes included
        text_edit=lsp.TextEdit(span_range(document, proposal.word), proposal.text),
    )


def _action(document: Document, action: Action, kind: str) -> lsp.CodeAction:
    edits: list[lsp.TextEdit | lsp.AnnotatedTextEdit | lsp.SnippetTextEdit] = [_edit(document, edit) for edit in action.edits]
    changes = lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(uri_of(document.file)), edits)
    return lsp.CodeAction(
        action.title,
        kind=kind,
        diagnostics=[shown_diagnostic(action.of)] if action.of is not None else None,
        is_preferred=action.plain or None,
        edit=lsp.WorkspaceEdit(document_changes=[changes]),
    )


def _edit(document: Document, edit: Edit) -> lsp.TextEdit:
    return lsp.TextEdit(edit_range(document, edit), edit.text)
