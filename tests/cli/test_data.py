"""`goodarm data`: list, fetch, path."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from goodarm.cli import app
from goodarm.environments.datasets import DATASETS

runner = CliRunner()


def test_list(cache) -> None:
    shown = runner.invoke(app, ["data", "list"])
    assert shown.exit_code == 0
    for dataset in DATASETS.values():
        assert f"Cite: {dataset.citation}" in shown.stdout
        assert f"Licence: {dataset.licence}" in shown.stdout
    assert "movielens_latest_small/ratings.csv: not on this machine" in shown.stdout
    listed = json.loads(runner.invoke(app, ["data", "list", "--json"]).stdout)["datasets"]
    assert [each["name"] for each in listed] == list(DATASETS)
    assert all(file["path"] is None and len(file["sha256"]) == 64 for each in listed for file in each["files"])


def test_path(data_folder) -> None:
    shown = runner.invoke(app, ["data", "path", "movielens"])
    assert shown.stdout.splitlines() == [
        str(data_folder / "movielens_latest_small" / name) for name in ("ratings.csv", "movies.csv")
    ]


def test_path_of_what_is_absent(cache) -> None:
    shown = runner.invoke(app, ["data", "path", "movielens"])
    assert shown.exit_code == 2
    assert "not on this machine. Get it with: goodarm data fetch movielens" in shown.stderr
    found = json.loads(runner.invoke(app, ["data", "path", "movielens", "--json"]).stdout)
    assert [file["path"] for file in found["files"]] == [None, None]


@pytest.mark.parametrize("verb", ["fetch", "path"])
def test_unknown_name(verb: str) -> None:
    shown = runner.invoke(app, ["data", verb, "movielnes"])
    assert shown.exit_code == 2
    assert "Did you mean 'movielens'?" in shown.stderr


@pytest.mark.slow
def test_fetch_from_a_mirror(data_folder, cache, publisher) -> None:
    path = "caption_contest/contest_559.csv.gz"
    for file in DATASETS["caption-contest"].files:
        publisher.pages[f"/copy/{file.path}"] = (data_folder / file.path).read_bytes()
    arguments = ["data", "fetch", "caption-contest", "--mirror", f"{publisher.address}/copy/"]
    shown = runner.invoke(app, arguments)
    assert shown.exit_code == 0, shown.stderr
    assert str(cache / path) in shown.stdout.splitlines()
    assert "Creative Commons Attribution 4.0" in shown.stderr
    as_json = json.loads(runner.invoke(app, [*arguments, "--json"]).stdout)
    assert as_json["fetched"] == [file["path"] for file in as_json["files"]]
    publisher.cut.add(f"/copy/{path}")
    shown = runner.invoke(app, arguments)
    assert shown.exit_code == 2
    assert "cut off" in shown.stderr
    assert (cache / path).exists()  # a failed fetch leaves the good copy in place


@pytest.mark.slow
def test_nothing_is_drawn_where_nobody_watches(cache, publisher) -> None:
    shown = runner.invoke(app, ["data", "fetch", "movielens", "--mirror", publisher.address])
    assert shown.exit_code == 2
    assert "\x1b" not in shown.stderr
    assert "answered 404" in shown.stderr
