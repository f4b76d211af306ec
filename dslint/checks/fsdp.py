"""FSDP in the dialects of Accelerate and of the Trainer."""

from __future__ import annotations

from collections.abc import Iterator

from dslint import models
from dslint.checks.registry import check
from dslint.document import Change
from dslint.engine.diagnostics import Fix
from dslint.engine.view import Finding, View

# where each dialect names the classes that are wrapped
WRAPPED = {"accelerate": "fsdp_config.fsdp_transformer_layer_cls_to_wrap", "fsdp": "transformer_layer_cls_to_wrap"}


@check("fsdp-wrapped-classes")
def wrapped_classes(view: View) -> Iterator[Finding]:
    """Class names that the model does not have: known by its own list, else by a spelling that no model has."""
    path = WRAPPED[view.config.form.name]
    right: str | list[str]
    written = view.raw(path)
    names = written if isinstance(written, list) else written.split(",") if isinstance(written, str) else []
    if not all(isinstance(name, str) for name in names) or (isinstance(written, list) and view.config.form.name == "accelerate"):
        return
    layers, classes = view.get("plan.model.layer_classes"), view.get("plan.model.module_classes")
    for name in names:
        if name != name.strip():
            right = ",".join(part.strip() for part in names)
            fix = Fix(f"write {right}", "safe", (Change("set", view.path(path), right),))
            yield Finding(path, {"name": repr(name), "instead": "names are compared exactly, blanks included"}, fixes=(fix,))
            return
        if isinstance(layers, list) and isinstance(classes, list):
            if name not in classes and name not in layers:
                right = layers if isinstance(written, list) else ",".join(layers)
                fix = Fix(f"write {', '.join(layers)}", "unsafe", (Change("set", view.path(path), right),))
                yield Finding(path, {"name": name, "instead": f"it has {', '.join(layers)}"}, fixes=(fix,), plan=("model.path",))
                return
        elif (known := models.class_in_other_case(name)) is not None:
            right = [known if other == name else other for other in names] if isinstance(written, list) else written.replace(name, known)
            fix = Fix(f"write {known}", "unsafe", (Change("set", view.path(path), right),))
            yield Finding(path, {"name": name, "instead": f"did you mean {known}?"}, fixes=(fix,))
            return


@check("fsdp-wrapped-classes-list")
def wrapped_classes_list(view: View) -> Iterator[Finding]:
    """A list in Accelerate's YAML becomes the text of a Python list."""
    path = WRAPPED["accelerate"]
    names = view.raw(path)
    if isinstance(names, list):
        right = ",".join(map(str, names))
        yield Finding(path, {"right": right}, fixes=(Fix(f"write {right}", "safe", (Change("set", view.path(path), right),)),))
