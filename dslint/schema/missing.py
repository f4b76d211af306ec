"""The value of what is not there."""

from __future__ import annotations

from typing import Final


class Missing:
    """The value of what is not there. Any comparison with it is false, any arithmetic with it is itself."""

    __slots__ = ()

    def _never(self, _: object) -> bool:
        return False

    def _itself(self, _: object = None) -> Missing:
        return self

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _never
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _itself
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _itself
    __neg__ = _itself
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
