"""Division of delta among the arms of a log, and the conditions under which each division is valid.

An arm with share w is decided at evidence log(1/(w delta)). The shares sum to at most 1, so the union over the arms
keeps the probability of any wrong verdict below delta (and weighted e-BH the false discovery rate). A share must be
known, or determined by a rule, before the arm's first reward. A log shows only the arms that have appeared so far, so
this is a condition on the log. There are four divisions:

fixed          1/K each, K the arms in the log. Holds if the set of arms was fixed in advance and every look saw all of
               them. A look at K' < K arms spends delta/K' on each, so arms that appear between looks break it.
max-arms       1/N each, N declared. Holds if at most N arms are ever judged.
ledger         the shares of earlier looks are kept in a file, see `Ledger`.
by-appearance  1/(k (k + 1)) for the k-th arm in the order of first appearance. The sum over all k is 1, so any number
of arms may come, for any reason: k is known when the arm appears.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import shown
from goodarm.errors import InvalidValue, UnusableStore
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.options import LogOptions
from goodarm.judgement.sources._base import Floats, Sums
from goodarm.whole_files import whole

Name = tuple[Any, ...]
"""The values of the columns `by`, then the arm."""


class Kept(NamedTuple):
    """A verdict that a ledger keeps.

    at     : time of the look that reached it
    failed : with several bars, the metric that a bad arm fails
    """

    verdict: int
    at: str = ""
    failed: str | None = None


LATE = 0.1
"""Share of the rows after which an arm's first appearance counts as late."""


@dataclass(frozen=True)
class Shares:
    """The share of delta of each arm.

    case   : "fixed", "max-arms", "ledger" or "by-appearance"
    offset : log(K w) with K arms and share w, one per arm; 0 where all shares are 1/K
    earlier : verdicts of earlier looks, from a ledger
    reached : verdicts of this look, to be recorded in the ledger
    """

    case: str
    offset: Floats
    earlier: Mapping[Name, Kept] = field(default_factory=dict)
    reached: dict[Name, Kept] = field(default_factory=dict)


@contextmanager
def shared(options: LogOptions, columns: LogColumns, sums: Sums, judged: NDArray[np.bool_]) -> Iterator[Shares]:
    """The shares of the arms that get a verdict. A ledger is locked during the block, and written on success."""
    arms = int(judged.sum())
    if options.ledger is not None:
        names = [key for key, kept in zip(zip(*sums.segment, sums.arm, strict=True), judged, strict=True) if kept]
        ledger = Ledger(options.ledger)
        with ledger.look(options.terms(columns), names, int(sums.rows.sum())) as share:
            offset = np.log(arms * np.array([share[name] for name in names]))
            yield Shares("ledger", offset, ledger.earlier, ledger.reached)
    elif options.max_arms is not None:
        if arms > options.max_arms:
            raise InvalidValue(
                f"the log has {arms:,} arms to judge, more than `max_arms={options.max_arms}`. "
                "The number must be fixed before the first look, and include all arms that will ever be judged."
            )
        yield Shares("max-arms", np.full(arms, np.log(arms / options.max_arms)))
    elif options.by_appearance:
        assert sums.first is not None
        names = [key for key, kept in zip(zip(*sums.segment, sums.arm, strict=True), judged, strict=True) if kept]
        place = {name: j for j, name in enumerate(sorted(names))}  # arms with the same time: by name
        order = np.lexsort((np.array([place[name] for name in names]), sums.first[judged]))
        k = np.empty(arms)
        k[order] = np.arange(1.0, arms + 1.0)
        yield Shares("by-appearance", np.log(arms / (k * (k + 1.0))))
    else:
        yield Shares("fixed", np.zeros(arms))


RESERVE = 0.1
"""Share of delta that the first look reserves for later arms. It costs the first arms 0.1 nats of evidence."""
WHAT, VERSION = "goodarm ledger", 1
SIGNS = {"good": 1, "bad": -1}


class Ledger:
    """A file that records each arm's share of delta and the look that assigned it. The first look creates the file.

    The first look gives each of its K0 arms (1 - r)/K0 of delta. The m-th arm that comes later gets r
    K0/((K0+m-1)(K0+m)), as in a campaign with a reserve. These sum to at most r for any number of arms, so all shares
    together sum to at most 1. An arm keeps its share forever. The share of a later arm depends only on the number of
    arms before it, not on the number that arrive with it, which could depend on rewards.

    The ledger also records the question (threshold or control, delta, rule, filter, ...) and refuses a look with
    another question, which would need a separate delta.

    It also records verdicts, and later looks keep them. Proof that they stay certified under `fwer`: An arm with share
    w is called when its evidence reaches 1/(w delta). If the call is wrong, the evidence is a nonnegative
    supermartingale that starts at 1, and by Ville's inequality it *ever* reaches that level with probability at most w
    delta. The shares sum to at most 1, so with probability at least 1 - delta no look, past or future, makes a wrong
    call. A kept verdict is a call of a past look. Under `fdr` this fails: e-BH bounds the share of wrong calls at each
    look, not among the calls of all looks together. So no verdicts are kept then.

    earlier : verdicts of earlier looks, the first one of each arm
    reached : verdicts of this look, which the caller adds
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.earlier: dict[Name, Kept] = {}
        self.reached: dict[Name, Kept] = {}

    @contextmanager
    def look(self, terms: Mapping[str, Any], arms: Sequence[Name], rows: int) -> Iterator[dict[Name, float]]:
        """The shares of all arms known so far, for one look at these arms.

        The file is locked during the look, so concurrent looks can't assign the same share. It is written only if the
        look succeeds, completely or not at all.
        """
        with self._locked():
            kept = self._read()
            self._refuse_other(kept, terms)
            shares = {tuple(entry["arm"]): entry["share"] for look in kept["looks"] for entry in look["arms"]}
            new = [arm for arm in sorted(arms, key=lambda name: tuple(map(str, name))) if arm not in shares]
            added = dict(zip(new, _next_shares(kept, len(new)), strict=True))
            self.earlier = _verdicts(kept)
            yield shares | added
            entries = [{"arm": list(arm), "share": share} for arm, share in added.items()]
            at = datetime.now(UTC).isoformat(timespec="seconds")
            verdicts = [
                {"arm": list(arm), "verdict": "good" if each.verdict > 0 else "bad", "failed": each.failed}
                for arm, each in self.reached.items()
                if arm not in self.earlier
            ]
            looks = [*kept["looks"], {"at": at, "rows": rows, "arms": entries, "verdicts": verdicts}]
            self._write({**kept, "asked": dict(terms), "looks": looks})

    @contextmanager
    def _locked(self) -> Iterator[None]:
        import fcntl

        beside = self.path.with_name(f"{self.path.name}.lock")  # a separate file, since the ledger itself is replaced
        try:
            file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UnusableStore(
                f"the ledger {self.path} can't be used ({error.strerror}). Give `ledger` a path in a folder that "
                "exists and can be written."
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def _read(self) -> dict[str, Any]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {"what": WHAT, "version": VERSION, "reserve": RESERVE, "asked": None, "looks": []}
        except (OSError, UnicodeDecodeError) as error:
            raise UnusableStore(f"the ledger {self.path} can't be read ({error}).") from None
        try:
            kept = json.loads(text)
            wrong = _wrong_with(kept)
        except (ValueError, KeyError, TypeError, AttributeError):
            wrong = "it is not a complete ledger"
        if wrong:
            raise UnusableStore(
                f"the ledger {self.path} is damaged: {wrong}. Restore it from a backup. It has the shares of delta "
                "of earlier looks. Without them, start a new ledger with a new delta, or with rewards from now on."
            )
        return dict(kept)

    def _refuse_other(self, kept: Mapping[str, Any], terms: Mapping[str, Any]) -> None:
        wanted = json.loads(json.dumps(dict(terms)))
        before = wanted if kept["asked"] is None else kept["asked"]
        other = next((name for name in {**before, **wanted} if before.get(name) != wanted.get(name)), None)
        if other is None:
            return
        raise InvalidValue(
            f"the first look of the ledger {self.path} had {other}={shown(before.get(other))}, and this look has "
            f"{other}={shown(wanted.get(other))}. The question must be fixed before the first look. Ask the "
            "same question, or keep a separate ledger, with a separate delta, for each question."
        )

    def _write(self, content: Mapping[str, Any]) -> None:
        def write(part: Path) -> None:
            with part.open("w", encoding="utf-8") as stream:
                json.dump(content, stream, indent=1, ensure_ascii=False)
                stream.flush()
                os.fsync(stream.fileno())

        try:
            whole(self.path, write)
        except OSError as error:
            raise UnusableStore(f"the ledger {self.path} can't be written ({error.strerror}).") from None


def _verdicts(kept: Mapping[str, Any]) -> dict[Name, Kept]:
    """The first verdict on each arm. Ledgers of older versions have none."""
    found: dict[Name, Kept] = {}
    for look in kept["looks"]:
        for entry in look.get("verdicts", ()):
            found.setdefault(tuple(entry["arm"]), Kept(SIGNS[entry["verdict"]], str(look["at"]), entry.get("failed")))
    return found


def _next_shares(kept: Mapping[str, Any], count: int) -> list[float]:
    """The shares of the next arms.

    >>> first = {"reserve": 0.1, "looks": []}
    >>> _next_shares(first, 2)
    [0.45, 0.45]
    >>> later = {"reserve": 0.1, "looks": [{"arms": [{}, {}]}]}
    >>> [round(share, 4) for share in _next_shares(later, 2)]
    [0.0333, 0.0167]
    """
    sizes = [len(look["arms"]) for look in kept["looks"]]
    reserve, first = kept["reserve"], next((size for size in sizes if size), 0)
    if not first:
        return [(1.0 - reserve) / count] * count
    came = sum(sizes) - first
    return [reserve * first / ((first + m - 1) * (first + m)) for m in range(came + 1, came + count + 1)]


def _wrong_with(kept: Any) -> str:
    """Describe why the content is not a valid ledger; empty if it is."""
    if kept["what"] != WHAT or kept["version"] > VERSION:
        return f"it is not a ledger of version {VERSION}"
    entries = [entry for look in kept["looks"] for entry in look["arms"]]
    shares = [float(entry["share"]) for entry in entries]
    if not (0.0 < kept["reserve"] < 1.0 and all(0.0 < share <= 1.0 for share in shares) and sum(shares) <= 1.0 + 1e-9):
        return "its shares are not shares of one delta"
    first: list[Any] = next((look["arms"] for look in kept["looks"] if look["arms"]), [])
    if sum(float(entry["share"]) for entry in first) > 1.0 - kept["reserve"] + 1e-9:
        return "its first look has used the reserve for later arms"
    if len({tuple(entry["arm"]) for entry in entries}) < len(entries):
        return "an arm has two shares"
    _verdicts(kept)
    return "" if isinstance(kept["asked"], dict) else "it does not record the question"
