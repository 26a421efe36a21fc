"""Campaigns on a fixed test set: tickets with cases, each drawn once per arm, and every arm decided in the end."""

import json
import math
import random
from collections import Counter
from pathlib import Path

import pytest

from goodarm import Campaign
from goodarm.campaign.cases import CaseSet, Draw, order_key, read_cases
from goodarm.campaign.session import Session
from goodarm.errors import InvalidValue, Refused, UnreadableTable
from goodarm.problem import GradedCases

RATES = (0.95, 0.85, 0.8, 0.79, 0.7, 0.3)
CASES = 60
world = random.Random(5)
TRUTH = {f"p{i}": [float(world.random() < rate) for _ in range(CASES)] for i, rate in enumerate(RATES)}


@pytest.fixture(autouse=True)
def fixed_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same orders of the cases in every run of the tests: verdicts may be wrong with probability delta."""
    monkeypatch.setattr("goodarm.campaign.terms.os.urandom", random.Random(11).randbytes)


def campaign(store: str = "memory:", name: str = "prompts", **more: object) -> Campaign:
    return Campaign.create(store, name, list(TRUTH), threshold=0.8, **{"cases": CASES, **more})


def result(ticket) -> float:
    return TRUTH[ticket.arm][int(ticket.case) - 1]


def check_verdicts(running: Campaign) -> None:
    """Everything is decided, and right. A wrong verdict has probability below 5%, and these results lead to none."""
    for row in running.arms():
        assert row.verdict == ("good" if sum(TRUTH[row.arm]) / CASES >= 0.8 else "bad")
    assert running.check().ok


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_every_arm_is_decided_with_each_case_drawn_once(batch: int) -> None:
    with campaign() as running:
        seen = set()
        while tickets := running.ask(batch):
            assert not seen & {ticket[1:] for ticket in tickets}
            seen |= {ticket[1:] for ticket in tickets}
            running.tell_many([(ticket, result(ticket)) for ticket in tickets])
        check_verdicts(running)
        assert len(seen) == running.tally().told <= len(RATES) * CASES
        if batch < 1000:
            assert len(seen) < len(RATES) * CASES


@pytest.mark.slow
def test_rewards_that_come_late_and_in_the_worst_order() -> None:
    """All cells are out at once; failures come back first. Nothing is asked beyond them, and nothing is wrong."""
    with campaign() as running:
        tickets = running.ask(10_000)
        assert len(tickets) == len(RATES) * CASES
        assert running.ask(1) == []
        for ticket in sorted(tickets, key=result):
            running.tell(ticket, result(ticket))
        check_verdicts(running)


def test_each_arm_has_its_own_order_and_each_campaign_too() -> None:
    orders = []
    for _ in range(2):
        with campaign() as running:
            found: dict[str, list[str]] = {arm: [] for arm in TRUTH}
            for ticket in running.ask(10_000):
                found[ticket.arm].append(ticket.case)
            orders += map(tuple, found.values())
    assert len(set(orders)) == 2 * len(RATES)
    assert all(sorted(order, key=int) == [str(j + 1) for j in range(CASES)] for order in orders)


def test_void_cases_come_again_at_the_end() -> None:
    with campaign() as running:
        tickets = running.ask(10_000)
        lost = [ticket for ticket in tickets if ticket.arm == "p0"][3:6]
        for ticket in lost:
            running.void(ticket, "the machine was restarted")
        again = running.ask(100)
        assert [ticket[1:] for ticket in again] == [ticket[1:] for ticket in lost]
        assert running.ask(1) == []
        for ticket in [ticket for ticket in tickets if ticket not in lost] + again:
            running.tell(ticket, result(ticket))
        check_verdicts(running)
        assert running.arm("p0").pulls == CASES


def test_a_suspended_arm_stays_suspended_when_a_case_comes_back_void() -> None:
    with campaign() as running:
        tickets = running.ask(10_000)
        running.suspend("p0")
        running.void(next(ticket for ticket in tickets if ticket.arm == "p0"), "lost")
        assert running.ask(5) == []
        running.resume("p0")
        assert [ticket.arm for ticket in running.ask(5)] == ["p0"]


def test_unanswered_tickets_lapse() -> None:
    now = [0.0]
    with campaign(after=10.0, unanswered="void", clock=lambda: now[0]) as running:
        lost = running.ask(4)
        now[0] = 20.0
        while tickets := running.ask(20):
            running.tell_many([(ticket, result(ticket)) for ticket in tickets])
        check_verdicts(running)
        assert running.tally().void == len(lost)


@pytest.mark.slow
def test_blocks_name_their_cases() -> None:
    with campaign() as running:
        seen: Counter[tuple[str, str]] = Counter()
        while (block := running.ask_block(40)).pulls:
            assert {arm: len(cases) for arm, cases in block.cases.items()} == block.pulls
            seen.update((arm, case) for arm, cases in block.cases.items() for case in cases)
            sums = {arm: sum(TRUTH[arm][int(case) - 1] for case in cases) for arm, cases in block.cases.items()}
            running.tell_block(block, {arm: (block.pulls[arm], total) for arm, total in sums.items()})
        assert set(seen.values()) == {1}
        check_verdicts(running)


def test_a_block_that_is_withdrawn_gives_its_cases_back() -> None:
    with campaign() as running:
        block = running.ask_block(10_000, key="one")
        assert running.ask_block(10_000, key="one") == block
        with pytest.raises(Refused, match="must contain all of the block's cases of an arm"):
            running.tell_block(block, {"p0": (3, 3.0)})
        running.tell_block(block, {"p0": (CASES, sum(TRUTH["p0"]))})
        running.void(block, "stopped")
        again = running.ask_block(10_000)
        assert again.cases == {arm: cases for arm, cases in block.cases.items() if arm != "p0"}


def test_forecasts_never_exceed_the_cells_that_are_left() -> None:
    with campaign() as running:
        while tickets := running.ask(25):
            running.tell_many([(ticket, result(ticket)) for ticket in tickets])
            left, rows = running.remaining(), running.arms()
            for at, row in enumerate(rows):
                cells = CASES - row.pulls if row.verdict == "open" else 0
                assert 0 <= left.low[at] <= left.median[at] <= left.high[at] <= cells
        assert left.median.sum() == 0.0


@pytest.mark.slow
def test_forecasts_are_about_right() -> None:
    """Totals over 8 arms: what is expected after 100 of 400 cases each, against what was then taken."""
    expected, taken = 0.0, 0
    for _ in range(4):
        arms = [f"a{i}" for i in range(8)]
        with Campaign.create("memory:", "forecast", arms, threshold=0.5, cases=400, policy="uniform") as running:
            found, begun = None, 0
            while tickets := running.ask(8):
                rates = [0.42 + 0.02 * int(each.arm[1:]) for each in tickets]
                running.tell_many(
                    [(each, float(int(each.case) <= 400 * rate)) for each, rate in zip(tickets, rates, strict=True)]
                )
                begun += len(tickets)
                if found is None and begun >= 800:
                    found, begun = float(running.remaining().expected.sum()), 0
            expected, taken = expected + found, taken + begun
    assert 0.6 < taken / expected < 1.6


def test_later_arms_draw_cases_too() -> None:
    with campaign(reserve=0.2) as running:
        running.add_arms(["later"])
        drawn = [ticket for ticket in running.ask(10_000) if ticket.arm == "later"]
        assert {ticket.case for ticket in drawn} == {str(j + 1) for j in range(CASES)}


def test_the_same_after_opening_exporting_and_from_a_snapshot(tmp_path: Path) -> None:
    """Half-way, with tickets out, void cases and a block: every way to read the journal draws the same cases next."""
    store = f"sqlite:///{tmp_path / 'one.db'}"
    with campaign(store) as running:
        tickets = running.ask(150)
        running.tell_many([(ticket, result(ticket)) for ticket in tickets[:100]])
        running.void(tickets[101], "lost")
        running.ask_block(30)
        waiting = running.waiting()
        running.export(tmp_path / "journal.jsonl")
    with Campaign.open(store, "prompts") as opened:
        assert [each[:2] + each[-1:] for each in opened.waiting()] == [each[:2] + each[-1:] for each in waiting]
        assert {each.case for each in waiting if each.arm} <= {str(j + 1) for j in range(CASES)}
    two = f"sqlite:///{tmp_path / 'two.db'}"
    imported = Campaign.import_from(two, tmp_path / "journal.jsonl", name="prompts")
    with imported, Campaign.open(store, "prompts") as opened:
        assert [each[1:] for each in imported.ask(50)] == [each[1:] for each in opened.ask(50)]


SCORES = {arm: [0.9 if passed else 0.2 for passed in results] for arm, results in TRUTH.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"policy": "value+learned-bets"},
        {"rewards": GradedCases(CASES)},
        {"threshold": None, "control": "p1"},
        {"scores": SCORES},
        {"repeats": 2},
    ],
    ids=["passed", "learned bets", "graded", "control", "scores", "repeats"],
)
def test_every_kind_of_test_set_in_every_store(durable: str, more: dict[str, object]) -> None:
    """Left half-way with tickets out, opened again and finished: the same verdicts, and a journal that holds."""
    given = {"threshold": 0.8, "cases": CASES, "reserve": 0.2, **more}
    arms = [{"id": arm, "weight": 2.0 if arm == "p0" else None} for arm in TRUTH if arm != "p5"]
    if "control" in more:
        arms = [arm["id"] for arm in arms]
    late = {"id": "p5", "scores": SCORES["p5"]} if "scores" in more else "p5"
    if "scores" in more:
        given["scores"] = {arm["id"]: SCORES[arm["id"]] for arm in arms}
    with Campaign.create(durable, "set", arms, **given) as running:
        tickets = running.ask(60)
        running.tell_many([(ticket, result(ticket)) for ticket in tickets[:40]])
        running.void(tickets[40], "lost")
        running.add_arms([late])
    with Campaign.open(durable, "set") as opened:
        opened.tell_many([(ticket, result(ticket)) for ticket in tickets[41:]])
        while tickets := opened.ask(20):
            opened.tell_many([(ticket, result(ticket)) for ticket in tickets])
        bar = sum(TRUTH["p1"]) / CASES if "control" in more else 0.8
        for row in opened.arms():
            assert row.arm == more.get("control") or row.sign == (1 if sum(TRUTH[row.arm]) / CASES >= bar else -1)
        assert opened.check().ok


@pytest.mark.slow
def test_a_long_journal_is_replayed_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long enough for the compiled replay; without a snapshot and with one."""
    store = f"sqlite:///{tmp_path / 'store.db'}"
    arms, cases = [f"a{i}" for i in range(20)], 400
    with Campaign.create(store, "long", arms, threshold=0.5, cases=cases) as running:
        for round_ in range(8):
            tickets = running.ask(800)
            told = tickets if round_ < 7 else tickets[:-30]
            running.tell_many([(ticket, float((int(ticket.case) * 7 + len(ticket.arm)) % 10 < 5)) for ticket in told])
        expected = running.ask(40, key="again")
        waiting = {(each.ticket, each.case) for each in running.waiting()}
    for forget in (False, True):
        if forget:
            monkeypatch.setattr(Session, "_from_snapshot", lambda self, *rest: None, raising=False)
        with Campaign.open(store, "long") as opened:
            assert opened.ask(40, key="again") == expected
            assert {(each.ticket, each.case) for each in opened.waiting()} == waiting
            assert opened.check().ok


@pytest.mark.slow
def test_a_billion_cells() -> None:
    """A thousand arms and a million cases: nothing of that size is stored."""
    with Campaign.create("memory:", "large", [f"a{i}" for i in range(1000)], threshold=0.5, cases=10**6) as running:
        tickets = running.ask(3000)
        assert len({ticket[1:] for ticket in tickets}) == 3000
        running.tell_many([(ticket, 1.0) for ticket in tickets])


@pytest.mark.slow
def test_orders_are_uniform() -> None:
    """First cases of many arms are spread evenly over the set: chi-square with 49 degrees of freedom, limit at 1e-6."""
    cases, arms = CaseSet(50), 20_000
    for place in (0, 1, 49):
        counts = Counter(Draw(cases, order_key("key", 0, arm)).case(place) for arm in range(arms))
        expected = arms / 50
        assert sum((counts[case] - expected) ** 2 / expected for case in range(50)) < 117.0


def test_rewards_are_told_by_ticket() -> None:
    with campaign() as running:
        with pytest.raises(Refused, match="every reward needs a ticket"):
            running.tell_arm("p0", 1.0)
        ticket = running.ask()[0]
        with pytest.raises(InvalidValue, match=r"0 \(failed\) or 1 \(passed\)"):
            running.tell(ticket, 0.5)


GRADES = {"high": 0.9, "near": 0.6, "below": 0.58, "low": 0.2}


@pytest.mark.parametrize("batch", [1, 1000])
def test_graded_results_are_decided_in_the_order_of_asking(
    batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Means of exactly 0.9, 0.6, 0.58 and 0.2 over 40 graded cases. The answers of a batch come back in reverse."""
    monkeypatch.setattr("goodarm.campaign.terms.os.urandom", random.Random(2).randbytes)  # the same orders every time
    store = f"sqlite:///{tmp_path / 'graded.db'}"
    with Campaign.create(store, "graded", list(GRADES), threshold=0.6, rewards=GradedCases(40)) as running:
        told = 0
        while tickets := running.ask(batch):
            for ticket in reversed(tickets):
                running.tell(ticket, GRADES[ticket.arm] + (0.1 if int(ticket.case) % 2 else -0.1))
            told += len(tickets)
        found = {row.arm: row.verdict for row in running.arms()}
        assert found == {"high": "good", "near": "good", "below": "bad", "low": "bad"}
        assert told < 160 or batch > 1
    with Campaign.open(store, "graded") as opened:
        assert opened.check().ok
        assert opened.tally().told == told


def test_grades_against_a_control_are_paired() -> None:
    with Campaign.create(
        "memory:", "graded", list(GRADES), control="near", cases=40, rewards=GradedCases(40)
    ) as running:
        while tickets := running.ask(9):
            running.tell_many([(each, GRADES[each.arm] + 0.002 * (int(each.case) - 20.5)) for each in tickets])
        found = {row.arm: row.verdict for row in running.arms()}
        assert found == {"high": "better", "near": "control", "below": "not better", "low": "not better"}


@pytest.mark.parametrize("more", [{"reserve": 0.5}, {}])
def test_the_evidence_of_grades_starts_at_the_share_of_delta(more: dict[str, float]) -> None:
    """Two arms with the same results and shares that differ by a factor 9: their evidence differs by log 9."""
    arms = ["a", "b"] if more else [{"id": "a", "weight": 9.0}, {"id": "b", "weight": 1.0}]
    with Campaign.create("memory:", "shares", arms, threshold=0.5, rewards=GradedCases(40), **more) as running:
        running.tell_many([(ticket, 0.9) for ticket in running.ask(8)])
        one, other = (running._session.fold.step.row(arm) for arm in (0, 1))
        assert one.for_good - other.for_good == pytest.approx(0.0 if more else math.log(9.0))
        alone = Campaign.create("memory:", "alone", ["a", "b"], threshold=0.5, rewards=GradedCases(40))
        alone.tell_many([(ticket, 0.9) for ticket in alone.ask(8)])
        whole = alone._session.fold.step.row(0)
        assert one.for_good - whole.for_good == pytest.approx(math.log(0.5 if more else 1.8))
        assert one.for_bad - whole.for_bad == pytest.approx(math.log(0.5 if more else 1.8))


def test_the_number_of_graded_cases_must_agree() -> None:
    with pytest.raises(InvalidValue, match="fixed test set of 60 cases"):
        campaign(rewards=GradedCases(59))


def test_cases_from_files(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("question,case\nwhat?,q1\nwhy?,q2\n")
    (tmp_path / "cases.jsonl").write_text("\n".join(json.dumps({"id": f"q{j}", "text": "?"}) for j in range(3)))
    assert read_cases(tmp_path / "cases.csv").ids == ("q1", "q2")
    assert read_cases(str(tmp_path / "cases.jsonl")).ids == ("q0", "q1", "q2")
    with campaign(cases=tmp_path / "cases.csv") as running:
        assert {ticket.case for ticket in running.ask(100)} == {"q1", "q2"}


@pytest.mark.parametrize("wrong", [0, -3, True, 2.5, [], ["a", "a"], [""], [None], {"a": 1}, ["a\nb"], 10**10])
def test_wrong_cases_are_refused(wrong: object) -> None:
    with pytest.raises(InvalidValue):
        campaign(cases=wrong)


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTable, match="No such file"):
        read_cases(tmp_path / "nothing.csv")
    (tmp_path / "bad.jsonl").write_text('{"id": 1}\n{"id"')
    with pytest.raises(UnreadableTable, match="not a file of cases"):
        read_cases(tmp_path / "bad.jsonl")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"policy": "hdoc+kt"}, "kt is valid only for"),
        ({"threshold": 1.5}, "threshold"),
    ],
)
def test_what_does_not_fit_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(Exception, match=message):
        Campaign.create("memory:", "prompts", list(TRUTH), **{"threshold": 0.8, "cases": CASES, **more})


@pytest.mark.parametrize("asked", [{"threshold": 0.5}, {"control": "p1"}], ids=["threshold", "control"])
def test_the_interval_of_an_arm_with_every_case_told_is_its_mean(asked: dict[str, object]) -> None:
    """Tickets that were out at the verdict are told after it; the interval at the verdict is wider."""
    with Campaign.create("memory:", "x", ["p0", "p1"], cases=CASES, **asked) as running:
        for ticket in running.ask(2 * CASES)[::-1]:
            running.tell(ticket, result(ticket))
        rows = running.arms()
    assert [row.pulls for row in rows] == [CASES, CASES]
    judged = [row for row in rows if row.sign]
    assert judged
    for row in judged:
        assert row.low == row.high == row.mean
        assert row.interval_words == f"{row.mean:.4g} to {row.mean:.4g}"
