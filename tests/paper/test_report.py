"""The report says what was measured: numbers against the engine's own, the page against what a reader needs."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from goodarm import __version__, simulate
from goodarm.environments.names import environment as find_environment
from goodarm.paper import tasks
from goodarm.paper.figures import FigureOf, figures
from goodarm.paper.report import Reproduction, as_json, summarise
from goodarm.paper.report_files import page, write_reproduction
from goodarm.paper.report_text import (
    HEADINGS,
    SWEEP_HEADINGS,
    answer,
    cells,
    findings,
    impossible,
    markdown,
    notes,
    replication_table,
    shown,
)
from goodarm.paper.reproduction import FinishedWork, reproduce
from goodarm.paper.scope import DATASETS, Request
from goodarm.report.chart import STYLE_OF, draw_one
from goodarm.report.numbers import json_text
from goodarm.rules.identification.hoeffding import hoeffding_radius

pytestmark = pytest.mark.slow

REQUEST = Request(quick=True, only=("synth-small", "open-bandit-sample"), runs=2, workers=2)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> FinishedWork:
    return reproduce(REQUEST, tmp_path_factory.mktemp("reproduction"))


@pytest.fixture(scope="module")
def found(work: FinishedWork) -> Reproduction:
    return summarise(work)


@pytest.fixture(scope="module")
def drawn(found: Reproduction) -> list[FigureOf]:
    return figures(found)


@pytest.fixture(scope="module")
def text(found: Reproduction, drawn: list[FigureOf]) -> str:
    return page(found, drawn)


@pytest.mark.parametrize("policy", ["hdoc", "value", "dgai-online(batch=10)"])
def test_a_line_has_the_engines_own_numbers(policy: str, found: Reproduction) -> None:
    on = found.datasets[0]
    line = next(each for each in on.lines if each.entry == policy.partition("(")[0])
    direct = simulate(policy, "synth-small", horizon=DATASETS[0].quick_horizon, runs=2)
    assert line.mean == pytest.approx(direct.exploit_score.mean)
    assert line.sd == pytest.approx(direct.exploit_scores.std(ddof=1))
    assert line.wrong_runs == direct.wrong_runs
    assert (line.false_good * 2, line.false_bad * 2) == (direct.false_good, direct.false_bad)
    assert on.ceiling == pytest.approx(direct.ceiling)
    assert line.share_of_limit == pytest.approx(direct.exploit_score.mean / direct.limit)
    assert line.guarantee == str(direct.guarantee)


def test_ratios_are_to_hdoc_and_none_is_to_next_to_nothing(found: Reproduction) -> None:
    small, sample = found.datasets
    lines = {line.entry: line for line in small.lines}
    assert lines["hdoc"].ratio == 1.0
    assert lines["value"].ratio == pytest.approx(lines["value"].mean / lines["hdoc"].mean)
    assert all(np.isnan(line.ratio) for line in sample.lines), "HDoC decides nothing there in the quick reproduction"
    assert HEADINGS.index("ratio to HDoC") in shown(small)
    assert HEADINGS.index("ratio to HDoC") not in shown(sample)


def test_printed_scores_stand_only_beside_runs_of_the_papers_length(work: FinishedWork, found: Reproduction) -> None:
    assert all(np.isnan(line.printed) for on in found.datasets for line in on.lines)
    assert HEADINGS.index("printed score") not in shown(found.datasets[0])
    full = summarise(work._replace(request=REQUEST._replace(quick=False)))
    lines = {line.entry: line for line in full.datasets[0].lines}
    assert lines["dgai-offline"].printed == 4.1e6
    assert lines["dgai-offline"].printed_ratio == pytest.approx(4.1 / 1.2)
    assert np.isnan(lines["value"].printed)
    assert HEADINGS.index("printed score") in shown(full.datasets[0])


def test_the_first_sentence_says_whether_the_paper_holds_and_what_gave_no_verdict(found: Reproduction) -> None:
    lines = [line for on in found.datasets for line in on.lines]
    paper = [line for line in lines if line.kind == "paper"]
    certified = [line for line in lines if line.guarantee == "certified"]
    first, second = answer(found)
    wrong, decided = sum(line.wrong_runs for line in paper), sum(line.deciding_runs for line in paper)
    assert first.startswith(
        f"The paper does not hold as printed: its method gave wrong verdicts in {wrong} of the {decided} runs"
    )
    none = sum(line.runs - line.deciding_runs for line in certified)
    assert none > 0
    assert second.endswith(f"; {none} runs gave no verdict.")
    silent = next(line for line in certified if line.deciding_runs == 0)
    assert cells(silent)[HEADINGS.index("wrong runs")] == "no verdict"
    assert HEADINGS[:3] == ("policy", "wrong runs", "exploit score"), "a narrow screen shows these"


def test_the_price_shows_every_run(found: Reproduction, drawn: list[FigureOf]) -> None:
    chart = next(each for each in drawn if each.name == "price").charts[0]
    for series, line in zip(chart.series, found.datasets[0].lines, strict=True):
        assert len(series.x) == line.runs
        assert series.y.sum() == pytest.approx(line.wrong_verdicts * line.runs)


def test_an_axis_that_is_not_linear_says_so_and_lines_that_coincide_differ(drawn: list[FigureOf]) -> None:
    for each in drawn:
        for chart in each.charts:
            (axes,) = draw_one(chart).axes
            if chart.y_scale != "linear":
                assert "log scale" in axes.get_ylabel()
            if chart.x_scale == "log":
                assert "log scale" in axes.get_xlabel()
            assert not axes.texts, "words in the plot would cover curves; they stand in the legend"
            lines = [line for line in axes.get_lines() if len(line.get_xdata()) > 2]
            looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines}
            assert len(looks) == len(lines)


def test_the_curve_over_rounds_ends_at_the_score(found: Reproduction, drawn: list[FigureOf]) -> None:
    chart = next(each for each in drawn if each.name == "figure1-rounds").charts[0]
    ends = {series.name: series.y[-1] for series in chart.series}
    for line in found.datasets[0].lines:
        assert ends.get(line.entry, 0.0) == pytest.approx(line.mean, abs=0.004 * max(ends.values()))


def test_every_figure_is_there_and_every_line_has_its_style(drawn: list[FigureOf]) -> None:
    assert [each.name for each in drawn] == [
        "figure1-epochs",
        "figure1-rounds",
        "figure2",
        "figure3",
        "figure3-pulls",
        "figure4",
        "price",
    ]
    for each in drawn:
        for chart in each.charts:
            assert chart.series
            for series in chart.series:
                assert series.name in STYLE_OF
                assert series.x.shape == series.y.shape
                assert np.isfinite(series.y).all()


def test_certified_bounds_shrink_with_the_pulls_and_lie_below_hoeffdings(drawn: list[FigureOf]) -> None:
    chart = next(each for each in drawn if each.name == "figure3-pulls").charts[0]
    lines = {series.name: series for series in chart.series}
    hoeffding = lines["baselines (hoeffding)"]
    certified = lines["certified: kt"]
    assert (np.diff(certified.x) >= 0.0).all()
    late = certified.x > 1000.0
    assert (certified.y[late] < np.interp(certified.x[late], hoeffding.x, hoeffding.y)).all()


class Reader(HTMLParser):
    """Contents of a page: ids, links, sources, headings of tables, rows, figures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.targets: list[str] = []
        self.tags: Counter[str] = Counter()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids[str(value)] += 1
            if name in ("href", "src", "xlink:href"):
                self.targets.append(str(value))


def test_the_page_is_one_file_that_opens_offline_and_its_links_lead_somewhere(text: str, drawn: list[FigureOf]) -> None:
    reader = Reader(text)
    assert set(reader.targets) <= {f"#{name}" for name in reader.ids}
    assert not re.search(r"@import|url\((?!#)", text)
    assert [name for name, times in reader.ids.items() if times > 1] == []
    assert reader.tags["svg"] == sum(len(each.charts) for each in drawn)
    assert reader.tags["script"] == 1
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert not re.search(r">(nan|inf|None)<", text)


def test_the_pages_tables_can_be_sorted(found: Reproduction, text: str) -> None:
    heads = re.findall(r"<thead>(.*?)</thead>", text)
    assert len(heads) == len(found.datasets) + 2  # and the sweep, and the rewards
    assert all(re.findall(r'<button type="button">([^<]*)</button>', head) for head in heads)
    for row in re.findall(r"<tr class=.*?</tr>", text):
        keys = re.findall(r'data-value="([^"]*)"', row)
        assert len(keys) == row.count("<td")
    assert len(re.findall(r"<tr class=.*?</tr>", text.split("</table>")[0])) == len(found.datasets[0].lines)


def test_a_quick_report_says_that_it_is_one_and_names_its_command(found: Reproduction, text: str) -> None:
    for said in (text, markdown(found)):
        assert "This is the quick reproduction" in said
        assert REQUEST.command() in said
    full = found._replace(request=REQUEST._replace(quick=False))
    assert not any("quick" in note for note in notes(full))
    assert "features it runs" not in text
    whole = next(notes(found._replace(request=Request(quick=True))))
    assert "Of the problems whose arms have features it runs linear, not bumps and network." in whole
    assert __version__ in text


def test_wrong_verdicts_are_shown_where_there_are_any(found: Reproduction, text: str) -> None:
    line = next(each for each in found.datasets[0].lines if each.entry == "dgai-online")
    assert line.wrong_runs == line.runs, "as printed it decides every arm of synth-small at first sight"
    assert f'<td class="bad" data-value="1.0">{line.runs}/{line.runs}</td>' in text
    assert any("bad arms called good" in line for line in findings(found))


def test_printed_numbers_that_cannot_be_are_counted() -> None:
    small, large, movielens, open_bandit = impossible()
    assert "no policy can score more than 8." in small
    assert "7 of the 7 printed scores lie above" in small
    assert "1 of the 7 printed scores lies above it (dgai-offline)" in large, "170k is within the draws' spread"
    assert "1 of the 7 printed scores lies above it (dgai-offline)" in movielens
    assert "7 of the 7 printed scores lie above" in open_bandit


def test_all_files_are_written(found: Reproduction, drawn: list[FigureOf], tmp_path: Path) -> None:
    written = {path.name for path in write_reproduction(found, tmp_path)}
    figures_ = {f"{each.name}.{kind}" for each in drawn for kind in ("svg", "png")}
    assert written == {"report.html", "table1.md", "summary.json", "rows.parquet"} | figures_
    rows = parquet.read_table(tmp_path / "rows.parquet").to_pandas()
    lines = [(on, line) for on in found.datasets for line in on.lines]
    swept = sum(50 * line.runs for line in found.sweep)
    assert len(rows) == swept + sum(on.arms * line.runs for on, line in lines)
    on, line = lines[0]
    mine = rows[(rows.dataset == on.name) & (rows.entry == line.entry) & (rows.verdict == "good")]
    score = ((on.horizon - mine.verdict_round) * (mine["mean"] - on.threshold)).sum() / line.runs
    assert score == pytest.approx(line.mean)
    assert json.loads((tmp_path / "summary.json").read_text())["datasets"][0]["policies"][0]["entry"] == "hdoc"


def test_json_and_the_terminals_table_have_a_row_a_policy(found: Reproduction) -> None:
    told = json.loads(json_text(as_json(found)))
    for on, said in zip(found.datasets, told["datasets"], strict=True):
        assert [each["entry"] for each in said["policies"]] == [line.entry for line in on.lines]
        assert replication_table(on).row_count == len(on.lines)
    table = [line for line in markdown(found).splitlines() if line.startswith("| ")]
    counts = {len(shown(on)) + 1 for on in found.datasets} | {len(SWEEP_HEADINGS) + 1}
    assert {line.count("|") for line in table} == counts


def test_the_sweep_says_what_each_sign_of_d_learned_and_how_often_that_is_wrong(found: Reproduction, text: str) -> None:
    assert [(line.sign, line.eta) for line in found.sweep] == [
        (sign, eta) for sign in ("printed", "covering") for eta in (0.001, 1.0)
    ]
    assert all(line.wrong_runs > 0 for line in found.sweep)
    by_sign = {line.sign: line.alpha for line in found.sweep if line.eta == 1.0}
    assert by_sign["covering"] > by_sign["printed"]
    assert "## The constraint D" in markdown(found)
    assert 'id="sweep"' in text
    assert len(as_json(found)["sweep"]) == 4


def test_figure_3_follows_the_best_arm_of_the_first_run(found: Reproduction, drawn: list[FigureOf]) -> None:
    """HDoC's curve is the radius at the pulls that its best arm had by then, up to its verdict."""
    chart = next(each for each in drawn if each.name == "figure3").charts[0]
    curve = next(series for series in chart.series if series.name == "hdoc")
    run = simulate("hdoc", "synth-small", horizon=DATASETS[0].quick_horizon, trace=True).runs[0]
    bar = find_environment("synth-small").problem(0.05).bar
    best = int(run.means.argmax())
    for at in (0, len(curve.x) // 2, -1):
        pulls = float((run.trace[: int(curve.x[at])] == best).sum())
        assert curve.y[at] == pytest.approx(hoeffding_radius(pulls, bar))
    assert curve.x[-1] == (run.verdict_rounds[best] or run.rounds)


def test_no_line_lies_on_an_axis(drawn: list[FigureOf]) -> None:
    """A policy that scores next to nothing is named below the chart instead."""
    charts = [chart for each in drawn if each.name.startswith("figure1") for chart in each.charts]
    assert all(series.y.any() for chart in charts for series in chart.series)
    assert any("0 or nearly: " in chart.x_label for chart in charts)


def test_a_curve_has_alpha_and_beta_as_the_run_had_them() -> None:
    """Policies whose learner has other numbers before beta, or no beta at all."""
    for name in ("dgai", "value", "dgai-online(batch=10)"):
        runs = simulate(name, "kano-1", horizon=400, runs=2, trajectory=8, seed=1)
        curve = tasks._curve(runs)
        for column in ("round", "reward", "alpha", "beta"):
            np.testing.assert_array_equal(curve[column], runs.trajectories[column])
