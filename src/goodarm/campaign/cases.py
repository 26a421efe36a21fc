"""The fixed test set of a campaign: its cases, and the order in which each arm draws them.

An arm is evaluated on each case at most once, in its own uniformly random order. The order is a keyed permutation whose
positions are computed one at a time, so nothing of size arms × cases is stored. Its key contains the campaign's random
key. Two
campaigns on the same cases therefore draw them in different orders: an arm that was tuned to the first cases of one
campaign has no advantage in the next.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from goodarm.arguments import shown, whole
from goodarm.errors import InvalidValue, UnknownName, UnreadableTable
from goodarm.numerics.shuffle import shuffled
from goodarm.problem import MOST_CASES

LONGEST_ID = 1000
KEY_BITS = 62
CasesGiven = int | str | Path | Iterable[Any]


@dataclass(frozen=True)
class CaseSet:
    """The cases: their ids, or only their number. Without ids they are called "1", "2", and so on.

    >>> CaseSet(3).name(0), CaseSet(2, ("easy", "hard")).name(1)
    ('1', 'hard')
    """

    count: int
    ids: tuple[str, ...] | None = None

    def name(self, case: int) -> str:
        """The id of a case, by its number from 0."""
        return str(case + 1) if self.ids is None else self.ids[case]

    @cached_property
    def known(self) -> frozenset[str]:
        """The ids of all cases."""
        return frozenset(map(self.name, range(self.count)))

    def as_json(self) -> int | list[str]:
        return self.count if self.ids is None else list(self.ids)

    @staticmethod
    def from_json(content: int | list[str]) -> CaseSet:
        return CaseSet(content) if isinstance(content, int) else CaseSet(len(content), tuple(content))


def order_key(campaign_key: str, seed: int, arm: int) -> int:
    """The key of an arm's order."""
    digest = blake2b(f"{campaign_key}:{seed}:{arm}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - KEY_BITS)


class Draw:
    """The next case of an arm.

    A case whose ticket is voided moves to the end of the arm's order.

    >>> draw = Draw(CaseSet(3), key=7)
    >>> [draw.case(place) for place in range(3)]
    [2, 1, 0]
    >>> draw.void.append(1); draw.case(3)
    1
    """

    __slots__ = ("cases", "key", "void")

    def __init__(self, cases: CaseSet, key: int) -> None:
        self.cases, self.key = cases, key
        self.void: list[int] = []
        """Cases whose tickets were voided, in this order."""

    def case(self, place: int) -> int:
        """The case at a position of the arm's order. Positions and cases count from 0."""
        count = self.cases.count
        return int(shuffled(place, count, self.key)) if place < count else self.void[place - count]


def read_cases(given: CasesGiven) -> CaseSet:
    """Cases from their number, from ids, or from a CSV or JSON Lines file with one case per row.

    >>> read_cases(500).count, read_cases(["a", "b"]).ids
    (500, ('a', 'b'))
    >>> read_cases(["a", "a"])
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: two cases have the id 'a'; ids must differ, since an arm draws each case once.
    """
    count = whole(given)
    if count is not None:
        if not 1 <= count <= MOST_CASES:
            raise InvalidValue(f"the number of cases must lie between 1 and {MOST_CASES:,}; got {count}.")
        return CaseSet(count)
    if isinstance(given, str | Path):
        ids = list(_ids_in(Path(given)))
    elif isinstance(given, Iterable) and not isinstance(given, Mapping):
        ids = [_checked(each) for each in given]
    else:
        raise InvalidValue(f"cases must be ids, their number, or a file; got {shown(given)}.")
    if not ids:
        raise InvalidValue("a test set needs at least one case; got none.")
    seen: set[str] = set()
    for each in ids:
        if each in seen:
            raise InvalidValue(f"two cases have the id {each!r}; ids must differ, since an arm draws each case once.")
        seen.add(each)
    return CaseSet(len(ids), tuple(ids))


def _checked(given: Any) -> str:
    number = whole(given)
    text = str(number) if number is not None else given
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_ID or not text.isprintable():
        raise InvalidValue(
            f"a case's id must be a printable text of at most {LONGEST_ID} characters; got {shown(given)}."
        )
    return text


def _ids_in(file: Path) -> Iterator[str]:
    """Case ids in a file: the column `case` or `id`, or else the first column."""
    for row in _rows_of(file, "cases"):
        column = next((name for name in ("case", "id") if name in row), next(iter(row)))
        yield _checked(row[column])


def _rows_of(file: Path, what: str) -> Iterator[Mapping[str, Any]]:
    """The rows of a CSV or JSON Lines file, as dictionaries."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows: Iterable[Mapping[str, Any]]
            rows = (
                map(json.loads, filter(str.strip, lines))
                if file.suffix in (".jsonl", ".ndjson")
                else csv.DictReader(lines)
            )
            for row in rows:
                if not isinstance(row, Mapping) or not row:
                    raise UnreadableTable(f"{file}: a row must be an object with the case's id; got {shown(row)}.")
                yield row
    except OSError as reason:
        raise UnreadableTable(f"can't read the {what} in {file}: {reason.strerror}.") from None
    except (ValueError, csv.Error) as reason:
        if isinstance(reason, InvalidValue):
            raise
        raise UnreadableTable(f"{file} is not a file of {what}, CSV or JSON Lines: {reason}.") from None


# Scores of a cheap judge, one for every arm and case.

ScoresGiven = Mapping[str, Any] | str | Path | Any
MOST_SCORES = 10**7
"""Maximum number of arms times cases with scores. Each score is a character of the journal's first entry."""


def read_scores(given: ScoresGiven, arms: Iterable[str], cases: CaseSet) -> dict[str, list[Any]]:
    """The scores of each arm, in the order of the cases.

    given : {arm: scores in the order of the cases}, {arm: {case: score}}, or a CSV or JSON Lines file or a dataframe
            with the columns arm, case and score

    >>> read_scores({"a": {"hard": 0.2, "easy": 0.9}}, ["a"], CaseSet(2, ("easy", "hard")))
    {'a': [0.9, 0.2]}
    """
    names = list(arms)
    if len(names) * cases.count > MOST_SCORES:
        raise InvalidValue(
            f"{len(names):,} arms and {cases.count:,} cases have more than {MOST_SCORES:,} scores, the maximum of a "
            "campaign. Split the arms among several campaigns."
        )
    by_arm = given if isinstance(given, Mapping) else _scores_of_rows(given)
    unknown = next((arm for arm in by_arm if arm not in set(names)), None)
    if unknown is not None:
        raise UnknownName("arm", str(unknown), names[:1000])
    return {arm: _in_order(arm, by_arm.get(arm), cases) for arm in names}


def _scores_of_rows(given: Any) -> dict[str, dict[str, Any]]:
    if isinstance(given, str | Path):
        rows = [tuple(row.get(name) for name in ("arm", "case", "score")) for row in _rows_of(Path(given), "scores")]
    elif hasattr(given, "columns"):
        absent = [name for name in ("arm", "case", "score") if name not in list(given.columns)]
        if absent:
            raise InvalidValue(f"scores in a table need the columns arm, case and score; {absent[0]!r} is missing.")
        rows = list(zip(given["arm"], given["case"], given["score"], strict=True))
    else:
        raise InvalidValue(f"scores must be {{arm: scores}}, a file or a dataframe; got {shown(given)}.")
    found: dict[str, dict[str, Any]] = {}
    for arm, case, score in rows:
        of_arm = found.setdefault(str(arm), {})
        name = _checked(case)
        if name in of_arm:
            raise InvalidValue(f"arm {arm!r} has two scores on case {name!r}. Keep one of them.")
        of_arm[name] = _as_number(score)
    return found


def _as_number(score: Any) -> Any:
    """Convert a CSV cell to a number. Other values pass unchanged and are refused later with the arm's name."""
    try:
        return float(score) if isinstance(score, str) else score
    except ValueError:
        return score


def _in_order(arm: str, given: Any, cases: CaseSet) -> list[Any]:
    if given is None:
        raise InvalidValue(f"arm {arm!r} has no scores. Give a score for every arm and case, before the first label.")
    if isinstance(given, Mapping):
        ids = list(map(cases.name, range(cases.count)))
        missing = next((name for name in ids if name not in given), None)
        if missing is not None:
            ids_hint = "" if cases.ids or given.keys() & set(ids) else (
                f" cases={cases.count} names the cases 1 to {cases.count}; if yours have other ids, give those as the "
                "cases, in a list or a file."
            )  # fmt: skip
            raise InvalidValue(
                f"arm {arm!r} has no score on case {missing!r}. Give a score for every arm and case.{ids_hint}"
            )
        extra = next((name for name in given if name not in cases.known), None)
        if extra is not None:
            raise InvalidValue(f"arm {arm!r} has a score on {extra!r}, which is not a case of this test set.")
        return [given[name] for name in ids]
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if len(listed) != cases.count:
        raise InvalidValue(
            f"arm {arm!r} has {len(listed):,} scores and the test set {cases.count:,} cases. Give one score per case."
        )
    return listed
