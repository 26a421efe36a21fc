"""A learned policy as a file: what was saved is what is loaded, and nothing else is believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goodarm.errors import InvalidValue, UnreadablePolicy, UnsoundPairing
from goodarm.learning import learn
from goodarm.policies import policy
from goodarm.policies.file import FORMAT, _checksum, read_policy
from goodarm.problem import Gaussian
from goodarm.simulation.simulate import simulate


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "politik-é.json"
    learn("kano-1", "dgai", horizon=2000, budget=14, seed=3).save(path)
    return path


@pytest.mark.slow
def test_the_file_plays_like_the_policy_that_was_learned(tmp_path: Path) -> None:
    learned = learn(
        "kano-1", "ucb", horizon=2000, budget=14, calibrate=True, learning_runs=100, tests=100, seed=3, delta=0.2
    )
    learned.save(tmp_path / "p.json")
    runs = [
        simulate(p, "kano-1", horizon=2000, runs=3, seed=4, delta=0.2)
        for p in (learned.policy, str(tmp_path / "p.json"))
    ]
    assert runs[0].exploit_scores.tolist() == runs[1].exploit_scores.tolist()
    assert runs[0].guarantee is runs[1].guarantee


@pytest.mark.slow
def test_the_file_keeps_what_was_chosen_and_not_learned(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    learned = learn("kano-1", "value(firmness=5)", horizon=2000, budget=14)
    learned.save(path)
    assert policy(str(path)).setting == learned.policy.setting
    by_model = learn("linear", "ucb+self-normalised(norm=2)@linear", horizon=1500, budget=14)
    by_model.save(path)
    assert policy(str(path)).parameters["norm"] == 2.0


@pytest.mark.slow
def test_the_file_carries_both_bounds_over_the_rounds(saved: Path) -> None:
    learned = learn("kano-1", "dgai", horizon=2000, budget=14, seed=3)
    points = read_policy(saved).bounds
    assert points == list(learned.bounds)
    rounds = [point["round"] for point in points]
    assert rounds == sorted(set(rounds))
    assert points[0]["beta"] == pytest.approx(learned.parameters["beta"], rel=0.2)
    last = points[-1]["alpha"]
    assert last is not None
    assert 2.5 < last < 6.4  # hoeffding needs 6.4 after 1000 pulls
    by_value = learn("kano-1", "value", horizon=2000, budget=14, seed=3)
    assert {point["beta"] for point in by_value.bounds} == {None}  # its index is no mean plus bonus
    json.loads(saved.read_text(encoding="utf-8"), parse_constant=pytest.fail)  # no NaN


@pytest.mark.slow
def test_a_file_without_bounds_is_still_read(saved: Path) -> None:
    content = json.loads(saved.read_text(encoding="utf-8"))
    del content["bounds"], content["sha256"]
    content["sha256"] = _checksum(content)
    saved.write_text(json.dumps(content), encoding="utf-8")
    assert read_policy(saved).bounds == []
    policy(str(saved))


@pytest.mark.slow
def test_a_file_is_a_whole_policy(saved: Path) -> None:
    with pytest.raises(InvalidValue, match="is a whole policy"):
        policy(str(saved), "kt")
    assert policy(str(saved), beta=0.5).parameters["beta"] == 0.5


def test_an_altered_file_is_refused(saved: Path) -> None:
    content = json.loads(saved.read_text(encoding="utf-8"))
    content["parameters"]["beta"] = 0.01
    saved.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UnreadablePolicy, match="altered after it was learned"):
        policy(str(saved))


def test_a_newer_file_is_refused(saved: Path) -> None:
    content = json.loads(saved.read_text(encoding="utf-8"))
    content["format"] = FORMAT + 1
    saved.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UnreadablePolicy, match="Upgrade goodarm"):
        policy(str(saved))


def test_a_file_that_ends_in_the_middle_is_refused(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes()[:100])
    with pytest.raises(UnreadablePolicy, match="can't be read as JSON"):
        policy(str(saved))


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "one"}'])
def test_other_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UnreadablePolicy, match="not a policy file"):
        policy(str(tmp_path / "x.json"))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UnreadablePolicy, match="there is no such file"):
        policy("nowhere.json")


def test_another_reward_family_is_refused(saved: Path) -> None:
    with pytest.raises(UnsoundPairing, match=r"learned on rewards in \[0, 1\], but these are Gaussian"):
        policy(str(saved), rewards=Gaussian(scale=1.0))
