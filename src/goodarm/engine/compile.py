"""Plain functions as compiled code: how they are compiled, and when that pays.

Rules are plain Python functions and call others. Before numba can compile a loop around them, each one must be
registered with it. numba's disk cache looks only at the file of the loop, so that an edited rule would be served from a
stale cache. `goodarm.fingerprint` walks over all functions that a loop reaches, for both purposes.

Loading numba and one compiled function takes most of a second, which a process that makes a single step should not
spend. `Patience` is the one decision between Python and compiled code; every amount of patience is listed here. Both
round alike, except for log-gamma (`as_native_rounds`), so that the decision changes no result.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

from goodarm.engine.explain import Explained
from goodarm.errors import GoodarmError
from goodarm.fingerprint import fingerprint, reachable
from goodarm.rules.parameters import Formula


class Patience(NamedTuple):
    """How much work runs as Python before a function is compiled.

    per_call : Maximum number of items (arms, entries) that one call handles as Python
    in_total : Maximum number of items that all calls of a process together handle as Python
    uncached : in place of `in_total` where the compiled code is not on the disk yet: loading it takes a tenth of a
               second, the compiler seconds, and a process that ends soon should not wait for it
    """

    per_call: float
    in_total: float = math.inf
    uncached: float | None = None

    def compiles(self, items: float, before: float = 0.0) -> bool:
        """Does a call with this many items, after `before` items in earlier calls, run as compiled code?

        >>> Patience(per_call=10, in_total=15).compiles(8), Patience(per_call=10, in_total=15).compiles(8, before=8)
        (False, True)
        """
        return items > self.per_call or items + before > self.in_total

    def waits(self, items: float, before: float) -> bool:
        """Does such a call run as compiled code even where that means to wait for the compiler?

        >>> Patience(10, 15, uncached=100).waits(8, before=8), Patience(10, 15).waits(8, before=8)
        (False, True)
        """
        return self.uncached is None or items > self.per_call or items + before > self.uncached


ALWAYS = Patience(0)
"""Compile at the first call: for functions that Python rounds differently, or that take long for any input."""
SLOW_RULE = Patience(1, 50, uncached=4000)
"""Single evaluations of a rule that takes half a millisecond as Python. The compiler takes about two seconds for it."""
EVERY_ARM = Patience(5000)
"""A pass over all arms with a quick rule. Python takes up to a quarter of a second, at geometrically spaced rounds."""
EVERY_ARM_OF_SLOW_RULE = Patience(1000, 1000, uncached=4000)
"""A pass over all arms with a rule that takes about half a millisecond per arm as Python."""
FIT_OF_SLOW_RULE = Patience(200, 0, uncached=2000)
"""A fit to all arms that takes about two milliseconds per arm as Python."""
BLOCK = Patience(16)
"""Arms that are judged after a block was told."""
AGAINST_CONTROL = Patience(100, 100)
"""Evidence of arms against a control, about a millisecond per arm as Python."""
INDICES = Patience(2000)
"""Indices of arms against a control."""
TOTALS = Patience(2000)
"""Arms of a table. The decision must not depend on earlier calls: a verdict's interval is compared bit for bit."""
DIFFERENCES = Patience(10)
"""Arms of a table of differences from a control, a tenth of a second per arm as Python."""
JOURNAL = Patience(20_000)
"""Entries of a journal that are replayed in one piece."""

Value = TypeVar("Value")
_registered: set[Any] = set()
_inlined: set[FunctionType] = set()
_registering = threading.RLock()
"""Two threads that compile at once must not find a function marked as registered before numba knows it."""


def compiled(loop: Callable[..., Any]) -> Any:
    """The function, compiled when first called, or from the disk cache.

    numba names its cache file after the function's qualified name. With the fingerprint in that name, changed rules
    have another file, so that a stale one is never read; and two processes which compile different loops at once do
    not write into one file, whose entries numba numbers without a lock.
    """
    if not can_compile():
        raise GoodarmError(
            "numba is not installed, which compiles simulations, batches and long journals. Install it with: pip "
            "install numba. Without it, `judge` and single steps of live campaigns work."
        )
    from numba import njit

    from goodarm.engine.disk_cache import keep_on_disk  # it imports numba, which takes long

    assert isinstance(loop, FunctionType)
    register([loop])
    loop.__qualname__ = f"{loop.__qualname__}.{fingerprint([loop])[:24]}"
    dispatcher = njit(nogil=True, error_model="numpy")(loop)
    keep_on_disk(dispatcher)
    return Explained(dispatcher)


@cache
def can_compile() -> bool:
    """Is numba installed?"""
    try:
        return find_spec("numba") is not None
    except ValueError:  # it is hidden: `sys.modules["numba"] = None`
        return False


def is_on_disk(function: Any) -> bool:
    """Has an earlier process compiled this function, and left the result in the disk cache?"""
    from goodarm.engine.disk_cache import is_kept

    return is_kept(function.dispatcher)


BYTES_PER_SECOND = 2000.0
"""Byte code that the compiler turns into machine code in a second, about."""


def seconds_to_compile(function: Any) -> float:
    """About how long the first call of a compiled function waits for the compiler: 0 if its code is ready.

    Ready means that this process has compiled it, or that an earlier one has left it in the disk cache.
    """
    if function.dispatcher.signatures or is_on_disk(function):
        return 0.0
    return sum(len(each.__code__.co_code) for each in reachable([function.py_func])) / BYTES_PER_SECOND


def inlined(function: Formula) -> Formula:
    """Mark a function that runs in every round, to be compiled into its callers together with all that it calls.

    Left to itself the compiler calls the larger ones, with thirty arguments on the stack and the references of every
    array counted: up to a tenth of a round.
    """
    assert isinstance(function, FunctionType)
    _inlined.add(function)
    return function


def borrowed(value: Value) -> Value:
    """The arrays in a value, for the time of a call whose caller keeps them alive: itself in Python.

    Compiled code counts the references to every array that it hands on. In a round of `value` that would be 13 atomic
    additions and as many subtractions, an eighth of its time. A borrowed array has no count. It must not be returned.
    """
    return value


def _teach_borrowing() -> None:
    """Tell numba how `borrowed` is compiled: the array's owner is left out of it."""
    from numba.core import types
    from numba.extending import intrinsic, overload

    declare: Any = intrinsic

    def without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, value)
            array.meminfo = array.meminfo.type(None)
            array.parent = array.parent.type(None)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            parts: Any = kind
            for place, each in enumerate(parts):
                part = without_owner(context, builder, each, builder.extract_value(value, place))
                value = builder.insert_value(value, part, place)
            return value
        context.nrt.incref(builder, kind, value)
        return value

    @declare  # type: ignore[untyped-decorator]  # numba has no types
    def lend(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return without_owner(context, builder, signature.return_type, arguments[0])

        return value(value), generate

    def compiled_borrowed(value: Any) -> Any:
        return lambda value: lend(value)

    overload(borrowed, strict=False)(compiled_borrowed)


def named_by_content(function: FunctionType, content: str) -> FunctionType:
    """A copy of the function whose qualified name ends in its fingerprint.

    numba names machine code after the function's qualified name and a counter. Loops that were compiled in different
    processes and loaded from the disk cache into one meet under the same names; the linker then keeps one of them, and
    a loop would call another rule's function. With the content in the name, the same name is the same code.
    """
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}_{content[:16]}"
    return copy


def register(functions: Iterable[FunctionType]) -> None:
    """Tell numba that it may compile these functions and everything they call."""
    from numba.extending import overload

    with _registering:
        if borrowed not in _registered:
            _teach_borrowing()
            _registered.add(borrowed)
        for function in reachable(functions):
            if function not in _registered:
                options: Any = {"forceinline": True} if function in _inlined else {}
                implementation = _always(named_by_content(function, fingerprint([function])))
                overload(function, strict=False, jit_options=options)(implementation)
                _registered.add(function)


def _always(implementation: FunctionType) -> Any:
    """The same implementation whatever the types of the arguments."""

    def chosen(*arguments: Any, **named: Any) -> FunctionType:
        return implementation

    return chosen


class JustInTime:
    """A function that runs as Python until its patience is over, then compiled.

    over : place of the argument whose length is the number of items of a call; None if each call is one item
    """

    def __init__(self, function: Formula, patience: Patience, over: int | None) -> None:
        def call(*arguments: Any) -> Any:
            return function(*arguments)

        self.py_func = call
        self._patience, self._over = patience, over
        self._done, self._look_at, self._ready = 0, 0, False
        self._built: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self._ready:
            return self._built(*arguments)
        items = 1 if self._over is None else len(arguments[self._over])
        if not (self._patience.compiles(items, self._done) and self._is_due(items)):
            self._done += items
            return self.py_func(*arguments)
        found = self._code()
        self._ready = True  # after the code, since another thread may look
        return found(*arguments)

    def _is_due(self, items: int) -> bool:
        """Is the compiled code on the disk, or is it time to wait for the compiler? The disk is asked now and then."""
        if self._patience is not ALWAYS and not can_compile():
            return False
        if self._patience.waits(items, self._done):
            return True
        if self._done < self._look_at:
            return False
        self._look_at = 2 * (self._done + items)
        return is_on_disk(self._code())

    def _code(self) -> Any:
        if self._built is None:
            self._built = compiled(self.py_func)
        return self._built


_made: dict[tuple[Formula, Patience, int | None], JustInTime] = {}


def just_in_time(function: Formula, patience: Patience = ALWAYS, over: int | None = None) -> JustInTime:
    """The function as Python or compiled, whichever pays; made once, so that it is compiled once."""
    key = (function, patience, over)
    if key not in _made:
        _made[key] = JustInTime(*key)
    return _made[key]


def plain(function: Formula) -> Formula:
    """The Python function behind a `JustInTime`, for a loop that is compiled as a whole."""
    found: Formula = getattr(function, "py_func", function)
    return found


def as_native_rounds(function: Formula) -> Formula:
    """The function itself, unless it calls log-gamma, the one function that Python rounds differently."""
    inside = any("lgamma" in each.__code__.co_names for each in reachable([function]))  # type: ignore[list-item]  # plain functions
    return just_in_time(function) if inside else function
