"""The condition language of rules: a small subset of Python expressions, checked node by node and compiled.

A path such as ``zero_optimization.stage`` is the value that the engine will see. What is missing, "auto", unknown or of the
wrong type is MISSING: it satisfies no comparison in either polarity, so ``not`` is pushed down to the comparisons
(``not (a < b)`` is ``a >= b``) when the text is compiled.
"""

from __future__ import annotations

import ast
from itertools import pairwise
from typing import NamedTuple

from dslint.engine.functions import PATH_FUNCTIONS, VALUE_FUNCTIONS

MAXIMUM_LENGTH = 2000


class ConditionError(ValueError):
    """A condition that is not in the language; the message says which part."""


_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
}
_ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-"}
_DIVISIONS: dict[type[ast.operator], str] = {ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}


class Need(NamedTuple):
    """A key or block that must be there; ``written``: in the file itself, its default does not count. ``plan`` stands for other files of the run."""

    path: str
    written: bool = False


class Compiled(NamedTuple):
    """``code``: Python source of an expression over ``v`` (the view), ``g`` (its get) and ``it``. ``paths``, ``facts``: what it asks for.

    ``needs``: keys without which a condition cannot hold. ``outside``: it asks for more than values of keys of its own file.
    """

    code: str
    paths: tuple[str, ...]
    facts: tuple[str, ...]
    needs: tuple[Need, ...] = ()
    outside: bool = False


def compile_condition(text: str) -> Compiled:
    """A condition (true or false). Raises ConditionError."""
    translator = _Translator()
    parsed = _parse(text)
    code = translator.truth(parsed, negated=False)
    needs = tuple(sorted(_needs(parsed, negated=False)))
    return Compiled(code, tuple(translator.paths), tuple(translator.facts), needs, translator.outside)


def compile_value(text: str) -> Compiled:
    """An expression for a fix's value. Raises ConditionError."""
    translator = _Translator()
    code = translator.value(_parse(text))
    return Compiled(code, tuple(translator.paths), tuple(translator.facts))


def _parse(text: str) -> ast.expr:
    if len(text) > MAXIMUM_LENGTH:
        raise ConditionError(f"a condition has at most {MAXIMUM_LENGTH} characters, this one {len(text)}")
    import warnings

    try:
        with warnings.catch_warnings():  # Python's opinion of odd literals is none of the reader's business
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConditionError(f"{text!r} is no expression: {error}") from None


def _needs(node: ast.expr, negated: bool) -> frozenset[Need]:
    """The keys without which the condition cannot hold: what is MISSING satisfies no comparison."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _needs(node.operand, not negated)
    if isinstance(node, ast.BoolOp):
        parts = [_needs(part, negated) for part in node.values]
        both = isinstance(node.op, ast.And) is not negated
        return frozenset().union(*parts) if both else frozenset(parts[0]).intersection(*parts[1:])
    if isinstance(node, ast.Compare):
        links = [frozenset().union(_value_needs(left), _value_needs(right)) for left, right in pairwise([node.left, *node.comparators])]
        return frozenset(links[0]).intersection(*links[1:]) if negated else frozenset().union(*links)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return frozenset() if negated or node.func.id in ("off", "absent") else _value_needs(node)
    return _value_needs(node)


def _value_needs(node: ast.expr) -> frozenset[Need]:
    """The keys without which the value is MISSING."""
    if isinstance(node, ast.Call):
        needs = frozenset[Need]().union(*(_value_needs(part) for part in node.args))
        as_written = isinstance(node.func, ast.Name) and node.func.id in ("written", "raw", "auto")
        return frozenset(Need(need.path, True) for need in needs) if as_written else needs
    if isinstance(node, ast.BinOp):
        return _value_needs(node.left) | _value_needs(node.right)
    if isinstance(node, (ast.UnaryOp, ast.Subscript)):
        return _value_needs(node.operand if isinstance(node, ast.UnaryOp) else node.value)
    path = dotted(node)
    if path is None or (root := path.split(".")[0]) in ("facts", "env", "it"):
        return frozenset()
    if root == "plan":
        return frozenset({Need("plan")})
    steps = path.split(".")
    return frozenset({Need(path), *(Need(".".join(steps[:end]), True) for end in range(1, len(steps)))})


class _Translator:
    def __init__(self) -> None:
        self.paths: dict[str, None] = {}
        self.facts: dict[str, None] = {}
        self.outside = False

    def truth(self, node: ast.expr, negated: bool) -> str:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.truth(node.operand, not negated)
        if isinstance(node, ast.BoolOp):
            both = isinstance(node.op, ast.And) is not negated
            return "(" + (" and " if both else " or ").join(self.truth(part, negated) for part in node.values) + ")"
        if isinstance(node, ast.Compare):
            return self._comparison(node, negated)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("written", "absent", "auto", "on", "off"):
            call = self.value(node)
            return f"(not {call})" if negated else call
        value = self.value(node)
        return f"no({value})" if negated else f"bool({value})"

    def _comparison(self, node: ast.Compare, negated: bool) -> str:
        sides = [self.value(side) for side in (node.left, *node.comparators)]
        links = []
        for left, operation, right in zip(sides, node.ops, sides[1:], strict=False):
            if isinstance(operation, (ast.In, ast.NotIn)):
                inside = isinstance(operation, ast.In) is not negated
                links.append(f"{'isin' if inside else 'notin'}({left}, {right})")
            elif signs := _COMPARISONS.get(type(operation)):
                links.append(f"({left} {signs[negated]} {right})")
            else:
                raise ConditionError(f"{ast.unparse(node)!r}: only == != < <= > >= in, not in compare")
        return "(" + (" or " if negated else " and ").join(links) + ")"

    def value(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool)):
            return repr(node.value)
        if isinstance(node, (ast.Tuple, ast.List)):
            return "(" + "".join(self.value(part) + ", " for part in node.elts) + ")"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return f"(-{self.value(node.operand)})"
        if isinstance(node, ast.BinOp) and (sign := _ARITHMETIC.get(type(node.op))):
            return f"({self.value(node.left)} {sign} {self.value(node.right)})"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return f"times({self.value(node.left)}, {self.value(node.right)})"
        if isinstance(node, ast.BinOp) and (sign := _DIVISIONS.get(type(node.op))):
            return f"divided({self.value(node.left)}, {self.value(node.right)}, {sign!r})"
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            return f"item({self.value(node.value)}, {node.slice.value})"
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            return self.truth(node, negated=False)
        if (path := dotted(node)) is not None:
            return self._path(path)
        raise ConditionError(f"{ast.unparse(node)!r} is not in the language of conditions")

    def _call(self, node: ast.Call) -> str:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if node.keywords or (name not in VALUE_FUNCTIONS and name not in PATH_FUNCTIONS):
            known = ", ".join((*PATH_FUNCTIONS, *VALUE_FUNCTIONS))
            raise ConditionError(f"{ast.unparse(node)!r}: the functions are {known}")
        if name in VALUE_FUNCTIONS:
            return f"f_{name}({', '.join(self.value(part) for part in node.args)})"
        path = dotted(node.args[0]) if len(node.args) == 1 else None
        if path is None:
            raise ConditionError(f"{ast.unparse(node)!r}: {name} takes one path")
        if path == "it":
            return f"v.{name}(it.path)"
        self.paths[path] = None
        self.outside |= name == "keys" or path.startswith("plan.")
        return f"v.{name}({path!r})"

    def _path(self, path: str) -> str:
        root, _, rest = path.partition(".")
        self.outside |= root in ("facts", "env", "it", "plan")
        if root == "facts" and rest:
            self.facts[rest] = None
            return f"v.fact({rest!r})"
        if root == "env" and rest:
            return f"v.env({rest!r})"
        if root == "it":
            return f"it.{rest}" if rest in ("name", "value", "path") else f"g(it.path + {'.' + rest!r})"
        self.paths[path] = None
        return f"g({path!r})"


def dotted(node: ast.expr) -> str | None:
    """``a.b.c`` of a chain of names, else None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (parent := dotted(node.value)) is not None:
        return f"{parent}.{node.attr}"
    return None
