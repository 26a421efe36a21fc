"""Real datasets: environments from counts, loaders of the full files, and what happens when a transfer goes wrong."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from goodarm.environments.datasets import DATASETS, Dataset, File, cache_folder, fetch, read
from goodarm.environments.datasets.caption_contest import CAPTION_CONTEST, votes
from goodarm.environments.datasets.movielens import MOVIELENS, movies, ratings
from goodarm.environments.datasets.open_bandit import OPEN_BANDIT, log
from goodarm.environments.names import environment
from goodarm.errors import InvalidValue, UnavailableData, UnknownName
from goodarm.theory import exploit_ceiling, oracle_limit


def means_of(name: str) -> np.ndarray:
    return environment(name).draw(np.random.default_rng(0))


# The environments, as spec/datasets.md reads them: arms, good arms, ceiling, oracle's share of it.
READINGS = {
    "open-bandit": (80, 16, 1.5e5, 0.95),
    "open-bandit-sample": (80, 29, 1.575e6, 1.0),
    "movielens": (9724, 549, 3.6e6, 0.75),
    "movielens-long": (9724, 549, 3.6e7, 0.94),
    "caption-651": (9250, 464, 1.66e7, 0.74),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READINGS)
def test_reading(name: str) -> None:
    found, means = environment(name), means_of(name)
    arms, good, ceiling, share = READINGS[name]
    highest = exploit_ceiling(means, found.threshold, found.horizon)
    assert found.arms == means.size == arms
    assert (means >= found.threshold).sum() == good
    assert highest == pytest.approx(ceiling, rel=0.02)
    assert oracle_limit(means, found.threshold, 0.05, found.horizon) / highest == pytest.approx(share, abs=0.01)
    assert found.reading
    assert found.reference in {dataset.citation for dataset in DATASETS.values()}


@pytest.mark.parametrize("name", ["movielens", "caption-651"])
def test_order_of_arms_says_nothing(name: str) -> None:
    means = means_of(name)
    correlation = np.corrcoef(np.arange(means.size), means)[0, 1]
    assert abs(correlation) < 4.0 / np.sqrt(means.size)
    assert (means == means_of(name)).all()


def test_counts_in_the_package_are_those_of_the_files(data_folder: Path) -> None:
    of_movie = Counter(ratings().movie.tolist())
    assert sorted(means_of("movielens")) == sorted(count / 610 for count in of_movie.values())
    contest = votes(651)
    amusing = contest.somewhat_funny + contest.funny
    assert sorted(means_of("caption-651")) == sorted(amusing / (amusing + contest.not_funny))
    with (data_folder / "obd" / "all_items.csv").open(newline="") as lines:
        items = list(csv.DictReader(lines))
    for name, column in (("open-bandit", "random_full"), ("open-bandit-sample", "random_sample")):
        rates = [int(item[f"{column}_clicks"]) / int(item[f"{column}_impressions"]) for item in items]
        assert means_of(name).tolist() == rates


@pytest.mark.slow
def test_loaders(data_folder: Path) -> None:
    rated, catalogue = ratings(), movies()
    assert len(rated.movie) == 100_836
    assert len(set(rated.user.tolist())) == 610
    assert set(np.unique(rated.rating)) == {j / 2 for j in range(1, 11)}
    assert len(catalogue.title) == 9742
    assert catalogue.title[0] == "Toy Story (1995)"
    assert catalogue.genres[0] == ("Adventure", "Animation", "Children", "Comedy", "Fantasy")
    for policy in ("random", "bts"):
        shown = log(policy)
        assert len(shown.item) == 10_000
        assert set(shown.position.tolist()) == {1, 2, 3}
        assert ((shown.propensity > 0) & (shown.propensity <= 1)).all()
    assert set(log("random").propensity.tolist()) == {1 / 80}
    rates = np.bincount(log("random").item, log("random").click) / np.bincount(log("random").item)
    assert (rates == means_of("open-bandit-sample")).all()
    assert len(votes(559).caption) == 138


def test_unknown_parts_are_named() -> None:
    with pytest.raises(UnknownName, match="Open Bandit policy 'uniform'"):
        log("uniform")
    with pytest.raises(UnknownName, match="caption contest '650'"):
        votes(650)


# --- fetching -------------------------------------------------------------------------------------------------------


def tiny(address: str, **changes: str) -> Dataset:
    """A dataset of two files in one archive, served at address/archive.zip."""

    def member(name: str):
        return lambda archive: zipfile.ZipFile(io.BytesIO(archive)).read(name)

    files = tuple(
        File(
            f"tiny/{name}",
            hashlib.sha256(content).hexdigest(),
            f"{address}/archive.zip",
            member(name.removesuffix(".gz")),
        )
        for name, content in {"a.csv": b"arm,mean\nx,0.5\n", "b.csv.gz": b"1\n2\n"}.items()
    )
    return Dataset("tiny", "Two small files", files, "https://example.org", "public domain", "nobody 2024")


def archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        opened.writestr("a.csv", "arm,mean\nx,0.5\n")
        opened.writestr("b.csv", "1\n2\n")
    return stream.getvalue()


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []


@pytest.mark.slow
def test_fetch_writes_checked_files_and_tells_the_terms(cache, publisher, capsys) -> None:
    publisher.pages["/archive.zip"] = archive()
    dataset = tiny(publisher.address)
    paths = fetch(dataset)
    assert publisher.asked == ["/archive.zip"]
    assert sorted(files_below(cache)) == sorted(paths) == [cache / "tiny" / "a.csv", cache / "tiny" / "b.csv.gz"]
    assert gzip.decompress(paths[1].read_bytes()) == b"1\n2\n"
    assert "Licence: public domain\nCite: nobody 2024" in capsys.readouterr().err
    assert read(dataset, "tiny/b.csv.gz") == b"1\n2\n"
    assert publisher.asked == ["/archive.zip"]


@pytest.mark.slow
def test_reading_fetches_what_is_absent(cache, publisher) -> None:
    publisher.pages["/archive.zip"] = archive()
    assert read(tiny(publisher.address), "tiny/a.csv") == b"arm,mean\nx,0.5\n"


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "flipped", "truncated", "other", "absent"])
def test_damaged_transfer_is_refused_and_kept_nowhere(damage: str, cache, publisher) -> None:
    whole = archive()
    middle = whole.index(b"x,0.5")
    served = {
        "cut": whole,
        "flipped": whole[:middle] + b"y" + whole[middle + 1 :],
        "truncated": whole[:-10],
        "other": b"<html>Sign in to this network</html>",
    }
    if damage in served:
        publisher.pages["/archive.zip"] = served[damage]
    if damage == "cut":
        publisher.cut.add("/archive.zip")
    with pytest.raises(UnavailableData, match="goodarm data fetch tiny") as caught:
        fetch(tiny(publisher.address))
    expected = {"cut": f"cut off after {len(whole) // 2} of {len(whole)} bytes", "absent": "answered 404"}
    assert expected.get(damage, "nothing was kept") in str(caught.value)
    assert files_below(cache) == []


@pytest.mark.slow
def test_second_file_wrong_keeps_the_first_out_too(cache, publisher) -> None:
    publisher.pages["/archive.zip"] = archive()
    dataset = tiny(publisher.address)
    wrong = replace(dataset, files=(dataset.files[0], replace(dataset.files[1], sha256="0" * 64)))
    with pytest.raises(UnavailableData, match=r"tiny/b\.csv\.gz .* not the pinned 000000000000…"):
        fetch(wrong)
    assert files_below(cache) == []


@pytest.mark.slow
def test_offline_message_says_what_to_do(cache, publisher) -> None:
    nobody_listens = re.sub(r":\d+$", ":9", publisher.address)
    with pytest.raises(UnavailableData, match=r"offline, or the address is unreachable.*GOODARM_DATA"):
        fetch(tiny(nobody_listens))


def test_address_must_be_on_the_web(cache) -> None:
    with pytest.raises(InvalidValue, match=r"must start with https://.*'file:///etc/archive\.zip'"):
        fetch(tiny("file:///etc"))


@pytest.mark.slow
def test_damaged_cache_is_removed(cache, publisher) -> None:
    publisher.pages["/archive.zip"] = archive()
    dataset = tiny(publisher.address)
    path = fetch(dataset)[1]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(UnavailableData, match="was damaged and has been removed"):
        read(dataset, "tiny/b.csv.gz")
    assert not path.exists()
    assert read(dataset, "tiny/b.csv.gz") == b"1\n2\n"


@pytest.mark.slow
def test_damaged_file_of_the_user_is_refused_and_left_alone(cache, tmp_path, monkeypatch, publisher) -> None:
    mine = tmp_path / "mine" / "tiny" / "a.csv"
    mine.parent.mkdir(parents=True)
    mine.write_text("arm,mean\n")
    monkeypatch.setenv("GOODARM_DATA", str(tmp_path / "mine"))
    with pytest.raises(UnavailableData, match="damaged, cut off, or another version"):
        read(tiny(publisher.address), "tiny/a.csv")
    assert mine.exists()
    mine.write_bytes(b"arm,mean\r\nx,0.5\r\n")  # the same content with the line ends of another system
    assert read(tiny(publisher.address), "tiny/a.csv") == b"arm,mean\nx,0.5\n"
    assert publisher.asked == []


@pytest.mark.slow
def test_cache_that_cannot_be_written(cache, publisher, monkeypatch) -> None:
    publisher.pages["/archive.zip"] = archive()
    cache.write_text("a file, not a folder")
    with pytest.raises(UnavailableData, match="Set GOODARM_CACHE"):
        fetch(tiny(publisher.address))


def test_cache_folder(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GOODARM_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("GOODARM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "goodarm"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder().is_absolute()


# --- from what a publisher serves to what is pinned -----------------------------------------------------------------


def content(folder: Path, path: str) -> bytes:
    raw = (folder / path).read_bytes()
    return gzip.decompress(raw) if path.endswith(".gz") else raw


def test_movielens_archive_gives_the_pinned_files(data_folder: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        for file in MOVIELENS.files:
            name = Path(file.path).name
            opened.writestr(f"ml-latest-small/{name}", content(data_folder, file.path).replace(b"\n", b"\r\n"))
    for file in MOVIELENS.files:
        assert hashlib.sha256(file.prepare(stream.getvalue())).hexdigest() == file.sha256


def test_open_bandit_log_with_affinities_gives_the_pinned_file(data_folder: Path) -> None:
    for file in OPEN_BANDIT.files:
        rows = csv.reader(io.StringIO(content(data_folder, file.path).decode()))
        header = next(rows)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["", *header[1:], "user-item_affinity_0"])
        writer.writerows([*row, "0.0"] for row in rows)
        assert hashlib.sha256(file.prepare(text.getvalue().encode())).hexdigest() == file.sha256


def test_caption_summary_gives_the_pinned_file(data_folder: Path) -> None:
    for file in CAPTION_CONTEST.files:
        rows = csv.reader(io.StringIO(content(data_folder, file.path).decode(), newline=""))
        next(rows)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["rank", "caption", "mean", "precision", "votes", "not_funny", "somewhat_funny", "funny"])
        writer.writerows([*row[:2], "1.5", "0.1", sum(map(int, row[2:])), *row[2:]] for row in rows)
        assert hashlib.sha256(file.prepare(text.getvalue().encode())).hexdigest() == file.sha256
