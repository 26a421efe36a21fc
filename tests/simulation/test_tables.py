"""What a researcher holds in hand: tables with names, paired differences, figures, equality, pickles."""

from __future__ import annotations

import pickle
from html.parser import HTMLParser

import numpy as np
import pytest

import goodarm
from goodarm import Comparison, bernoulli, compare, simulate
from goodarm.errors import InvalidValue, UnknownName
from goodarm.simulation.tables import ResultTable

DRAWN = bernoulli(lambda rng: rng.beta(2, 8, size=20), threshold=0.3, horizon=2000, name="drawn")


@pytest.fixture(scope="module")
def sweep() -> Comparison:
    """Ten and twenty arms, means drawn anew in each run."""
    return compare(
        {k: bernoulli(lambda rng, k=k: rng.beta(2, 8, size=k), 0.3, horizon=2000) for k in (10, 20)},
        ["hdoc+kt", "hdoc", "uniform+kt"],
        runs=8,
        seed=3,
    )


def test_own_distribution_of_instances_is_drawn_anew_in_each_run() -> None:
    found = simulate("hdoc", DRAWN, runs=3, seed=5)
    first, second, third = (run.means for run in found.runs)
    assert first.shape == (20,)
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, third)
    again = simulate("hdoc+kt", DRAWN, runs=3, seed=5)
    np.testing.assert_array_equal(again.runs[2].means, third), "another policy sees the same arms"


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: [0.5], "failed with TypeError"),
        (lambda rng: 0.5, "at least one number"),
        (lambda rng: [1.5], "between 0 and 1; got 1.5"),
    ],
)
def test_a_function_that_draws_no_means_is_explained(draw: object, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        bernoulli(draw, threshold=0.5)


def test_a_number_of_arms_that_changes_is_refused_when_it_does() -> None:
    growing = iter(range(2, 100))
    with pytest.raises(InvalidValue, match="the same number in every run"):
        simulate("hdoc", bernoulli(lambda rng: [0.5] * next(growing), 0.4, horizon=500), runs=2)


def test_the_table_has_a_row_per_environment_and_policy_with_the_runs_own_numbers(sweep: Comparison) -> None:
    rows = list(sweep.table.rows())
    assert [(row["setting"], row["policy"]) for row in rows] == [
        (k, name) for k in (10, 20) for name in ("hdoc+kt", "hdoc", "uniform+kt")
    ]
    alone = simulate("hdoc", bernoulli(lambda rng: rng.beta(2, 8, size=20), 0.3, horizon=2000), runs=8, seed=3)
    assert rows[4]["exploit_score"] == alone.exploit_score.mean
    assert rows[4]["found"] == alone.found.mean
    assert set(sweep.table.meanings) == set(sweep.table)
    assert all(sweep.table.meanings.values())


def test_paired_differences_are_taken_run_by_run(sweep: Comparison) -> None:
    here = {name: sweep.runs_of(name, 20).table["exploit_score"] for name in ("hdoc+kt", "hdoc")}
    values = here["hdoc"] - here["hdoc+kt"]
    row = next(r for r in sweep.difference().rows() if (r["setting"], r["policy"]) == (20, "hdoc"))
    assert row["baseline"] == "hdoc+kt"
    assert row["difference"] == pytest.approx(values.mean())
    half = 2.3646 * values.std(ddof=1) / np.sqrt(8)  # Student's 0.975 quantile with 7 degrees of freedom
    assert row["high"] - row["difference"] == pytest.approx(half, rel=1e-4)
    backwards = sweep.difference(baseline="hdoc")
    same = next(r for r in backwards.rows() if (r["setting"], r["policy"]) == (20, "hdoc+kt"))
    assert same["difference"] == pytest.approx(-row["difference"])


def test_pairing_narrows_the_interval() -> None:
    """Two policies that differ little, on arms that differ from run to run."""
    found = compare(DRAWN, ["ucb(beta=1.5)+kt", "ucb(beta=1.6)+kt"], runs=20)
    row = next(found.difference().rows())
    one, two = (runs.exploit_scores.std(ddof=1) for runs in found.finished)
    assert row["high"] - row["low"] < 0.5 * 2 * 2.09 * np.sqrt((one**2 + two**2) / 20)


def test_dataframes_have_the_tables_columns_and_empty_cells(sweep: Comparison) -> None:
    pandas, polars = sweep.to_pandas("verdicts"), sweep.to_polars("verdicts")
    assert list(pandas.columns) == polars.columns == list(sweep.verdicts)
    open_arms = pandas.verdict == "open"
    assert open_arms.any()
    assert (pandas.verdict_round.isna() == open_arms).all()
    assert polars["verdict_round"].null_count() == open_arms.sum()
    assert len(sweep.to_pandas("runs")) == 2 * 3 * 8
    assert sweep.to_polars().height == 6
    with pytest.raises(UnknownName, match="verdicts"):
        sweep.to_pandas("verdict")


@pytest.mark.slow
def test_trajectories_are_a_named_table() -> None:
    found = simulate("value-normal", "kano-1", horizon=1000, runs=2, trajectory=4)
    table = found.trajectories
    assert table["round"].tolist() == [250, 500, 750, 1000] * 2
    assert table["run"].tolist() == [0] * 4 + [1] * 4
    last = found.runs[1]
    assert table["reward"][-1] == last.reward
    assert table["good"][-1] == (last.verdicts == 1).sum()
    assert (table["prior_strength"] > 0.0).all()
    assert simulate("value", "kano-1", horizon=100).trajectories.height == 0
    assert found.to_pandas("trajectories").shape == (8, len(table))


def test_equal_means_the_same_runs_and_never_raises() -> None:
    once, again = (simulate("hdoc", DRAWN, runs=2, seed=s) for s in (1, 1))
    other = simulate("hdoc", DRAWN, runs=2, seed=2)
    assert once == again
    assert once != other
    assert once != "hdoc"
    assert once.runs[0] != other.runs[0]
    assert len({once, again}) == 1


@pytest.mark.slow
def test_runs_and_comparisons_pickle_lambdas_and_all(sweep: Comparison) -> None:
    back = pickle.loads(pickle.dumps(sweep))
    assert back.finished == sweep.finished
    assert back.table.only("setting", "found") == sweep.table.only("setting", "found")
    whole = pickle.loads(pickle.dumps(simulate("value@linear", "linear", horizon=20)))
    assert whole.spec.environment.features.shape == (1000, 10)


class Cells(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def test_notebooks_show_the_table(sweep: Comparison) -> None:
    shown = sweep._repr_html_()
    assert Cells(shown).tags.count("tr") == 1 + 6
    assert "hdoc+kt" in shown
    assert Cells(sweep.finished[0]._repr_html_()).tags.count("tr") == 1 + 8
    assert "2 environments" in repr(sweep)
    assert ResultTable({"a": np.arange(30)})._repr_html_().count("<tr>") == 21, "a long table is cut and says so"


@pytest.mark.parametrize("kind", ["verdicts", "score", "sweep"])
def test_every_kind_of_plot_is_a_figure(sweep: Comparison, kind: str) -> None:
    figure = sweep.plot(kind)
    figure.draw_without_rendering()
    assert len(figure.axes) == (1 if kind == "sweep" else 2)


def test_a_sweep_draws_means_over_any_column(sweep: Comparison) -> None:
    (axes,) = sweep.plot("sweep", over="arms", number="found").axes
    heights = [line.get_ydata()[1] for line in axes.get_lines()[::3]]
    assert heights == [row["found"] for row in sweep.table.rows() if row["setting"] == 20]
    with pytest.raises(UnknownName, match="column"):
        sweep.plot("sweep", over="arm")
    with pytest.raises(UnknownName, match="kind of plot"):
        sweep.plot("scores")


def test_one_policy_alone_draws_itself() -> None:
    assert len(simulate("hdoc+kt", DRAWN, runs=3).plot().axes) == 1


def test_environments_of_one_name_are_told_apart() -> None:
    pair = [bernoulli([0.1, 0.9], 0.5, horizon=100), bernoulli([0.2, 0.8], 0.5, horizon=100)]
    found = compare(pair, "hdoc", runs=1)
    assert found.table["setting"].tolist() == ["bernoulli #1", "bernoulli #2"]
    with pytest.raises(InvalidValue, match="several environments"):
        found.runs_of("hdoc")


def test_progress_true_is_silent_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    compare(DRAWN, "hdoc", runs=1, progress=True)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "call",
    [
        lambda: simulate(None),
        lambda: simulate("value", None),
        lambda: simulate("value", "kano-1", delta="x"),
        lambda: simulate("value", "kano-1", trajectory=-1),
        lambda: bernoulli(["a"], 0.5),
        lambda: bernoulli([0.5], "a"),
        lambda: goodarm.gaussian([0.5], 0.5, scale="x"),
        lambda: compare(None),
        lambda: compare("kano-1", [None]),
        lambda: compare("kano-1", 3),
        lambda: goodarm.policy(None),
        lambda: goodarm.policy("hdoc", 3),
        lambda: simulate(bernoulli([0.5], 0.4), "value"),  # the wrong way round
        lambda: compare("value", [bernoulli([0.5], 0.4)]),
        lambda: simulate("value", "kano-1", horizon=1e4),
        lambda: simulate("value", "kano-1", runs=10**12),
        lambda: bernoulli([0.5], 1.2),
        lambda: bernoulli([0.5], float("nan")),
        lambda: goodarm.gaussian([0.5], float("inf")),
        lambda: goodarm.judge({"arm": ["a"], "reward": [1]}, threshold="x"),
        lambda: goodarm.learn("kano-1", budget="x"),
        lambda: goodarm.Campaign.create("memory:", "c", None, threshold=0.5),
        lambda: goodarm.Campaign.create("memory:", "c", ["a"], threshold=0.5).tell_many([1]),
        lambda: goodarm.Campaign.create("memory:", "c", ["a"], threshold=0.5).tell_many(None),
        lambda: goodarm.plan(arms="x", threshold=0.5),
        lambda: goodarm.remaining([1], ["a"], threshold=0.5),
    ],
)
def test_what_is_no_argument_is_an_error_of_ours(call: object) -> None:
    with pytest.raises(InvalidValue, match="got"):
        call()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"arm": ["a"], "reward": [1, 0]}, "differ in length: arm has 1, reward has 2"),
        (" ", "path of the log is empty"),
    ],
)
def test_a_log_that_is_none_is_explained(rows: object, words: str) -> None:
    with pytest.raises(goodarm.GoodarmError, match=words):
        goodarm.judge(rows, threshold=0.5)


def test_a_store_without_campaigns_says_so() -> None:
    with pytest.raises(goodarm.GoodarmError, match=r"unknown campaign 'c'\. The store has no campaigns yet\."):
        goodarm.Campaign.open("memory:", "c")


def test_plan_is_there_after_importing_goodarm() -> None:
    assert goodarm.plan(arms=2, threshold=0.5, gap=0.3, budget=500, runs=2).arms == 2
    assert goodarm.remaining([10], [5], threshold=0.5).median.shape == (1,)


def test_a_plan_says_itself_and_draws_itself() -> None:
    made = goodarm.plan(arms=2, threshold=0.5, gap=0.3, budget=500, runs=2)
    said = str(made).splitlines()
    assert said[0].startswith("2 arms, threshold 0.5, delta 0.05, budget 500 samples")
    assert said[2].startswith("To find half, 80%, 90% of the good arms: ")
    assert made._repr_html_().count("<p>") == len(said)
    assert len(made.plot().axes) == 1
