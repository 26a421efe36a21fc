"""The arms of a campaign: their ids, labels, weights, costs, features and metadata."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unicodedata import category

from goodarm.arguments import number, same_form, shown
from goodarm.errors import InvalidValue, UnknownName
from goodarm.rules.identification.with_scores import tenth

FIELDS = ("id", "label", "metadata", "features", "weight", "scores", "cost")
LONGEST_ID = 1000
INVISIBLE = frozenset("\u00ad\u180e\u200b\u200c\u200d\u2060\ufeff")
"""Zero-width characters. Two ids that differ only in these look the same."""
IGNORED = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f").union(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)))
)
"""Other characters that fonts don't draw: Unicode's Default_Ignorable_Code_Point without the category Cf."""
BLANK = "\u2800"
"""The empty pattern of Braille, which looks like a blank."""
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100


@dataclass(frozen=True)
class ArmEntry:
    """One arm, as the caller declared it.

    id       : any text, never reused
    label    : text shown to people; the id by default
    metadata : any data that JSON can hold
    features : numbers that a model of the arms reads
    weight   : the arm's share of delta; the shares of all arms ever added sum to at most 1
    scores   : a cheap judge's scores of the cases of a fixed test set, one digit per case: the tenth of [0, 1] it lies
               in
    cost     : cost of one sample, in the unit of the campaign's budget; 1 by default
    """

    id: str
    label: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    features: tuple[float, ...] | None = None
    weight: float | None = None
    scores: str | None = None
    cost: float | None = None

    @property
    def tenths(self) -> list[int]:
        """The tenth of [0, 1] that each case's score lies in."""
        return list(map(int, self.scores or ""))

    @property
    def price(self) -> float:
        """Cost of one sample of this arm."""
        return 1.0 if self.cost is None else self.cost

    def as_json(self) -> dict[str, Any]:
        """The fields that were given, as a dictionary."""
        entry: dict[str, Any] = {"id": self.id}
        if self.label:
            entry["label"] = self.label
        if self.metadata:
            entry["metadata"] = dict(self.metadata)
        if self.features is not None:
            entry["features"] = list(self.features)
        if self.weight is not None:
            entry["weight"] = self.weight
        if self.scores is not None:
            entry["scores"] = self.scores
        if self.cost is not None:
            entry["cost"] = self.cost
        return entry

    @staticmethod
    def from_json(entry: Mapping[str, Any]) -> ArmEntry:
        features = entry.get("features")
        return ArmEntry(
            entry["id"],
            entry.get("label", ""),
            entry.get("metadata", {}),
            None if features is None else tuple(map(float, features)),
            entry.get("weight"),
            entry.get("scores"),
            entry.get("cost"),
        )


ArmsGiven = Iterable[str | Mapping[str, Any] | ArmEntry] | Mapping[str, str | Mapping[str, Any]]


def read_arms(given: ArmsGiven, known: Mapping[str, int] | None = None) -> list[ArmEntry]:
    """Read arms from ids, {id: label}, or full entries, and check every field.

    >>> [arm.label for arm in read_arms(["a", {"id": "b", "label": "second"}])]
    ['', 'second']
    >>> read_arms(["a", "a"])
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: two arms have the id 'a'; ids must differ. Give one of them another id.
    """
    if isinstance(given, set | frozenset):
        raise InvalidValue(
            "arms must be a list of ids; got a set, which has another order in each process, so a campaign could not "
            "be created again after a crash. Pass sorted(arms)."
        )
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidValue(f"arms must be a list of ids, such as ['a', 'b']; got {shown(given)}.")
    if isinstance(given, Mapping):
        given = [_named(name, rest) for name, rest in given.items()]
    entries = [_entry(each) for each in given]
    if not entries:
        raise InvalidValue("a campaign needs at least one arm; got none.")
    seen = dict(known or {})
    looks = {look_of(id): id for id in seen}
    for entry in entries:
        if entry.id in seen:
            where = "in this campaign already, and ids are never reused" if entry.id in (known or {}) else None
            raise InvalidValue(
                f"the id {entry.id!r} is {where}. Give the new arm another id."
                if where
                else f"two arms have the id {entry.id!r}; ids must differ. Give one of them another id."
            )
        twin = looks.setdefault(look_of(entry.id), entry.id)
        if twin != entry.id:
            raise InvalidValue(
                f"the ids {twin!a} and {entry.id!a} look alike: they are the same text in different Unicode forms, or "
                "differ only in blanks and invisible characters. Rewards would be told for the wrong arm. Give one "
                "of them another id."
            )
        seen[entry.id] = len(seen)
    _check_features(entries)
    return entries


CostsGiven = float | Mapping[str, float]
"""Cost of a sample: one number for all arms, or {id: cost}."""


def with_costs(arms: ArmsGiven, cost: CostsGiven) -> list[ArmEntry]:
    """The arms with these costs; arms that `cost` does not name keep their own, or cost 1.

    >>> [(arm.id, arm.price) for arm in with_costs(["a", "b"], {"b": 20})]
    [('a', 1.0), ('b', 20)]
    """
    entries = read_arms(arms)
    costs = cost if isinstance(cost, Mapping) else {entry.id: cost for entry in entries}
    unknown = next((name for name in costs if name not in {entry.id for entry in entries}), None)
    if unknown is not None:
        raise UnknownName("arm", str(unknown), [entry.id for entry in entries[:1000]])
    return [_checked(replace(entry, cost=_plain(costs.get(entry.id, entry.cost)))) for entry in entries]


def _named(name: str, rest: Any) -> dict[str, Any]:
    if isinstance(rest, str):
        return {"id": name, "label": rest}
    if not isinstance(rest, Mapping) or "id" in rest:
        raise InvalidValue(f"{{id: label}} has a text for each id, or a dictionary without an id; got {rest!r}.")
    return {"id": name, **rest}


def _entry(given: str | Mapping[str, Any] | ArmEntry) -> ArmEntry:
    if isinstance(given, ArmEntry):
        entry = given
    elif isinstance(given, str):
        entry = ArmEntry(given)
    elif isinstance(given, Mapping):
        unknown = [name for name in given if name not in FIELDS]
        if unknown or "id" not in given:
            what = f"an arm has no {unknown[0]!r}" if unknown else "an arm needs an 'id'"
            raise InvalidValue(f"{what}; it has {', '.join(FIELDS)}. Put anything else into its metadata.")
        entry = ArmEntry(
            given["id"],
            given.get("label") or "",
            given.get("metadata") or {},
            _features(given.get("features")),
            _plain(given.get("weight")),
            _scores(given["id"], given.get("scores")),
            _plain(given.get("cost")),
        )
    else:
        raise InvalidValue(
            f"an arm is an id (a string) or a dictionary with an id; got {given!r}. Write [str(arm) for arm in arms]."
        )
    return _checked(entry)


def _plain(value: Any) -> Any:
    """Convert numpy numbers to Python numbers, which JSON can hold. Return other values unchanged."""
    return value if value is None or isinstance(value, int | float) or number(value) is None else number(value)


def _features(given: Any) -> tuple[float, ...] | None:
    if given is None:
        return None
    try:
        return tuple(float(each) for each in given)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"features must be numbers; got {given!r}.") from None


def _scores(arm: Any, given: Any) -> str | None:
    """Encode scores as digits, one per case: digit d means the tenth [d/10, (d+1)/10)."""
    if given is None:
        return None
    if isinstance(given, str):
        if not (given.isascii() and given.isdigit()):
            raise InvalidValue(f"the scores of arm {arm!r} must be numbers in [0, 1], or digits; got {shown(given)}.")
        return given
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise InvalidValue(f"the scores of arm {arm!r} must be numbers in [0, 1], one per case; got {shown(given)}.")
    digits = []
    for each in given:
        value = float(each) if isinstance(each, bool) else number(each)
        if value is None or not 0.0 <= value <= 1.0:
            raise InvalidValue(
                f"a score must be a number in [0, 1]; got {shown(each)} for arm {arm!r}. Rescale the scores; a case "
                "without a score may have 0.5."
            )
        digits.append(str(tenth(value)))
    return "".join(digits)


def look_of(id: str) -> str:
    """The id as people see it: one Unicode form, single blanks, no invisible characters.

    >>> look_of("calm\\ufe0f"), look_of("calm\\u2003  sea"), look_of("\\u3164")
    ('calm', 'calm sea', '')
    """
    if id.isascii() and id.isalnum():
        return id
    shown = (" " if c.isspace() or c == BLANK else c for c in same_form(id))
    return " ".join("".join(c for c in shown if c not in IGNORED and category(c) not in ("Cc", "Cf")).split())


def _checked(entry: ArmEntry) -> ArmEntry:
    if not isinstance(entry.id, str) or not entry.id:
        fix = "Give the arm a name." if entry.id == "" else "Write [str(arm) for arm in arms]."
        raise InvalidValue(f"an arm's id must be a non-empty string; got {entry.id!r}. {fix}")
    if len(entry.id) > LONGEST_ID:
        raise InvalidValue(f"an arm's id may have {LONGEST_ID} characters; {entry.id[:20]!r}... has {len(entry.id)}.")
    if entry.id != entry.id.strip() or INVISIBLE.intersection(entry.id) or not look_of(entry.id):
        raise InvalidValue(
            "an arm's id may not begin or end with blanks, or contain zero-width characters; got "
            f"{entry.id!a}. Remove them."
        )
    if not isinstance(entry.label, str):
        raise InvalidValue(f"the label of arm {entry.id!r} must be a string; got {entry.label!r}.")
    check_metadata(entry.metadata, f"the metadata of arm {entry.id!r}")
    for what, value in (("weight", entry.weight), ("cost", entry.cost)):
        if value is not None and not LEAST_WEIGHT <= (number(value) or 0.0) <= LARGEST_WEIGHT:
            raise InvalidValue(
                f"the {what} of arm {entry.id!r} must be a positive number, from {LEAST_WEIGHT:g} to "
                f"{LARGEST_WEIGHT:g}; got {value!r}."
            )
    if entry.features is not None and not all(map(math.isfinite, entry.features)):
        raise InvalidValue(f"the features of arm {entry.id!r} must be finite numbers; got {entry.features}.")
    return entry


def check_metadata(metadata: Any, what: str) -> None:
    """Refuse metadata that JSON can't hold."""
    if not isinstance(metadata, Mapping):
        raise InvalidValue(f"{what} must be a dictionary; got {metadata!r}.")
    try:
        json.dumps(metadata, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(f"{what} must be data that JSON can hold, with strings as keys: {error}.") from None


def _check_features(entries: Sequence[ArmEntry]) -> None:
    lengths = {None if entry.features is None else len(entry.features) for entry in entries}
    if len(lengths) > 1:
        raise InvalidValue(
            "either all arms have the same number of features, or none has any; got lengths "
            f"{sorted(map(str, lengths))}."
        )
