"""Times in CSV files are found like those in Parquet files."""

from __future__ import annotations

import datetime as dt

import pytest

import goodarm

pytestmark = pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
START = dt.datetime(2026, 10, 1, tzinfo=dt.UTC)
FORMATS = {
    "blank": lambda at: at.strftime("%Y-%m-%d %H:%M:%S"),
    "iso": lambda at: at.strftime("%Y-%m-%dT%H:%M:%S"),
    "zulu": lambda at: at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "offset": lambda at: at.astimezone(dt.timezone(dt.timedelta(hours=2))).isoformat(),
    "date": lambda at: at.strftime("%Y-%m-%d"),
}


def log_of(rows, tmp_path, write=None):
    """The same rows as CSV, with times as text, or as Parquet with times."""
    if write is None:
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        names = ("arm", "reward", "shopper", "at")
        parquet.write_table(
            pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), tmp_path / "l.parquet"
        )
        return tmp_path / "l.parquet"
    lines = ["arm,reward,shopper,at", *(f"{arm},{reward},{who},{write(at)}" for arm, reward, who, at in rows)]
    (tmp_path / "l.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "l.csv"


def late(n=400):
    """Arm c appears after half of the rows."""
    return [
        ("abc"[i % (2 if i < n // 2 else 3)], float(i % 2), f"u{i}", START + dt.timedelta(hours=i)) for i in range(n)
    ]


def growing():
    return [("ab"[i % 2], float(i % 3 == 0), f"u{i % 80}", START + dt.timedelta(hours=i)) for i in range(400)]


@pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)
def test_a_late_arm_is_found_in_every_format(write, tmp_path):
    found = goodarm.judge(log_of(late(), tmp_path, write), threshold=0.5)
    assert any("not all arms exist from the beginning" in each for each in found.warnings)
    assert found.guarantee != "certified"


def test_csv_and_parquet_give_the_same_warnings(tmp_path):
    for rows, options in (
        (late(), {}),
        (growing(), {"unit": "shopper"}),
        (growing(), {"unit": "shopper", "window": "2d"}),
    ):
        one, other = (
            goodarm.judge(log_of(rows, tmp_path, write), threshold=0.5, **options) for write in (None, FORMATS["blank"])
        )
        assert (one.warnings, one.guarantee, one.notes) == (other.warnings, other.guarantee, other.notes)
        assert one.arms.pulls.tolist() == other.arms.pulls.tolist()


def test_times_of_several_offsets_are_compared_in_utc(tmp_path):
    rows = late()
    hours = [dt.timezone(dt.timedelta(hours=i % 3)) for i in range(len(rows))]
    lines = [
        f"{arm},{reward},{who},{at.astimezone(zone).isoformat()}"
        for (arm, reward, who, at), zone in zip(rows, hours, strict=True)
    ]
    (tmp_path / "m.csv").write_text("arm,reward,shopper,at\n" + "\n".join(lines) + "\n", encoding="utf-8")
    mixed = goodarm.judge(tmp_path / "m.csv", threshold=0.5)
    assert mixed.warnings == goodarm.judge(log_of(rows, tmp_path), threshold=0.5).warnings


def test_text_and_numbers_are_no_times(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text("arm,reward,year,note\n" + "a,1,2024,2026-10-01\nb,0,2025,later\n" * 50, encoding="utf-8")
    assert goodarm.judge(path, threshold=0.5).roles.time is None
