"""dslint in an editor: diagnostics while typing, hover, completion, quick fixes and links, over the language server protocol."""
