"""Find the columns of a log: by name, ignoring case, or the only plausible one if no name is given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from goodarm.arguments import plain_form, plural_of
from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.judgement.options import LogOptions
from goodarm.judgement.words import Doubt
from goodarm.question import Threshold  # noqa: F401  the examples

PLAUSIBLE = {
    "arm": (
        "arm",
        "variant",
        "option",
        "creative",
        "item",
        "headline",
        "ad",
        "advert",
        "banner",
        "campaign",
        "caption",
        "movie",
        "product",
        "model",
        "prompt",
        "treatment",
        "group",
        "action",
        "candidate",
        "page",
        "article",
        "test",
        "name",
    ),
    "reward": (
        "reward",
        "click",
        "clicked",
        "clicks",
        "conversion",
        "converted",
        "success",
        "outcome",
        "rating",
        "score",
        "correct",
        "passed",
        "pass",
        "bought",
        "purchase",
        "response",
        "win",
        "won",
        "liked",
        "vote",
        "label",
        "value",
        "result",
    ),
}
"""Typical names of each role's column, the most specific first. A final `id` is ignored."""

UNITS = (
    "account", "anonymous", "browser", "buyer", "client", "cookie", "customer", "device", "household", "ip", "member",
    "participant", "patient", "person", "player", "session", "shopper", "student", "subject", "u", "user", "viewer",
    "visitor", "worker",
)  # fmt: skip
"""Typical names of columns that identify units with several dependent rows. A final `id` is ignored."""

COUNTS = (
    "attempts", "count", "counts", "displays", "emails", "exposures", "impressions", "impression", "n", "plays",
    "pulls", "samples", "sends", "sent", "sessions", "shown", "size", "trials", "users", "viewers", "views", "visitors",
    "visits",
)  # fmt: skip
"""Typical names of the column that counts the samples in a table of totals."""

CASES = ("case", "testcase")
PROPENSITIES = ("propensity", "propensityscore", "pscore")


@dataclass(frozen=True)
class LogColumns:
    """The columns of a log by role; `notes` lists automatic choices."""

    arm: str
    reward: str | None
    pulls: str | None
    total: str | None
    squares: str | None
    by: tuple[str, ...]
    order: str | None
    propensity: str | None
    time: str | None
    unit: str | None
    denominator: str | None
    notes: tuple[str, ...]

    @property
    def used(self) -> list[str]:
        """The columns to read, each once."""
        roles = (self.arm, self.reward, self.pulls, self.total, self.squares, self.order, self.propensity, self.time)
        named = (*self.by, *roles, self.unit, self.denominator)
        return list(dict.fromkeys(name for name in named if name is not None))


def choose_columns(options: LogOptions, names: Sequence[str], title: str, times: Sequence[str] = ()) -> LogColumns:
    """Match the question's columns with the table's. Errors suggest similar names.

    times : columns that hold times
    """
    notes: list[str] = []
    by = tuple(find(name, names, title) for name in options.by)
    order = find(options.order, names, title) if options.order else None
    time = find(options.time, names, title) if options.time else order
    weight = find(options.propensity, names, title) if options.propensity else None
    pulls = find(options.pulls, names, title) if options.pulls else None
    total = find(options.total, names, title) if options.total else None
    if pulls is None and options.reward is None and {"pulls", "total"} <= {name.casefold() for name in names}:
        pulls, total = find("pulls", names, title), find("total", names, title)
        notes.append(f"{pulls} and {total}: a table of totals, one row per arm or part of an arm")
    unit = find(options.unit, names, title) if options.unit else None
    denominator = find(options.denominator, names, title) if options.denominator else None
    taken = {name for name in (*by, order, weight, pulls, total, unit, denominator) if name is not None}
    taken |= {find(name, names, title) for name in (options.drawn, options.score) if name is not None}
    free = [name for name in names if name not in taken]
    reward = None
    if pulls is None:
        reward = find(options.reward, names, title) if options.reward else None
        if reward is None:
            others = [name for name in free if name.casefold() != (options.arm or "").casefold()]
            reward = guess("reward", others, names, title)
            notes.append(f"rewards are in the column {reward}")
    if options.arm is not None:
        arm = find(options.arm, names, title)
    else:
        arm = guess("arm", [name for name in free if name != reward], names, title)
        notes.append(f"arms are in the column {arm}")
    if arm in by:
        raise InvalidValue(
            f"{arm} is the column of the arms, but `by` must divide every arm into segments. Give `by` another column, "
            "or leave it out."
        )
    squares = next((name for name in names if name.casefold() == "squares"), None) if pulls is not None else None
    shown_with = [name for name in names if _bare(name) in PROPENSITIES]
    if weight is None and shown_with:
        notes.append(
            f"there is a column {shown_with[0]}: the verdicts refer to each arm as it was shown. "
            f"To weight every row by it, give `propensity='{shown_with[0]}'` and `cap=C`"
        )
    cases = [name for name in names if _bare(name) in CASES and name not in {*taken, arm, reward}]
    if unit is None and pulls is None and cases:
        notes.append(
            f"there is a column {cases[0]}, and rows are judged as independent. If its values are the cases of one "
            f"test set, which every arm is evaluated on, give `case='{cases[0]}'`"
        )
    if order is not None and pulls is not None:
        raise UnreadableTable(f"{title} is a table of totals, which have no order. Leave `order` out, or give the log.")
    wanted = options.window is not None or (options.max_arms is None and options.ledger is None)
    if time is None and wanted and len(times) == 1 and pulls is None and times[0] not in {*taken, arm, reward}:
        time = times[0]
    if pulls is not None and time is not None:
        raise UnreadableTable(f"{title} is a table of totals, which have no times. Leave `time` out, or give the log.")
    if options.window is not None and time is None:
        raise UnreadableTable(f"{title}: a `window` needs the time of each row. Give `time=COLUMN`.")
    if pulls is not None and unit is not None:
        raise UnreadableTable(f"{title} is a table of totals, which have no units. Leave `unit` out, or give the log.")
    return LogColumns(arm, reward, pulls, total, squares, by, order, weight, time, unit, denominator, tuple(notes))


def unit_like(columns: LogColumns, names: Sequence[str]) -> str | None:
    """An unused column whose name suggests persons, sessions, machines or another id.

    >>> columns = choose_columns(LogOptions(Threshold(0.5)), ["arm", "reward", "user_id", "request_id"], "log")
    >>> unit_like(columns, ["arm", "reward", "user_id", "request_id"])
    'user_id'
    """
    free = [name for name in names if name not in columns.used]
    named = [name for name in free if _bare(name) in UNITS]
    other = [name for name in free if re.search(r"(id|hash|key)$", name.casefold())]
    return next(iter([*named, *other]), None)


def pulls_like(columns: LogColumns, names: Sequence[str]) -> str | None:
    """An unused column whose name suggests a number of samples, as tables of totals have.

    >>> columns = choose_columns(LogOptions(Threshold(0.5)), ["ad", "impressions", "clicks"], "ads.csv")
    >>> pulls_like(columns, ["ad", "impressions", "clicks"])
    'impressions'
    """
    if columns.pulls is not None or columns.unit is not None:
        return None
    return next((name for name in names if name not in columns.used and _bare(name) in COUNTS), None)


def like_data(name: str) -> bool:
    """Whether the name of a column looks like a reward.

    >>> [like_data(name) for name in ("1", "-0.5", "true", "clicked", "2 weeks")]
    [True, True, True, False, False]
    """
    text = name.casefold()
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text) is not None or text in (
        "true",
        "false",
        "yes",
        "no",
    )


def header_missing(title: str, header: Sequence[str]) -> UnreadableTable:
    """The error about a file whose first line is a row."""
    return UnreadableTable(
        f"{title}: the first line looks like data ({_listed(header)}), but it must contain the names of the columns. "
        "Add a header "
        "line, such as arm,reward."
    )


def look_alikes(arms: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names that differ only in blanks, case, invisible characters or Unicode forms.

    >>> look_alikes(["A", "B", "A ", "b", "C"])
    [('A', 'A '), ('B', 'b')]
    """
    seen: dict[str, str] = {}
    found = []
    for arm in arms:
        first = seen.setdefault(plain_form(arm), arm)
        if first != arm:
            found.append((first, arm))
    return found


def find(wanted: str, names: Sequence[str], title: str) -> str:
    """The column of this name. Case matters only if two columns differ in nothing else.

    >>> find("Click", ["item", "click"], "log.csv")
    'click'
    """
    if wanted in names:
        return wanted
    alike = [name for name in names if name.casefold() == wanted.casefold()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise UnreadableTable(f"{title}: {' and '.join(map(repr, alike))} differ only in case. Write the exact name.")
    folded = {name.casefold(): name for name in names}
    near = [folded[name] for name in get_close_matches(wanted.casefold(), folded, n=3, cutoff=0.6)]
    hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"It has: {_listed(names)}."
    raise UnreadableTable(f"{title} has no column {wanted!r}. {hint}")


def guess(role: str, free: Sequence[str], names: Sequence[str], title: str) -> str:
    """The only plausible column, or an error that lists the candidates."""
    exact = [name for name in free if name.casefold() == role]
    plausible = exact or [name for name in free if _bare(name) in PLAUSIBLE[role]]
    if len(plausible) == 1:
        return plausible[0]
    if len(free) == 1 and not plausible:
        return free[0]
    if not plausible and any(map(like_data, names)):
        raise header_missing(title, names)
    if plausible:
        reason = f"the columns {_listed(plausible)} are all plausible"
    else:
        reason = f"none of its columns has a usual name: {_listed(names)}"
    raise UnreadableTable(
        f"{title}: which column holds the {role}s? {reason[0].upper()}{reason[1:]}. Give `{role}=COLUMN`."
    )


DASH = "\u2013"
"""Separator between the two nouns of a pair."""


def noun(column: str) -> str:
    """A plural noun for the arms, from the column's name.

    >>> noun("creative_id"), noun("movieId"), noun("category"), noun("ad"), noun("x1")
    ('creatives', 'movies', 'categories', 'ads', 'arms')
    """
    word = _word(column, "arm")
    if word.endswith("s"):
        return word if not word.endswith("ss") else word + "es"
    return plural_of(word)


def pairs_noun(arm: str, by: Sequence[str]) -> str:
    """A plural noun for pairs of arm and segment.

    >>> pairs_noun("banner_id", ["country"]), pairs_noun("x1", ["country", "device"])
    ('banner–country pairs', 'arm–country–device combinations')
    """
    words = DASH.join([_word(arm, "arm"), *(_word(column, column) for column in by)])
    return f"{words} {'pairs' if len(by) == 1 else 'combinations'}"


def _word(column: str, otherwise: str) -> str:
    """A singular noun for a column's values."""
    word = re.sub(r"[\s_-]*(id|name|no|number)$", "", re.sub(r"([a-z])Id$", r"\1_id", column), flags=re.IGNORECASE)
    word = word.replace("_", " ").strip().lower()
    return word if re.fullmatch(r"[a-z][a-z ]{1,23}", word) else otherwise


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "")


def _bare(name: str) -> str:
    """A name in lower case, without separators and a final id."""
    lowered = re.sub(r"[^a-z0-9]", "", name.casefold())
    return lowered.removesuffix("id") if lowered not in ("bid", "id") else lowered


def check_filter(options: LogOptions, columns: LogColumns) -> tuple[str, ...]:
    """Refuse filters by the shown arm if rows are weighted by propensities, and warn about filters by the reward.

    With propensities, an arm's evidence counts every row in which the arm could be shown, including rows that showed
    another arm. Without these rows the weights are too large on average: with 20 arms and a `where` on one of them, 34
    of 60 logs were judged wrongly at delta = 0.2.
    """
    read = [
        column
        for column in (columns.arm, columns.propensity, columns.reward)
        if column is not None and re.search(rf"(?<!\w){re.escape(column)}(?!\w)", options.where or "", re.IGNORECASE)
    ]
    if read and options.propensity is not None:
        raise InvalidValue(
            f"`where` reads {read[0]}, but with propensities no row may be left out because of the arm that was shown, "
            "its propensity or its reward: an arm is judged by all rows in which it could be shown. Judge all arms, or "
            "filter by information from before the arm was chosen."
        )
    if columns.reward is None or columns.reward not in read:
        return ()
    needed = "no row was left out because of its reward"
    return (Doubt(f"`where` reads {columns.reward}. Verdicts are certified only if {needed}", condition=needed),)
