"""New Yorker caption contest: votes on captions, collected by a bandit to find the funny ones."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.environments._base import Environment
from goodarm.environments.datasets._store import Dataset, File, read
from goodarm.environments.datasets._tables import as_csv, counts, in_no_order
from goodarm.environments.laws import bernoulli
from goodarm.errors import UnknownName

COLUMNS = ("caption", "not_funny", "somewhat_funny", "funny")
SUMMARIES = "https://raw.githubusercontent.com/nextml/caption-contest-data/{commit}/summaries/{name}.csv"


def _votes_only(served: bytes) -> bytes:
    """Rank, caption and the three counts of the publisher's summary; the other columns follow from them."""
    reader = csv.DictReader(io.StringIO(served.decode("utf-8"), newline=""))
    return as_csv(["caption_row", *COLUMNS], ([row["rank"], *(row[column] for column in COLUMNS)] for row in reader))


CAPTION_CONTEST = Dataset(
    name="caption-contest",
    title="New Yorker caption contests 559 and 651, votes per caption",
    files=(
        File(
            "caption_contest/contest_651.csv.gz",
            "ed47f3d559905504eb3a7b8d58a7bae82fb1517083e1f949cf2a309918e6ccd5",
            SUMMARIES.format(commit="8f95fd5d50038e948595315a70be4aba67f95092", name="651_lil-KLUCB"),
            _votes_only,
        ),
        File(
            "caption_contest/contest_559.csv.gz",
            "21a9f05d0b70fbd973c24efb681b97d806fa5333ca68b59b873a064a46c372ed",
            SUMMARIES.format(commit="024ac5b609c401e447264178176534b8f9c8cee1", name="559_Random"),
            _votes_only,
        ),
    ),
    homepage="https://github.com/nextml/caption-contest-data",
    licence="Creative Commons Attribution 4.0 International, https://creativecommons.org/licenses/by/4.0/",
    citation=(
        "E. Tanczos, R. Nowak and B. Mankoff. A KL-LUCB Algorithm for Large-Scale Crowdsourcing. NIPS 2017; "
        "K. Jamieson et al. NEXT: A System for Real-World Development, Evaluation, and Application of Active Learning. "
        "NIPS 2015"
    ),
)

READING = (
    "0/1 rewards; an arm is one of 9250 captions of contest 651, its mean the share of its votes (195 to 303) that "
    "were not 'not funny'; the threshold is the means' 95th percentile. Not in the paper. Arms stand in a "
    "fixed random order"
)


def caption_651() -> Environment:
    """Which captions are among the funniest twentieth? A million rounds.

    >>> environment = caption_651()
    >>> environment.arms, round(environment.threshold, 4)
    (9250, 0.3385)
    """
    table = counts("caption_651.csv")
    means = in_no_order(np.repeat(table["amusing"] / table["votes"], table["captions"]))
    made = bernoulli(means, float(np.quantile(means, 0.95)), horizon=1_000_000, name="caption-651")
    return replace(made, reading=READING, reference=CAPTION_CONTEST.citation)


class Votes(NamedTuple):
    """One entry per caption, the one with the best average first."""

    caption: tuple[str, ...]
    not_funny: NDArray[np.int64]
    somewhat_funny: NDArray[np.int64]
    funny: NDArray[np.int64]


def votes(contest: int = 651) -> Votes:
    """The votes of contest 651 (collected adaptively, 9,250 captions) or 559 (uniformly, 138 captions)."""
    if contest not in (559, 651):
        raise UnknownName("caption contest", str(contest), ["559", "651"])
    text = read(CAPTION_CONTEST, f"caption_contest/contest_{contest}.csv.gz").decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    not_funny, somewhat_funny, funny = (np.array([int(row[column]) for row in rows]) for column in COLUMNS[1:])
    return Votes(tuple(row["caption"] for row in rows), not_funny, somewhat_funny, funny)
