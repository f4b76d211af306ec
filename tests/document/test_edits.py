"""Edits: the tree that was meant, and every other byte as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dslint.document import Change, load, to_python
from dslint.document.edits import FileChanged, edits_for, splice, write

JSON = """{
  // the batch
  "train_batch_size": 32,
  "zero_optimization": {
    "stage": 2,  # sharded
    "offload_optimizer": {"device": "cpu", "pin_memory": true}
  },
  "bf16": {"enabled": true}
}
"""
YAML = """# a run
model: x
zero:
  stage: 2  # sharded
  offload:
    device: cpu
steps: [1, 2]
items:
  - name: a
    path: b
  - {name: c}
empty: {}
none:
"""


def changed(text: str, *changes: Change, file: str = "a.json") -> str | None:
    return splice(load(file, text.encode()), changes)


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        (Change("set", ("train_batch_size",), 64), '"train_batch_size": 32', '"train_batch_size": 64'),
        (Change("set", ("zero_optimization", "stage"), 3), '"stage": 2,  # sharded', '"stage": 3,  # sharded'),
        (Change("delete", ("train_batch_size",)), '  "train_batch_size": 32,\n', ""),
        (Change("delete", ("bf16",)), '  },\n  "bf16": {"enabled": true}\n}', "  }\n}"),
        (Change("delete", ("bf16", "enabled")), '{"enabled": true}', "{}"),
        (Change("delete", ("zero_optimization", "offload_optimizer", "pin_memory")), ', "pin_memory": true', ""),
        (Change("delete", ("zero_optimization", "offload_optimizer", "device")), '"device": "cpu", ', ""),
        (Change("rename", ("bf16",), to=("fp16",)), '"bf16"', '"fp16"'),
        (
            Change("set", ("gradient_clipping",), 1.0),
            '  "bf16": {"enabled": true}\n',
            '  "bf16": {"enabled": true},\n  "gradient_clipping": 1.0\n',
        ),
        (Change("set", ("bf16", "x"), 1), '{"enabled": true}', '{"enabled": true, "x": 1}'),
        (
            Change("move", ("zero_optimization", "stage"), to=("bf16", "stage")),
            '    "stage": 2,  # sharded\n    "offload_optimizer": {"device": "cpu", "pin_memory": true}\n  },\n  "bf16": {"enabled": true}',
            '    # sharded\n    "offload_optimizer": {"device": "cpu", "pin_memory": true}\n  },\n  "bf16": {"enabled": true, "stage": 2}',
        ),
    ],
    ids=str,
)
def test_json_changes_touch_only_their_place(change: Change, old: str, new: str) -> None:
    assert old in JSON
    assert changed(JSON, change) == JSON.replace(old, new)


def test_a_new_block_is_written_in_the_style_of_the_file() -> None:
    text = changed('{\n    "a": 1\n}\n', Change("set", ("b", "c"), True))
    assert text == '{\n    "a": 1,\n    "b": {\n        "c": true\n    }\n}\n'


def test_line_breaks_and_byte_order_mark_stay() -> None:
    document = load("a.json", b'\xef\xbb\xbf{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n')
    assert splice(document, [Change("delete", ("b",))]) == '{\r\n  "a": 1\r\n}\r\n'
    assert splice(document, [Change("set", ("c",), 1)]) == '{\r\n  "a": 1,\r\n  "b": 2,\r\n  "c": 1\r\n}\r\n'


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        (Change("set", ("zero", "stage"), 3), "stage: 2  # sharded", "stage: 3  # sharded"),
        (Change("set", ("zero", "ratio"), 0.5), "    device: cpu\n", "    device: cpu\n  ratio: 0.5\n"),
        (Change("delete", ("zero", "stage")), "  stage: 2  # sharded\n", ""),
        (Change("delete", ("items", 0, "name")), "  - name: a\n    path: b\n", "  - path: b\n"),
        (Change("delete", ("items", 1, "name")), "{name: c}", "{}"),
        (Change("set", ("none",), 1e-5), "none:\n", "none: 1.0e-05\n"),
        (Change("set", ("empty", "a"), "no"), "empty: {}", 'empty: {"a": "no"}'),
        (Change("rename", ("model",), to=("base_model",)), "model: x", "base_model: x"),
        (Change("set", ("steps", 1), 5), "[1, 2]", "[1, 5]"),
        (Change("set", ("zero", "offload"), None), "  offload:\n    device: cpu\n", "  offload: null\n"),
    ],
    ids=str,
)
def test_yaml_changes_touch_only_their_place(change: Change, old: str, new: str) -> None:
    assert old in YAML
    assert changed(YAML, change, file="a.yaml") == YAML.replace(old, new)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("a: &x {b: 1}\nc: *x\n", Change("set", ("c", "b"), 2)),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", Change("delete", ("c", "b"))),
        ("a: 1\n", Change("delete", ("b",))),
        ("a: 1\nb: 2\n", Change("rename", ("a",), to=("b",))),
        ("a: 1\n", Change("set", ("a", "b"), 2)),
        ("- 1\n", Change("set", ("a",), 2)),
    ],
    ids=str,
)
def test_what_is_not_sure_is_withheld(text: str, change: Change) -> None:
    assert changed(text, change, file="a.yaml") is None


names = st.sampled_from(["a", "b", "c d", "é", "stage"])
scalars = st.one_of(
    st.integers(-5, 10**12), st.booleans(), st.none(), st.floats(0.001, 1e6), st.sampled_from(["x", "no", "1", "", 'q"', "# x"])
)
trees = st.dictionaries(names, st.recursive(scalars, lambda inner: st.dictionaries(names, inner, max_size=4), max_leaves=12), max_size=5)


def places(tree: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path] if path else []
    if isinstance(tree, dict):
        for name, value in tree.items():
            found += places(value, (*path, name))
    return found


@given(trees, st.data(), st.sampled_from([None, 2, 4]))
def test_any_change_of_json_gives_the_intended_tree_or_none(tree: dict[str, Any], data: st.DataObject, indent: int | None) -> None:
    text = json.dumps(tree, indent=indent, ensure_ascii=False)
    document = load("a.json", text.encode())
    existing = places(tree)
    kind = data.draw(st.sampled_from(["set", "delete", "insert"] if existing else ["insert"]))
    intended = json.loads(text)
    if kind == "insert":
        path: tuple[str, ...] = ("new", data.draw(names))
        change = Change("set", path, data.draw(scalars))
        intended["new"] = {path[1]: change.value}
    else:
        path = data.draw(st.sampled_from(existing))
        change = Change("set", path, data.draw(scalars)) if kind == "set" else Change("delete", path)
        parent = intended
        for step in path[:-1]:
            parent = parent[step]
        if kind == "set":
            parent[path[-1]] = change.value
        else:
            del parent[path[-1]]
    new = splice(document, [change])
    assert new is not None
    assert json.loads(new) == intended
    edits = edits_for(document, [change])
    assert edits is not None
    spliced = text
    for edit in reversed(edits):
        spliced = spliced[: edit.start] + edit.text + spliced[edit.end :]
    assert spliced == new


@given(trees, st.data())
def test_setting_a_value_keeps_every_other_byte(tree: dict[str, Any], data: st.DataObject) -> None:
    leaves = [path for path in places(tree) if not isinstance(to_python(load("a.json", json.dumps(tree).encode()).node(path)), dict)]  # type: ignore[arg-type]
    if not leaves:
        return
    document = load("a.json", json.dumps(tree, indent=2).encode())
    node = document.node(data.draw(st.sampled_from(leaves)))
    assert node is not None
    path = next(path for path in leaves if document.node(path) is node)
    new = splice(document, [Change("set", path, 7)])
    assert new == document.text[: node.span.start] + "7" + document.text[node.span.end :]


def test_writing_is_atomic_keeps_the_mode_and_refuses_a_changed_file(tmp_path: Path) -> None:
    file = tmp_path / "ds.json"
    file.write_bytes(b"{}")
    file.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(file)
    write(link, b"{}", b'{"a": 1}')
    assert link.is_symlink()
    assert file.read_bytes() == b'{"a": 1}'
    assert file.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileChanged):
        write(file, b"{}", b"x")
    assert file.read_bytes() == b'{"a": 1}'
    assert sorted(os.listdir(tmp_path)) == ["ds.json", "link.json"]
