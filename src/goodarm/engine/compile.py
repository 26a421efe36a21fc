"""Compile plain functions, and decide when compiling is worthwhile.

Rules are plain Python functions and call others. Each of them must be registered with numba before numba can compile a
loop around them. numba's disk cache checks only the file of the loop, so it would return stale code for an edited rule.
For both purposes `goodarm.fingerprint` visits all functions that a loop reaches.

Loading numba and one compiled function takes most of a second, which is too long for a process that makes a single
step. `Patience` decides between Python and compiled code, and all its values are listed here. Both give the same bits
except for log-gamma (`as_native_rounds`), so the decision changes no result.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

from goodarm.engine.explain import Explained
from goodarm.errors import GoodarmError
from goodarm.fingerprint import fingerprint, reachable
from goodarm.rules.parameters import Formula


class Patience(NamedTuple):
    """Amount of work to run as Python before compiling a function.

    per_call : Maximum number of items (arms, entries) that one call handles as Python
    in_total : Maximum number of items that all calls of a process together handle as Python
    uncached : in place of `in_total` where the compiled code is not on the disk yet: loading it takes a tenth of a
               second, the compiler seconds, and a process that ends soon should not wait for it
    """

    per_call: float
    in_total: float = math.inf
    uncached: float | None = None

    def compiles(self, items: float, before: float = 0.0) -> bool:
        """Whether a call with this many items, after `before` items in earlier calls, runs as compiled code.

        >>> Patience(per_call=10, in_total=15).compiles(8), Patience(per_call=10, in_total=15).compiles(8, before=8)
        (False, True)
        """
        return items > self.per_call or items + before > self.in_total

    def form(self, function: Formula, items: float) -> Formula:
        """The function for one call with this many items, as Python or compiled, whatever earlier calls did.

        >>> Patience(per_call=10).form(math.sqrt, 10) is math.sqrt
        True
        """
        return compiled_once(function) if self.compiles(items) else function

    def waits(self, items: float, before: float) -> bool:
        """Whether such a call runs as compiled code even if it must wait for the compiler.

        >>> Patience(10, 15, uncached=100).waits(8, before=8), Patience(10, 15).waits(8, before=8)
        (False, True)
        """
        return self.uncached is None or items > self.per_call or items + before > self.uncached


ALWAYS = Patience(0)
"""Compile at the first call. For functions that Python rounds differently, or that are slow for any input."""
SLOW_RULE = Patience(1, 50, uncached=4000)
"""Single evaluations of a rule that takes half a millisecond as Python and about two seconds to compile."""
EVIDENCE = Patience(1, 2000, uncached=20_000)
"""Single evaluations of evidence by totals, which takes about 50 microseconds as Python and 5 compiled."""
EVERY_ARM = Patience(5000)
"""A pass over all arms with a quick rule. Python takes up to a quarter of a second, at geometrically spaced rounds."""
EVERY_ARM_OF_SLOW_RULE = Patience(1000, 1000, uncached=4000)
"""A pass over all arms with a rule that takes about half a millisecond per arm as Python."""
FIT_OF_SLOW_RULE = Patience(200, 0, uncached=2000)
"""A fit to all arms that takes about two milliseconds per arm as Python."""
BLOCK = Patience(16)
"""Arms to judge after a block was told."""
AGAINST_CONTROL = Patience(100, 100)
"""Evidence of arms against a control, about a millisecond per arm as Python."""
INDICES = Patience(2000)
"""Indices of arms against a control."""
TOTALS = Patience(2000)
"""Arms of a table. The decision must not depend on earlier calls, because intervals of verdicts are compared bit for
bit."""
DIFFERENCES = Patience(10)
"""Arms of a table of differences from a control, a tenth of a second per arm as Python."""
JOURNAL = Patience(20_000)
"""Entries of a journal to replay in one piece."""
SIMULATED_ROUNDS = Patience(20_000, 5000, uncached=100_000)
"""Rounds of a simulated campaign, about 30 microseconds each as Python. Compiling their loop takes seconds."""
BETWEEN_VERDICTS = Patience(50)
"""Entries between two verdicts of a long journal. Compiled code takes two milliseconds for any number of them."""

Value = TypeVar("Value")
_registered: set[Any] = set()
_inlined: set[FunctionType] = set()
_reordered: set[FunctionType] = set()
_registering = threading.RLock()
"""Held during registration, so that no other thread sees a function as registered too early."""


def compiled(loop: Callable[..., Any]) -> Any:
    """The function, compiled at its first call or loaded from the disk cache.

    numba names its cache file after the function's qualified name. This name contains the fingerprint, so changed rules
    use another file and stale code is never read. Two processes that compile different loops also write to different
    files; numba numbers the entries of a file without a lock.
    """
    if not can_compile():
        raise GoodarmError(
            "numba is not installed. It compiles simulations, batches and long journals. Install it with: pip install "
            "numba. Without it, only `judge` and single steps of live campaigns work."
        )
    from numba import njit

    from goodarm.engine.disk_cache import keep_on_disk  # imports numba, which is slow

    assert isinstance(loop, FunctionType)
    register([loop])
    loop.__qualname__ = f"{loop.__qualname__}.{fingerprint([loop])[:24]}"
    dispatcher = njit(nogil=True, error_model="numpy", **FOR_PYTHON_ONLY)(loop)
    keep_on_disk(dispatcher)
    return Explained(dispatcher)


@cache
def compiled_once(loop: Formula) -> Formula:
    """The function compiled, and kept for later calls."""
    built: Formula = compiled(loop)
    return built


@cache
def can_compile() -> bool:
    """Is numba installed?"""
    try:
        return find_spec("numba") is not None
    except ValueError:  # hidden by `sys.modules["numba"] = None`
        return False


def is_on_disk(function: Any) -> bool:
    """Whether the disk cache has compiled code of this function."""
    from goodarm.engine.disk_cache import is_kept

    return is_kept(function.dispatcher)


BYTES_PER_SECOND = 3000.0
"""Approximate bytes of bytecode compiled per second."""


def seconds_to_compile(function: Any) -> float:
    """Approximate seconds that the first call waits for the compiler; 0 if the code is ready.

    Code is ready if this process has compiled it or the disk cache has it.
    """
    if function.dispatcher.signatures or is_on_disk(function):
        return 0.0
    return sum(len(each.__code__.co_code) for each in reachable([function.py_func])) / BYTES_PER_SECOND


FOR_PYTHON_ONLY: Any = {"no_cfunc_wrapper": True}
"""Turns off numba's wrappers for calls from C. They are unused and account for a tenth of the compile time."""
LARGE = 1300
"""Bytes of bytecode above which a function is called, not inlined. A copy would be compiled again in each caller."""


def inlined(function: Formula) -> Formula:
    """Mark a function of the inner loop for inlining, together with the functions it calls, except `LARGE` ones.

    The compiler would not inline the larger ones by itself. Their calls pass thirty arguments and count the references
    of every array, which takes up to a tenth of a round.
    """
    assert isinstance(function, FunctionType)
    _inlined.add(function)
    return function


def reordered(function: Formula) -> Formula:
    """Mark a function for inlining, together with the functions it calls, and let the compiler reorder their sums.

    The processor then adds up eight numbers at once. The last digits depend on the processor, so this is only for
    functions whose answer is the same for any order, because they leave a margin for rounding.
    """
    assert isinstance(function, FunctionType)
    _reordered.add(function)
    return function


def borrowed(value: Value) -> Value:
    """Borrow the arrays in a value for a call whose caller keeps them alive. In Python, returns the value.

    Compiled code counts the references to every array that it passes on. In a round of `value` that costs 13 atomic
    additions and 13 subtractions, an eighth of the time. A borrowed array has no count and must not be returned.
    """
    return value


def _teach_borrowing() -> None:
    """Tell numba how to compile `borrowed`: copy the array's descriptor without its owner."""
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

    numba names machine code after the function's qualified name and a counter. Loops compiled by different processes
    can therefore have the same name. When one process loads both from the disk cache, the linker keeps one of them, and
    a loop would call another rule's function. With the fingerprint in the name, equal names mean equal code.
    """
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}_{content[:16]}"
    return copy


def register(functions: Iterable[FunctionType]) -> None:
    """Register these functions, and all functions they call, with numba."""
    from numba.extending import overload

    with _registering:
        if borrowed not in _registered:
            _teach_borrowing()
            _registered.add(borrowed)
        for function in reachable(functions):
            if function not in _registered:
                implementation = _always(named_by_content(function, fingerprint([function])))
                overload(function, strict=False, jit_options=_options(function))(implementation)
                _registered.add(function)


def _options(function: FunctionType) -> Any:
    """Numba options of a function that others call. If inlining is not given, it is that of the caller."""
    if function in _reordered:
        return FOR_PYTHON_ONLY | {"forceinline": True, "fastmath": {"reassoc"}}
    if function in _inlined:
        return FOR_PYTHON_ONLY | {"forceinline": True}
    return FOR_PYTHON_ONLY | {"forceinline": False} if len(function.__code__.co_code) > LARGE else FOR_PYTHON_ONLY


def _always(implementation: FunctionType) -> Any:
    """One implementation for all argument types."""

    def chosen(*arguments: Any, **named: Any) -> FunctionType:
        return implementation

    return chosen


class JustInTime:
    """A function that runs as Python until its patience is exhausted, and then as compiled code.

    If the code is not on the disk, the process waits for the compiler once `Patience.uncached` is exhausted.
    After `compile_in_background` it never waits: a thread compiles while calls continue as Python.

    over : position of the argument whose length is the number of items of a call; None if each call is one item
    """

    def __init__(self, function: Formula, patience: Patience, over: int | None) -> None:
        def call(*arguments: Any) -> Any:
            return function(*arguments)

        self.py_func = call
        self._patience, self._over = patience, over
        self._done, self._look_at, self._ready = 0, 0, False
        self._built: Any = None
        self._compiler: threading.Thread | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._ready:
            return self._built(*arguments)
        found = self.native(1 if self._over is None else len(arguments[self._over]), arguments)
        return self.py_func(*arguments) if found is None else found(*arguments)

    def native(self, items: int, arguments: tuple[Any, ...] | None = None) -> Any:
        """The compiled function; None if this many more items should run as Python; they then count as done.

        arguments : the call's arguments, for whose types a thread compiles; None if they are not known yet
        """
        if self._ready:
            return self._built
        if not (self._patience.compiles(items, self._done) and self._is_due(items, arguments)):
            self._done += items
            return None
        found = self._code()
        self._ready = True  # set after the code: another thread may read it
        return found

    def _is_due(self, items: int, arguments: tuple[Any, ...] | None) -> bool:
        """Whether to switch to compiled code: it is on the disk (checked rarely), or the call should wait for it."""
        if self._patience is not ALWAYS and not can_compile():
            return False
        if _background.is_set() and arguments is not None and not self._patience.waits(items, 0.0):
            return self._is_compiled_beside(arguments)
        if self._patience.waits(items, self._done):
            return True
        if self._done < self._look_at:
            return False
        self._look_at = 2 * (self._done + items)
        return is_on_disk(self._code())

    def _is_compiled_beside(self, arguments: tuple[Any, ...]) -> bool:
        """Whether the code is on the disk or the compiling thread has ended. Starts this thread if necessary.

        A thread that fails leaves nothing behind. The next call then compiles again and raises the error.
        """
        if self._compiler is None:
            code = self._code()
            if is_on_disk(code):
                return True
            types = tuple(code.typeof_pyval(each) for each in arguments)

            def compile_for_types() -> None:
                with suppress(Exception):
                    code.compile(types)

            self._compiler = threading.Thread(target=compile_for_types, name="goodarm-compiler", daemon=True)
            self._compiler.start()
        return not self._compiler.is_alive()

    def _code(self) -> Any:
        if self._built is None:
            self._built = compiled(self.py_func)
        return self._built


_background = threading.Event()


def compile_in_background() -> None:
    """Never wait for the compiler in a call that may run as Python. For servers, whose calls hold a store's lock."""
    _background.set()


_made: dict[tuple[Formula, Patience, int | None], JustInTime] = {}


def just_in_time(function: Formula, patience: Patience = ALWAYS, over: int | None = None) -> JustInTime:
    """The `JustInTime` of a function, cached so that the function is compiled once."""
    key = (function, patience, over)
    if key not in _made:
        _made[key] = JustInTime(*key)
    return _made[key]


def plain(function: Formula) -> Formula:
    """The Python function of a `JustInTime`, for loops that are compiled as a whole."""
    found: Formula = getattr(function, "py_func", function)
    return found


def as_native_rounds(function: Formula, patience: Patience | None = None) -> Formula:
    """The function itself; compiled if it calls log-gamma, the only function that Python rounds differently.

    patience : patience for other functions, which otherwise always run as Python
    """
    inside = any("lgamma" in each.__code__.co_names for each in reachable([function]))  # type: ignore[list-item]  # plain functions
    if inside or patience is not None:
        return just_in_time(function, ALWAYS if inside or patience is None else patience)
    return function
