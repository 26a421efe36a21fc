"""Scope of the reproduction: datasets, the paper's policies and goodarm's, printed results, and numbers of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from goodarm.environments.names import environment as find_environment
from goodarm.errors import InvalidValue, UnknownName
from goodarm.simulation.simulate import MOST_WORKERS

BATCH = 10
"""b, the number of rounds between two steps of the paper's online learning, which the paper does not specify. See
docs/replication.md."""


class PaperDataset(NamedTuple):
    """An environment, its printed results, and the length of a run. `printed` has one score per policy of Table 1."""

    name: str
    quick_horizon: int
    reward_horizon: int
    printed: dict[str, float]
    small: bool = False  # only the cheap policies; for datasets that are not in the paper
    calibration: tuple[int, int] | None = None  # numbers of runs for learning and testing alpha; None: no calibration
    model: str = ""  # the model that policies use, for arms with features
    horizon: int = 0  # rounds of a full run; 0: the environment's own


class Entry(NamedTuple):
    """A policy of the report. made: "" if used unchanged, or trained / learned / calibrated on the dataset first.

    options : options of the paper's training, if the policy is trained
    only    : the datasets on which it is played; empty for all
    """

    name: str
    policy: str
    kind: str  # "baseline", "paper", "ours", "sweep"
    made: str = ""
    slow: bool = False
    options: tuple[tuple[str, float], ...] = ()
    only: tuple[str, ...] = ()


def _column(scores: Sequence[float]) -> dict[str, float]:
    names = ("hdoc", "lucb-g", "apt-g", "tt-ts", "softucb-g", "dgai-online", "dgai-offline")
    return dict(zip(names, scores, strict=True))


DATASETS = (
    PaperDataset(
        "synth-small",
        100_000,
        1_000_000,
        _column([1.2e6, 1.4e6, 1.8e6, 1.7e6, 2.7e6, 3.1e6, 4.1e6]),
        calibration=(150, 150),
    ),
    PaperDataset("synth-large", 100_000, 1_000_000, _column([6.5e4, 1.1e5, 8.8e4, 1.1e5, 1.2e5, 1.7e5, 2.5e5])),
    PaperDataset(
        "movielens", 30_000, 100_000, _column([1.8e6, 1.7e6, 6e6, 4.1e7, 3.8e7, 4.2e7, 6.1e7]), calibration=(150, 150)
    ),
    PaperDataset("open-bandit", 400_000, 1_000_000, _column([4e5, 4e5, 4e5, 4e5, 1e6, 1.3e6, 1.5e6])),
    PaperDataset("open-bandit-sample", 200_000, 0, _column([4e5, 4e5, 4e5, 4e5, 1e6, 1.3e6, 1.5e6]), small=True),
    PaperDataset("caption-651", 50_000, 0, {}, small=True),
)
"""The paper's four, then what it probably used in place of Open Bandit, then real votes that are not in the paper.

`reward_horizon` is the length of the runs of Figure 4; 0: not in it. Open Bandit is played to 1e6 there, not 1e7.
"""

STRUCTURED = (
    PaperDataset("linear", 4_000, 0, {}, model="linear", horizon=30_000),
    PaperDataset("bumps", 4_000, 0, {}, model="kernel", horizon=20_000),
    PaperDataset("network", 4_000, 0, {}, model="neural", horizon=10_000),
)
"""Arms with features, one dataset per model of the paper: the paper describes the models but has no results for
them."""

ENTRIES = (
    Entry("hdoc", "hdoc", "baseline"),
    Entry("lucb-g", "lucb-g", "baseline"),
    Entry("apt-g", "apt-g", "baseline"),
    Entry("apt-g-printed", "apt-g-printed", "baseline"),
    Entry("tt-ts", "tt-ts", "baseline", slow=True),
    Entry("tt-ts-printed", "tt-ts-printed", "baseline", slow=True, only=("synth-small",)),
    Entry("softucb-g", f"softucb-g(batch={BATCH})", "baseline"),
    Entry("dgai-online", f"dgai-online(batch={BATCH})", "paper"),
    Entry("dgai-offline", "dgai-offline", "paper", made="trained"),
    Entry("dgai-offline-covering", "dgai-offline", "paper", made="trained", options=(("covering", 1.0),)),
    Entry("dgai-spread", "dgai-spread", "ours"),
    Entry("dgai", "dgai", "ours"),
    Entry("dgai learned offline", "dgai", "ours", made="learned"),
    Entry("value", "value", "ours"),
    Entry("value calibrated", "value", "ours", made="calibrated"),
)
SMALL = ("hdoc", "lucb-g", "apt-g", "apt-g-printed", "dgai", "value")

STRUCTURED_ENTRIES = (
    Entry("hdoc", "hdoc", "baseline"),
    Entry("softucb-g", f"softucb-g(batch={BATCH})@", "baseline"),
    Entry("dgai-online", f"dgai-online(batch={BATCH})@", "paper"),
    Entry("dgai-offline", "dgai-offline@", "paper", made="trained"),
    Entry("dgai", "dgai@", "ours"),
    Entry("value", "value@", "ours"),
)
"""Policies for arms with features; `@` is followed by the dataset's model."""

SWEEP = "synth-small"
SWEEP_HORIZON = 100_000
SIGNS = {"printed": 0.0, "covering": 1.0}
ETAS = (0.0, 0.001, 0.1, 1.0, 10.0)
"""The sweep over eta1 = eta2 of the identification objective, with both signs of its constraint D."""


def sweep_entries(scale: Scale) -> tuple[Entry, ...]:
    """One trained policy per eta and sign of D.

    >>> [entry.name for entry in sweep_entries(QUICK)]
    ['printed, eta 0.001', 'printed, eta 1', 'covering, eta 0.001', 'covering, eta 1']
    """
    etas = ETAS if scale.calibrates else (0.001, 1.0)
    return tuple(
        Entry(
            f"{sign}, eta {eta:g}",
            "dgai-offline",
            "sweep",
            made="trained",
            options=(("eta1", eta), ("eta2", eta), ("covering", covering)),
        )
        for sign, covering in SIGNS.items()
        for eta in etas
    )


REWARD_ENTRIES = (
    Entry("ucb1", "ucb1", "baseline"),
    Entry("thompson", "thompson", "baseline", slow=True),
    Entry("softucb", f"softucb(batch={BATCH})", "baseline"),
    Entry("dgai-reward-printed", f"dgai-reward-printed(batch={BATCH})", "paper", slow=True),
    Entry("dgai-reward", "dgai-reward", "ours"),
)

ITEMS = ("table1", "figure1", "figure2", "figure3", "figure4", "price", "structured", "sweep")


class Scale(NamedTuple):
    """Sizes of a reproduction.

    runs, slow_runs, reward_runs, slow_reward_runs : repetitions; the slow ones are for rules that evaluate every arm
    epochs, every     : settings of the paper's training; the gradient is computed every `every` rounds
    budget            : number of runs for learning beta offline
    reward_horizon    : the longest run of Figure 4
    calibrates        : whether a bound is also calibrated, which needs hundreds of runs
    points            : number of points of a recorded curve
    training_horizon  : the longest epoch of the paper's training
    structured_runs, structured_epochs, sweep_runs : the same for arms with features, and for the sweep over eta
    """

    name: str
    runs: int
    slow_runs: int
    reward_runs: int
    slow_reward_runs: int
    epochs: int
    every: int
    budget: int
    reward_horizon: int
    calibrates: bool
    points: int
    training_horizon: int
    structured_runs: int
    structured_epochs: int
    sweep_runs: int


FULL = Scale("full", 10, 3, 10, 3, 50, 1000, 52, 1_000_000, True, 100, 300_000, 5, 10, 10)
QUICK = Scale("quick", 3, 1, 2, 1, 12, 1000, 20, 50_000, False, 50, 100_000, 1, 3, 1)


class Request(NamedTuple):
    """Arguments of `goodarm reproduce`; with `runs` None, the scale determines the numbers of repetitions."""

    quick: bool = False
    only: tuple[str, ...] = ()
    runs: int | None = None
    seed: int = 0
    workers: int = 1

    @property
    def scale(self) -> Scale:
        scale = QUICK if self.quick else FULL
        if self.runs is None:
            return scale
        runs = self.runs
        return scale._replace(
            runs=runs,
            slow_runs=runs,
            reward_runs=runs,
            slow_reward_runs=runs,
            structured_runs=runs,
            sweep_runs=runs,
        )

    @property
    def datasets(self) -> tuple[PaperDataset, ...]:
        named = [each for each in (*DATASETS, *STRUCTURED) if each.name in self.only]
        if named:
            return tuple(named)
        with_features = STRUCTURED if not self.quick else STRUCTURED[:1]
        plain = DATASETS if set(self.items) - {"structured"} else ()
        return (*plain, *(with_features if "structured" in self.items else ()))

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(item for item in ITEMS if item in self.only) or ITEMS

    def check(self) -> None:
        """Refuse unknown names and invalid numbers."""
        known = [*ITEMS, *(each.name for each in (*DATASETS, *STRUCTURED))]
        for name in self.only:
            if name not in known:
                raise UnknownName("part of the reproduction", name, known)
        if self.runs is not None and self.runs < 1:
            raise InvalidValue(f"runs must be at least 1; got {self.runs}.")
        if self.seed < 0:
            raise InvalidValue(f"seed must be 0 or larger; got {self.seed}.")
        if self.workers < 1:
            raise InvalidValue(f"workers must be at least 1; got {self.workers}.")
        if self.workers > MOST_WORKERS:
            raise InvalidValue(f"workers must be at most {MOST_WORKERS}; got {self.workers}.")

    def command(self) -> str:
        """The command of this request.

        >>> Request(quick=True, only=("movielens",), seed=3).command()
        'goodarm reproduce --quick --only movielens --seed 3'
        """
        words = ["goodarm reproduce", "--quick" if self.quick else ""]
        words += [f"--only {name}" for name in self.only]
        words += [f"--runs {self.runs}" if self.runs is not None else "", f"--seed {self.seed}" if self.seed else ""]
        return " ".join(filter(None, words))


def entries_of(dataset: PaperDataset, scale: Scale) -> tuple[Entry, ...]:
    """The policies that are played on a dataset.

    >>> [entry.name for entry in entries_of(DATASETS[-1], FULL)]
    ['hdoc', 'lucb-g', 'apt-g', 'apt-g-printed', 'dgai', 'value']
    >>> entries_of(STRUCTURED[0], FULL)[-1].policy
    'value@linear'
    """
    if dataset.model:
        return tuple(
            entry._replace(policy=entry.policy + dataset.model * entry.policy.endswith("@"))
            for entry in STRUCTURED_ENTRIES
        )
    here = [entry for entry in ENTRIES if not entry.only or dataset.name in entry.only]
    if not dataset.small:
        calibrates = scale.calibrates and dataset.calibration is not None
        return tuple(entry for entry in here if calibrates or entry.made != "calibrated")
    wanted = (*SMALL, "dgai-offline", "dgai-online", "softucb-g") if dataset.printed else SMALL
    return tuple(entry for entry in here if entry.name in wanted)


def horizon_of(dataset: PaperDataset, quick: bool) -> int:
    """Rounds of a run."""
    return dataset.quick_horizon if quick else dataset.horizon or find_environment(dataset.name).horizon
