"""Real data: the environments need only the counts in `tables/`; the full files are found or fetched on demand."""

from goodarm.environments.datasets._store import Dataset, File, cache_folder, fetch, read
from goodarm.environments.datasets.caption_contest import CAPTION_CONTEST
from goodarm.environments.datasets.movielens import MOVIELENS
from goodarm.environments.datasets.open_bandit import OPEN_BANDIT
from goodarm.errors import UnknownName

__all__ = ["DATASETS", "Dataset", "File", "cache_folder", "dataset", "fetch", "read"]

DATASETS = {found.name: found for found in (CAPTION_CONTEST, MOVIELENS, OPEN_BANDIT)}


def dataset(name: str) -> Dataset:
    """The dataset of that name.

    >>> dataset("movielens").files[0].path
    'movielens_latest_small/ratings.csv'
    """
    if name not in DATASETS:
        raise UnknownName("dataset", name, DATASETS)
    return DATASETS[name]
