"""The queries in SQL, for DuckDB and PostgreSQL, with the few differences between the two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodarm.errors import UnreadableTable
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.options import LogOptions
from goodarm.judgement.sources._base import FITS, LATEST, NULLISH, WORDS, Sums
from goodarm.rules.identification.bet_mixture import STEPS

FIELDS = (
    "rows",
    "pulls",
    "missing",
    "unreadable",
    "total",
    "outside",
    "squares",
    "smallest",
    "largest",
    "weight",
    "capped",
    "improper",
    "first",
    "graded",
)
OF_UNITS = ("pending", "unnamed", "timeless", "over")
"""Columns of a database's answer."""


def quoted(name: str) -> str:
    """Quote the name of a column or table for SQL.

    >>> print(quoted('my "own" arm'))
    "my ""own"" arm"
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class Table:
    """A relation of a database with the kinds of its columns: whole, number, boolean, float, text or time.

    relation : the expression after FROM
    kinds    : column -> kind
    double   : the database's name for a float of 64 bits
    try_cast : whether it can convert text to numbers without failing
    proven   : columns without NULL whose values all lie in the question's range, according to the file's statistics
    time     : the time of a row as a number, if known
    stamped  : whether these are times of the database; if not, they are numbers in the log
    many     : an aggregate that counts distinct values of {}
    """

    relation: str
    kinds: dict[str, str]
    double: str
    try_cast: bool
    proven: frozenset[str] = frozenset()
    time: str | None = None
    stamped: bool = False
    many: str = "count(DISTINCT {})"

    def number(self, column: str, no_nan: bool) -> str:
        """The column as a number; NULL where the value is not a number."""
        name, kind = quoted(column), self.kinds[column]
        if kind == "boolean":
            return f"CAST({name} AS INTEGER)"
        if kind == "text":
            return (
                f"CASE WHEN {_nullish(name)} THEN NULL ELSE coalesce(TRY_CAST({name} AS {self.double}), "
                f"CASE lower(trim({name})) {_words()} END) END"
            )
        if kind == "float" and no_nan:
            nan = f"isnan({name})" if self.try_cast else f"{name} = 'NaN'"
            return f"CASE WHEN {nan} THEN NULL ELSE {name} END"
        return name

    def scaled(self, column: str, options: LogOptions, no_nan: bool) -> str:
        """The column on the rule's scale: (x - LOW)/(HIGH - LOW) for bounded rewards, and at most 1 if they are cut."""
        x, scale = self.number(column, no_nan), options.scale
        if scale.cut:
            return _cut(f"CAST({x} AS {self.double}) / {scale.high!r}")
        if not scale.moved:
            return x
        if self.kinds[column] == "number" and not self.try_cast:
            less = f"{x} - {scale.low!r}"  # PostgreSQL subtracts exactly
        elif self.kinds[column] == "whole" and scale.low.is_integer() and abs(scale.low) < 2.0**62:
            less = f"{x} - {int(scale.low)}"
        else:
            less = f"CAST({x} AS {self.double}) - {scale.low!r}"
        return f"(CAST({less} AS {self.double}) / {scale.length!r})"


def _words() -> str:
    """The branches of a CASE that read words as numbers."""
    return " ".join(f"WHEN {literal(word)} THEN {number}" for word, number in WORDS.items())


def _cut(x: str) -> str:
    """The smaller of x and 1, NULL where x is NULL; `least` would ignore the NULL."""
    return f"(CASE WHEN {x} > 1.0 THEN 1.0 ELSE {x} END)"


def _nullish(name: str) -> str:
    return f"{name} IS NULL OR lower(trim({name})) IN ({', '.join(map(literal, NULLISH))})"


def sums_query(table: Table, columns: LogColumns, options: LogOptions, no_nan: bool = False) -> str:
    """One row per segment and arm. The same scan checks NULLs and the range."""
    if table.time is None and (options.seconds is not None or options.by_appearance):
        raise UnreadableTable(
            f"the column {columns.time!r} holds neither times nor numbers, so the time of each row is unknown. Turn "
            "its values into times; PostgreSQL does this in a `query`: at::timestamp."
        )
    keys = [*columns.by, columns.arm]
    double = table.double
    # whole numbers become text later: with many arms, converting them in the query would take as long as the scan
    shown = [
        f"{quoted(key) if table.kinds.get(key) == 'whole' else f'CAST({quoted(key)} AS {_text(table)})'} AS key{j}"
        for j, key in enumerate(keys)
    ]
    relation = f"{table.relation}{_where(options)}"
    if columns.pulls is not None and columns.total is not None:
        chosen = _of_totals(table, columns, options)
    elif columns.unit is not None:
        relation, chosen = _per_unit(table, columns, options, no_nan), _of_units(table, options)
    else:
        assert columns.reward is not None
        chosen = _of_rewards(table, columns, options, no_nan)
    if table.time is not None:
        chosen["first"] = "min(goodarm_start)" if columns.unit is not None else f"min({table.time})"
    values = [f"CAST({formula} AS {double}) AS {quoted(name)}" for name, formula in chosen.items()]
    groups = ", ".join(quoted(key) for key in keys)
    return f"SELECT {', '.join([*shown, *values])} FROM {relation} GROUP BY {groups}"


def _of_rewards(table: Table, columns: LogColumns, options: LogOptions, no_nan: bool) -> dict[str, str]:
    reward = columns.reward or ""
    x = table.number(reward, no_nan)
    found = {"rows": "count(*)", "total": f"sum({table.scaled(reward, options, no_nan)})"}
    if reward not in table.proven:
        found |= {"pulls": f"count({x})", "outside": _any(_outside(options, x))}
    if table.kinds[reward] == "text":
        found["missing"] = f"count(CASE WHEN {_nullish(quoted(reward))} THEN 1 END)"
    if columns.propensity is not None:
        p, cap = table.number(columns.propensity, no_nan), options.cap
        weight = f"least(1.0 / nullif({p}, 0), {cap!r}) / {cap!r}"
        found["total"] = f"sum({table.scaled(reward, options, no_nan)} * {weight})"
        found["weight"] = f"sum(CASE WHEN {x} IS NULL THEN NULL ELSE {weight} END)"
        found["capped"] = f"sum(CASE WHEN {p} * {cap!r} < {FITS!r} THEN 1 ELSE 0 END)"
        found["improper"] = f"sum(CASE WHEN {p} > 0 AND {p} <= 1 THEN 0 ELSE 1 END)"
    elif options.by_sums:
        found |= _logs(table, options, table.scaled(reward, options, no_nan), reward in table.proven)
    elif options.by_values:
        found |= _graded(table, options, reward, x)
    elif options.by_squares:
        scaled = f"CAST({table.scaled(reward, options, no_nan)} AS {table.double})"
        found["squares"] = f"sum({scaled} * {scaled})"
    elif not options.scale.bounded:
        found["squares"] = f"sum(CAST({x} AS {table.double}) * {x})"
        found |= {"smallest": f"min({x})", "largest": f"max({x})"}
    return found


def _graded(table: Table, options: LogOptions, reward: str, x: str) -> dict[str, str]:
    """A flag: whether any reward lies strictly between the ends of the range. Whole numbers in [0, 1] do not."""
    scale = options.scale
    if table.kinds[reward] in ("boolean", "whole") and not scale.moved:
        return {}
    return {"graded": _any(f"{x} > {scale.low!r} AND {x} < {scale.high!r}")}


def _logs(table: Table, options: LogOptions, x: str, proven: bool = False) -> dict[str, str]:
    """Sums of log(1 + l (x - xi)), one for each bet. Rewards outside of the range are refused later and cut here.

    proven : the source's statistics say that no reward is outside
    """
    x, bar = f"CAST({x} AS {table.double})", options.problem(1).bar
    most = f"WHEN {x} > {bar.ceiling!r} THEN {bar.ceiling!r} " if bar.ceiling < math.inf else ""
    within = x if proven else f"CASE {most}WHEN {x} < 0 THEN 0 ELSE {x} END"
    beyond = f"({within} - {bar.threshold!r})"
    return {f"log{j}": f"sum(ln(1 + {bet!r} * {beyond}))" for j, bet in enumerate(options.bets)}


def _per_unit(table: Table, columns: LogColumns, options: LogOptions, no_nan: bool) -> str:
    """A relation with one row per segment, arm and unit, which `_of_units` sums up."""
    assert columns.unit is not None
    keys = ", ".join(quoted(key) for key in (*columns.by, columns.arm, columns.unit))
    reward, scale, double = columns.reward or "", options.scale, table.double
    seen = table.number(reward, no_nan)
    x = f"coalesce({seen}, 0)" if options.nulls == "zero" else seen
    scaled = (
        f"((CAST({x} AS {double}) - {scale.low!r}) / {scale.length!r})" if scale.moved else f"CAST({x} AS {double})"
    )
    size = f"count({x})" if columns.denominator is None else f"sum({table.number(columns.denominator, no_nan)})"
    outside = _any(_outside(options, x))
    if options.per_unit == "sum":
        outside = "0"  # the range is that of the sum
    elif columns.denominator is not None:
        d = table.number(columns.denominator, no_nan)
        outside = _any(f"{x} < 0 OR {x} > {d} OR {d} < 0 OR {d} IS NULL")
    value = {
        "mean": f"avg({scaled})",
        "any": f"max(CASE WHEN {x} > 0 THEN 1.0 WHEN {x} IS NOT NULL THEN 0.0 END)",
        "sum": f"(CAST(sum({x}) AS {double}) - {scale.start!r}) / {scale.length!r}",
        "ratio": f"CAST(sum({x}) AS {double}) / {options.unit_limit!r}",
    }[options.per_unit]
    missing = _nullish(quoted(reward)) if table.kinds[reward] == "text" else f"({seen}) IS NULL"
    relation, start, live = f"{table.relation}{_where(options)}", "", "0"
    if table.time is not None:
        start = f", min({table.time}) AS goodarm_start"
    if options.seconds is not None:
        at = f"CASE WHEN {table.time} > {-LATEST!r} AND {table.time} < {LATEST!r} THEN {table.time} END"
        now = f"(SELECT max({at}) FROM {relation})"
        inner = f"SELECT *, {at} AS goodarm_t, min({at}) OVER (PARTITION BY {keys}) AS goodarm_0 FROM {relation}"
        relation = f"({inner}) AS timed WHERE goodarm_t IS NULL OR goodarm_t < goodarm_0 + {options.seconds!r}"
        live = f"CASE WHEN min(goodarm_0) + {options.seconds!r} > {now} THEN 1 ELSE 0 END"
    chosen = {
        "rows": "count(*)",
        "missing": f"count(CASE WHEN {missing} THEN 1 END)",
        "unreadable": f"count(CASE WHEN ({seen}) IS NULL AND NOT ({missing}) THEN 1 END)",
        "outside": outside,
        "value": value,
        "size": f"CAST({size} AS {double}) / {options.unit_limit or 1.0!r}",
        "open": live,
        "named": f"CASE WHEN {quoted(columns.unit)} IS NULL THEN 0 ELSE 1 END",
        "timeless": "0" if options.seconds is None else "count(*) - count(goodarm_t)",
    }
    shown = ", ".join(f"{formula} AS goodarm_{name}" for name, formula in chosen.items())
    return f"(SELECT {keys}, {shown}{start} FROM {relation} GROUP BY {keys}) AS units"


def _of_units(table: Table, options: LogOptions) -> dict[str, str]:
    counts = "goodarm_named = 1 AND goodarm_open = 0"
    value = _cut("goodarm_value") if options.scale.cut else "goodarm_value"
    counted = f"CASE WHEN {counts} THEN {value} END"
    found = {
        "rows": "sum(goodarm_rows)",
        "pulls": f"count({counted})",
        "missing": "sum(goodarm_missing)",
        "unreadable": "sum(goodarm_unreadable)",
        "total": f"sum({counted})",
        "outside": "max(goodarm_outside)",
        "pending": "count(CASE WHEN goodarm_named = 1 AND goodarm_open = 1 THEN 1 END)",
        "unnamed": "sum(CASE WHEN goodarm_named = 1 THEN 0 ELSE goodarm_rows END)",
        "timeless": "sum(goodarm_timeless)",
    }
    if options.per_unit == "sum":
        low, high = options.scale.unit_limits
        found["outside"] = _any(f"goodarm_named = 1 AND (goodarm_value < {low!r} OR goodarm_value > {high!r})")
    if options.per_unit == "ratio":
        found["weight"] = f"sum(CASE WHEN {counts} THEN goodarm_size END)"
        found["over"] = _any("goodarm_named = 1 AND goodarm_size > 1.000000001")
    elif options.by_sums:
        found |= _logs(table, options, counted)
    elif options.by_values and options.per_unit != "any":
        found["graded"] = _any(f"{counts} AND goodarm_value > 0 AND goodarm_value < 1")
    elif options.by_squares:
        found["squares"] = f"sum({counted} * {counted})"
    elif not options.scale.bounded:
        found["squares"] = f"sum({counted} * {counted})"
        found |= {"smallest": f"min({counted})", "largest": f"max({counted})"}
    return found


def cells_query(table: Table, columns: LogColumns, options: LogOptions, place: str, score: str | None) -> str:
    """Arm, case, reward, place in the order of the draws and score of every row of a fixed test set.

    place : an expression, NULL where no order is known
    """
    arm, case = (f"CAST({quoted(name or '')} AS {_text(table)})" for name in (columns.arm, columns.unit))
    reward, given = (
        f"CAST({table.number(name, True)} AS {table.double})" if name else "NULL" for name in (columns.reward, score)
    )
    reward = f"coalesce({reward}, 0)" if options.nulls == "zero" else reward
    return f"SELECT {arm}, {case}, {reward}, {place}, {given} FROM {table.relation}{_where(options)}"


def distinct_query(table: Table, columns: LogColumns, options: LogOptions, column: str) -> str:
    """Query for the number of distinct values of a column within segments and arms."""
    keys = ", ".join(quoted(key) for key in (*columns.by, columns.arm, column))
    return f"SELECT {table.many.format(f'({keys})')} FROM {table.relation}{_where(options)}"


def _of_totals(table: Table, columns: LogColumns, options: LogOptions) -> dict[str, str]:
    n, s = (table.number(name or "", False) for name in (columns.pulls, columns.total))
    n, s = (f"CAST({each} AS {table.double})" for each in (n, s))
    scale = options.scale
    found = {
        "rows": "count(*)",
        "pulls": f"sum({n})",
        "missing": f"count(*) - count({n} + {s})",
        "total": f"sum(({s} - {scale.start!r} * {n}) / {scale.length!r})" if scale.moved else f"sum({s})",
        "outside": _any(_impossible(options, n, s)),
    }
    if columns.squares is not None and not scale.bounded:
        found["squares"] = f"sum({table.number(columns.squares, False)})"
    return found


def stray_query(table: Table, columns: LogColumns, options: LogOptions, *, count: bool) -> str:
    """Query for rewards outside the range or unreadable: their number, or the first with its arm."""
    arm = f"CAST({quoted(columns.arm)} AS {_text(table)})"
    if columns.pulls is not None and columns.total is not None:
        n, s = (table.number(name, False) for name in (columns.pulls, columns.total))
        wrong = f"{_impossible(options, n, s)} OR {n} IS NULL OR {s} IS NULL"
        total, pulls = (f"CAST({quoted(name)} AS {_text(table)})" for name in (columns.total, columns.pulls))
        value = f"{total} || ' of ' || {pulls}"
    else:
        x = table.number(columns.reward or "", True)
        raw = quoted(columns.reward or "")
        wrong = _outside(options, x)
        if table.kinds[columns.reward or ""] == "text":
            wrong += f" OR (({x}) IS NULL AND NOT ({_nullish(raw)}))"
        value = f"CAST({raw} AS {_text(table)})"
    where = f"{_where(options)}{' AND' if options.where else ' WHERE'} ({wrong})"
    if count:
        return f"SELECT count(*) FROM {table.relation}{where}"
    return f"SELECT {arm}, {value} FROM {table.relation}{where} LIMIT 1"


def before_query(table: Table, options: LogOptions, moment: float) -> str:
    """Query for the number of rows before a time."""
    return (
        f"SELECT count(*) FROM {table.relation}{_where(options)}{' AND' if options.where else ' WHERE'} "
        f"{table.time} < {moment!r}"
    )


def span_query(table: Table, options: LogOptions) -> str:
    """Query for the first and the last time."""
    at = f"CASE WHEN {table.time} > {-LATEST!r} AND {table.time} < {LATEST!r} THEN {table.time} END"
    return f"SELECT min({at}), max({at}) FROM {table.relation}{_where(options)}"


def _outside(options: LogOptions, x: str) -> str:
    low, high = options.scale.limits
    return f"{x} < {low!r} OR {x} > {high!r}"


def _impossible(options: LogOptions, n: str, s: str) -> str:
    """Condition for totals that no rewards in the range can have, with a tolerance for sums of rounded numbers."""
    scale = options.scale
    wrong = f"{n} < 0"
    if scale.bounded:
        slack = f"({1e-9 * scale.length!r} * {n} + 1e-15 * abs({s}))"
        wrong += f" OR {s} - {scale.low!r} * {n} < -{slack} OR {s} - {scale.high!r} * {n} > {slack}"
    return wrong


def _any(condition: str) -> str:
    return f"CASE WHEN bool_or({condition}) THEN 1 ELSE 0 END"


def _where(options: LogOptions) -> str:
    return f" WHERE ({options.where}\n)" if options.where else ""


def _text(table: Table) -> str:
    return "VARCHAR" if table.try_cast else "TEXT"


def as_sums(columns: LogColumns, found: dict[str, Any]) -> Sums:
    """Columns of a database's answer as `Sums`."""
    keys = [_texts(found[f"key{j}"]) for j in range(len(columns.by) + 1)]
    numbers: dict[str, Any] = {name: _numbers(found[name]) for name in (*FIELDS, *OF_UNITS) if name in found}
    numbers.setdefault("pulls", numbers["rows"])
    numbers["outside"] = numbers["outside"] > 0.0 if "outside" in numbers else np.zeros(keys[0].size, dtype=bool)
    of_rows = columns.pulls is None
    numbers.setdefault("missing", numbers["rows"] - numbers["pulls"])
    numbers.setdefault(
        "unreadable", numbers["rows"] - numbers["missing"] - numbers["pulls"] if of_rows else 0.0 * numbers["rows"]
    )
    return Sums(tuple(keys[:-1]), keys[-1], **numbers, logs=logs_of(found))


def logs_of(found: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """The sums of logarithms as one array, shape (K, J); 0 for arms without a reward."""
    columns = [_numbers(found[f"log{j}"]) for j in range(2 * STEPS) if f"log{j}" in found]
    if not columns:
        return None
    logs = np.zeros((columns[0].size, 2 * STEPS))
    logs[:, : len(columns)] = np.nan_to_num(np.column_stack(columns))
    return logs


def _texts(values: Any) -> np.ndarray[Any, np.dtype[np.object_]]:
    plain = np.ma.getdata(values) if isinstance(values, np.ma.MaskedArray) else values
    if isinstance(plain, np.ndarray) and plain is values and (plain.dtype.kind in "iu" or _all_texts(plain)):
        whole = plain.dtype.kind in "iu"
        return np.array(list(map(str, plain.tolist())), dtype=object) if whole else plain
    found = np.array([None if value is None else str(value) for value in plain], dtype=object)
    found[np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else []] = None
    return found


def _all_texts(values: Any) -> bool:
    return values.dtype == object and all(type(value) is str for value in values)


def _numbers(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return values.astype(np.float64)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
