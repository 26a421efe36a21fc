"""e-BH as the engine keeps it, in lists, against its definition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goodarm.problem import Problem
from goodarm.rules.identification.false_discovery import decide_by_rank, empty_ledger
from goodarm.testing.reference import call_by_rank

EVIDENCE = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0])


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(1, 8), st.lists(st.tuples(st.integers(0, 7), EVIDENCE, EVIDENCE), max_size=60))
def test_lists_agree_with_the_definition(arms: int, pulls: list[tuple[int, float, float]]) -> None:
    """Evidence goes up and down; verdicts must come in the same rounds, on the same side."""
    bar = Problem(threshold=0.5, arms=arms, delta=0.2).bar
    fast, plain = np.zeros((arms, 8)), np.zeros((arms, 8))
    ledger, called = empty_ledger(arms), np.zeros(arms, dtype=np.int64)
    for arm, good, bad in pulls:
        if arm < arms and fast[arm, 7] == 0.0:
            # no test has evidence for both sides at once
            both = (good, -1.0) if good >= bad else (-1.0, bad)
            fast[arm, 4:6] = plain[arm, 4:6] = both
            found, _ = decide_by_rank(fast, arm, ledger, called, bar)
            before = (plain[:, 7] != 0.0).sum()
            call_by_rank(plain, bar)
            assert np.array_equal(fast[:, 7], plain[:, 7])
            assert found == (plain[:, 7] != 0.0).sum() - before


def test_the_second_arm_helps_the_first() -> None:
    """K = 2, delta = 0.1: one arm needs E >= 20, two together E >= 10 each."""
    bar = Problem(threshold=0.5, arms=2, delta=0.1).bar
    table, ledger, called = np.zeros((2, 8)), empty_ledger(2), np.zeros(2, dtype=np.int64)
    table[0, 4] = math.log(15.0)
    assert decide_by_rank(table, 0, ledger, called, bar) == (0, 0)
    table[1, 4] = math.log(12.0)
    assert decide_by_rank(table, 1, ledger, called, bar) == (2, 2)
    assert table[:, 7].tolist() == [1.0, 1.0]


def test_an_arm_that_lost_its_evidence_is_not_called() -> None:
    bar = Problem(threshold=0.5, arms=2, delta=0.1).bar
    table, ledger, called = np.zeros((2, 8)), empty_ledger(2), np.zeros(2, dtype=np.int64)
    for evidence in (15.0, 2.0):
        table[0, 4] = math.log(evidence)
        assert decide_by_rank(table, 0, ledger, called, bar) == (0, 0)
    table[1, 4] = math.log(12.0)
    assert decide_by_rank(table, 1, ledger, called, bar) == (0, 0)
