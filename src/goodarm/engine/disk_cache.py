"""Make numba's disk cache optional: compiled code is kept if possible, and compiled again if not.

numba raises an error if a cache can't be used: no folder is writable (a service without a home on a read-only disk),
the disk is full, or a file names a module that an upgrade has moved. In each of these cases the function can still be
compiled, so nothing here is an error.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    FunctionCache: Any = object
else:
    from numba.core.caching import FunctionCache

log = logging.getLogger("goodarm.engine")
_said = False


class DiskCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """A cache whose failures are not errors."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None if the file can't be read: it was written by other code, or damaged."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # unpickling runs constructors of the file's content, which may raise anything
            log.info("compile %s again, its cache can't be read: %s", self._name, error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled function. An unreadable index is replaced."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _say(str(error))
        except Exception:  # saving reads the index first, so it can fail like `load_overload`
            try:
                self.flush()
                super().save_overload(sig, data)
            except OSError as error:
                _say(str(error))


def is_kept(dispatcher: Any) -> bool:
    """Whether the disk has the function, compiled for some argument types."""
    try:
        return bool(dispatcher._cache._cache_file._load_index())
    except Exception:  # no cache, a damaged one, or another version of numba: compile
        return False


def keep_on_disk(dispatcher: Any) -> None:
    """Let numba keep what it compiles for this function, if a folder is writable."""
    try:
        dispatcher._cache = DiskCache(dispatcher.py_func)
    except (RuntimeError, OSError) as error:
        if isinstance(error, RuntimeError) and "no locator" not in str(error):
            raise
        _say("no folder is writable")


def _say(reason: str) -> None:
    """Warn once per process that compiled code is not kept."""
    global _said
    if not _said:
        _said = True
        log.warning(
            "compiled functions can't be kept (%s), so each process compiles them again. Set NUMBA_CACHE_DIR to a "
            "folder that this user may write to.",
            reason,
        )
