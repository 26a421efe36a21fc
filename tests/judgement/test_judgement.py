"""What a judgement says, in all the places where it says it."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

import goodarm
from goodarm.cli import app
from goodarm.judgement.page import page

TOTALS = {
    "creative": [f"c{i}" for i in range(6)],
    "pulls": [9000, 9000, 9000, 9000, 300, 900],
    "total": [300, 260, 60, 80, 6, 27],
}
HARD = [
    'say "hi"',
    "two\nlines",
    "emoji 🥐 and 👩‍🚀",
    "<script>alert(1)</script> & <b>",
    "$x^2$ [red]",
    "a,b;c",
    "\x1b[31mred",
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "totals.csv"
    rows = zip(*TOTALS.values(), strict=True)
    path.write_text("\n".join([",".join(TOTALS), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def run(*arguments: object) -> str:
    ran = CliRunner().invoke(app, ["judge", *map(str, arguments)])
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_the_sentence_and_the_table(log: Path) -> None:
    out = run(log, "--threshold", "0.02")
    assert out.splitlines()[0].startswith("2 of 6 creatives are above 2%, 2 below, 2 undecided; ")
    assert " more rows would decide half of those." in out.splitlines()[0]
    words = out.split()
    assert words.index("c0") < words.index("c1") < words.index("c2") < words.index("c5")
    assert "verdicts are certified if - the threshold was fixed before" in " ".join(words)
    assert "no row was left out because of its reward" in " ".join(words)
    assert "it is shared over 6 arms" in " ".join(words)


def test_a_narrow_terminal_leaves_room_for_names(tmp_path: Path) -> None:
    names = [f"What nobody says about bread no. {i}" for i in range(4)]
    path = tmp_path / "totals.csv"
    path.write_text("arm,pulls,total\n" + "".join(f"{name},9000,{300 - 90 * i}\n" for i, name in enumerate(names)))
    for columns, shown in ((80, False), (120, True)):
        ran = CliRunner().invoke(app, ["judge", str(path), "--threshold", "0.02"], env={"COLUMNS": str(columns)})
        table = [line for line in ran.stdout.splitlines()[1:] if line.strip()]
        assert max(map(len, table)) <= columns
        assert ("guarantee" in table[0]) == shown
        assert "verdicts are certified if" in ran.stdout
        assert "What nobody" in ran.stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--threshold", "0.3"],
        ["--versus", "new and improved"],
        ["--threshold", "0.3", "--unit", "user"],
        ["--threshold", "0.3", "--order", "user"],
        ["--bars", "reward >= 30%, slow <= 50%"],
    ],
    ids=lambda options: " ".join(options[-2:]),
)
@pytest.mark.parametrize("columns", [80, 100])
def test_tables_by_segments_fit_the_terminal(tmp_path: Path, options: list[str], columns: int) -> None:
    rows, names = [], ["new and improved", "What nobody says about bread", "Brot für alle, jeden Tag"]
    for user in range(360):
        name, shop, device = names[user % 3], f"shop in the north no. {user % 2}", ("phone", "computer")[user // 2 % 2]
        rows.append(f'"{name}","{shop}",{device},{user},{user % 5 % 2},{user % 2}')
    path = tmp_path / "log.csv"
    path.write_text("arm,shop,device,user,reward,slow\n" + "\n".join(rows), encoding="utf-8")
    given = ["judge", str(path), "--by", "shop", "--by", "device", "--arm", "arm", *options]
    given += [] if "--bars" in options else ["--reward", "reward"]
    ran = CliRunner().invoke(app, given, env={"COLUMNS": str(columns)})
    assert ran.exit_code == 0, ran.output
    sentences = "combinations are", "arms are"
    lines = [line for line in ran.stdout.splitlines() if not any(each in line for each in sentences)]
    assert max(map(len, lines)) <= columns
    heading = next(line for line in lines if line.startswith(" shop"))
    assert heading.split()[-1] in ("verdict", "at", "about")
    rows = lines[lines.index(heading) : next(i for i, line in enumerate(lines) if line.startswith("verdicts are"))]
    assert sum("undecided" in line or " bad" in line or " failing" in line for line in rows) in (8, 12)


def test_verdicts_have_markers_of_their_own_and_the_legend_covers_nothing() -> None:
    figure = goodarm.judge(TOTALS, threshold=0.02).plot()
    figure.draw_without_rendering()
    (axes,) = figure.axes
    marks = {line.get_label(): line.get_marker() for line in axes.get_lines() if line.get_marker() != "None"}
    assert marks == {"good": "^", "bad": "v", "undecided": "o"}
    assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1


def test_a_guess_at_the_rows_to_come_needs_rows_that_were_seen() -> None:
    few = {"arm": list("abcd"), "pulls": [30] * 4, "total": [0] * 4}
    assert goodarm.judge(few, threshold=0.02).sentence.endswith("4 undecided")
    many = {"arm": list("abcd"), "pulls": [600] * 4, "total": [6] * 4}
    found = goodarm.judge(many, threshold=0.02)
    assert found.sentence.endswith(" more rows would decide half of those")
    assert found.forecast is not None
    assert found.as_dict()["rows_to_half"] == found.forecast._asdict()
    assert 0.0 < found.forecast.low < found.forecast.median < found.forecast.high


def test_a_notebook_gets_a_style_that_touches_nothing_else() -> None:
    shown = goodarm.judge(TOTALS, threshold=0.02)._repr_html_()
    style = shown.split("<style>")[1].split("</style>")[0]
    for rule in style.strip().splitlines():
        assert all(part.strip().startswith(".goodarm-judgement ") for part in rule.split("{")[0].split(","))
    assert "<h1" not in shown
    assert "<button" not in shown


def test_json_has_exactly_what_was_promised(log: Path) -> None:
    found = json.loads(run(log, "--threshold", "0.02", "--json"))
    assert list(found) == [
        "source", "rows", "threshold", "delta", "criterion", "rule", "guarantee", "conditions", "warnings",
        "notes", "shares", "interval", "good", "bad", "open", "sentence", "rows_to_half", "arms",
    ]  # fmt: skip
    assert (found["source"], found["rows"], found["threshold"], found["delta"]) == (str(log), 6, 0.02, 0.05)
    assert (found["criterion"], found["rule"], found["guarantee"]) == ("fwer", "gap-mixture", "certified")
    assert (found["good"], found["bad"], found["open"]) == (2, 2, 2)
    for row in found["arms"]:
        assert list(row) == ["arm", "pulls", "mean", "low", "high", "verdict", "evidence", "needs"]
        assert row["low"] <= row["mean"] <= row["high"]
        assert row["verdict"] == ("good" if row["low"] >= 0.02 else "bad" if row["high"] <= 0.02 else "open")
        assert (row["evidence"] >= math.log(6 / 0.05)) == (row["verdict"] != "open")
        assert row["needs"] is None or (row["needs"] > 0) == (row["verdict"] == "open")
    assert found["arms"][-1]["needs"] is None  # its mean is the threshold: nobody can say
    assert [row["verdict"] for row in found["arms"]] == ["good"] * 2 + ["bad"] * 2 + ["open"] * 2


def test_the_conditions_stand_beside_the_guarantee_everywhere(log: Path) -> None:
    """Conditions that a log can't show: when the bar was chosen, rows of the same people, arms that come later."""
    plain = goodarm.judge(log, threshold=0.02)
    against = goodarm.judge(log, versus="c3")
    assert plain.conditions[0] == "the threshold was fixed before anyone looked at these rewards"
    assert against.conditions[0] == "the control and the margin were fixed before anyone looked at these rewards"
    assert against.conditions[5].startswith("the set of arms was fixed in advance: every look had all 5 of them")
    assert "each row is new information" in plain.conditions[1]
    shown, said = page(plain), " ".join(run(log, "--threshold", "0.02").split())
    for each in (*plain.conditions, "they have level 2 delta"):
        first = each.split("`")[0].strip()
        assert first in shown
        assert first in plain._repr_html_()
        assert first in said
    assert json.loads(run(log, "--threshold", "0.02", "--json"))["conditions"] == list(plain.conditions)
    assert "2 delta" in plain.as_dict()["interval"]


def test_segments_share_the_budget() -> None:
    log = {
        "arm": ["a", "a", "b", "b"], "pulls": [2000] * 4, "total": [70, 35, 35, 70], "shop": ["x", "y", "x", "y"],
    }  # fmt: skip
    found = goodarm.judge(log, threshold=0.02, by="shop")
    assert found.good == [("x", "a"), ("y", "b")]
    said = found.as_dict()
    assert "arms" not in said
    assert [(segment["by"], segment["good"], segment["open"]) for segment in said["segments"]] == [
        ({"shop": "x"}, 1, 1), ({"shop": "y"}, 1, 1),
    ]  # fmt: skip
    assert any("shared over 4 arms in 2 segments" in note for note in found.notes)
    alone = goodarm.judge({"arm": ["a"], "pulls": [2000], "total": [70]}, threshold=0.02)
    assert alone.arms.low[0] > found.arms.low[0]


def test_fdr_calls_more_than_fwer_and_its_intervals_agree() -> None:
    chance = np.random.default_rng(5)
    pulls = np.full(400, 1500)
    log = {
        "arm": [f"{i}" for i in range(400)],
        "pulls": pulls,
        "total": chance.binomial(pulls, chance.beta(2, 60, 400)),
    }
    fwer = goodarm.judge(log, threshold=0.03)
    fdr = goodarm.judge(log, threshold=0.03, criterion="fdr")
    assert set(fwer.good) < set(fdr.good)
    assert set(fwer.bad) < set(fdr.bad)
    assert ((fdr.arms.low >= 0.03) == (fdr.arms.verdict == 1)).all()
    assert ((fdr.arms.high <= 0.03) == (fdr.arms.verdict == -1)).all()


@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_rewards_on_their_own_scale() -> None:
    stars = {"movie": ["a", "b"], "pulls": [400, 400], "total": [1800, 1000]}
    found = goodarm.judge(stars, threshold=3.5, rewards="bounded:1,5")
    assert (found.good, found.bad) == (["a"], ["b"])
    assert found.sentence.startswith("1 of 2 movies is above 3.5, 1 below")
    low, mean, high = (float(each[0]) for each in (found.arms.low, found.arms.mean, found.arms.high))
    assert 3.5 < low < mean == 4.5 < high < 5.0
    gaussian = goodarm.judge(stars, threshold=3.5, rewards="gaussian:1")
    assert (gaussian.rule, gaussian.good) == ("gap-mixture", ["a"])
    assert gaussian.arms.low[0] > low


@pytest.mark.slow
def test_files_hold_every_name_unharmed(tmp_path: Path) -> None:
    pulls, total = [3000] * len(HARD), [150 if i % 2 else 10 for i in range(len(HARD))]
    found = goodarm.judge({"arm": HARD, "pulls": pulls, "total": total}, threshold=0.02)
    assert sorted([*found.good, *found.bad]) == sorted(HARD)
    paths = {path.name: path for path in found.save(tmp_path / "out")}
    assert sorted(paths) == ["arms.csv", "arms.parquet", "forest.png", "forest.svg", "judgement.html"]
    table = parquet.read_table(paths["arms.parquet"]).to_pydict()
    assert sorted(table["arm"]) == sorted(HARD)
    with paths["arms.csv"].open(newline="", encoding="utf-8") as stream:
        assert sorted(row["arm"] for row in csv.DictReader(stream)) == sorted(HARD)
    text = paths["judgement.html"].read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;b&gt;" in text
    assert "two<br>lines" in text
    assert "emoji 🥐 and 👩‍🚀" in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text
    drawn = paths["forest.svg"].read_text(encoding="utf-8")
    assert "<script>alert" not in drawn
    assert "$x^2$" in drawn
    assert "🥐" in drawn


def test_a_terminal_gets_no_escape_sequences(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["arm", "pulls", "total"])
        writer.writerows([name, 3000, 150] for name in HARD)
    out = run(path, "--threshold", "0.02")
    assert "\x1b[31m" not in out
    assert r"\x1b[31mred" in out
    assert r"two\nlines" in out
    assert "[red]" in out
    assert {row["arm"] for row in json.loads(run(path, "--threshold", "0.02", "--json"))["arms"]} == set(HARD)


def test_the_plot_has_a_density_beyond_sixty_arms() -> None:
    chance = np.random.default_rng(2)
    for arms, panels in ((60, 1), (61, 2)):
        pulls = np.full(arms, 2000)
        log = {"arm": list(map(str, range(arms))), "pulls": pulls, "total": chance.binomial(pulls, 0.03)}
        found = goodarm.judge(log, threshold=0.02)
        assert len(found.plot().axes) == panels
        assert ("density" in page(found).split("<main>")[1]) == (panels == 2)


def test_the_density_is_linear_and_says_which_arms_lie_beyond_it() -> None:
    means = [0.02] * 300 + [0.03] * 149 + [0.9]
    log = {"arm": list(map(str, range(450))), "pulls": [2000] * 450, "total": [2000 * mean for mean in means]}
    found = goodarm.judge(log, threshold=0.01)
    forest = found.forest()
    assert forest.beyond == 1
    assert forest.edges[-1] < 0.1
    drawn = page(found).split('class="density"')[1].split("</p>")[0]
    heights = sorted({float(each) for each in re.findall(r'height="([\d.]+)"', drawn)})
    assert heights == [50.0, 100.0]  # the arm beyond is in the last bin, with the 149
    assert "the highest bar holds 300" in drawn
    assert "the last one includes 1 with means above 3%" in drawn
    assert any("with 1 above" in text.get_text() for text in found.plot().axes[0].texts)


def test_notebooks_show_sentence_and_table(log: Path) -> None:
    found = goodarm.judge(log, threshold=0.02)
    shown = found._repr_html_()
    assert "2 of 6 creatives are above 2%" in shown
    assert shown.count("<tr data-verdict") == 6
    assert str(found) == found.sentence
    assert "c0" not in repr(found)


def test_columns_that_were_taken_are_said(log: Path) -> None:
    ran = CliRunner().invoke(app, ["judge", str(log), "--threshold", "0.02", "--json"])
    assert "arms are in the column creative" in ran.stderr
    assert "a table of totals" in ran.stderr
    found = goodarm.judge(
        {"item": ["a"], "Click": [1], "propensity_score": [0.5]}, threshold=0.5, arm="ITEM", reward="click"
    )
    assert any("there is a column propensity_score" in note for note in found.notes)


def test_rules_by_totals_can_be_named() -> None:
    goods = {}
    for rule in ("gap-mixture", "beta-mixture", "normal-mixture", "hoeffding", "stitched", "lil"):
        found = goodarm.judge(
            {"arm": ["a", "b"], "pulls": [40000] * 2, "total": [24000, 16000]}, threshold=0.5, rule=rule
        )
        goods[rule] = found.good
        assert found.rule == rule
        assert math.isnan(found.arms.evidence[0]) == (rule in ("hoeffding", "stitched", "lil"))
    assert set(map(tuple, goods.values())) == {("a",)}
