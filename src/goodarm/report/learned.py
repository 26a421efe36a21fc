"""Output of a learned policy: text, JSON, files, and the figure of its parameter and score during learning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from goodarm.errors import InvalidValue
from goodarm.learning.gain import Gain
from goodarm.learning.offline import Epoch, GradientEpoch, LearningStep
from goodarm.learning.train import LearnedPolicy
from goodarm.report.drawing import COLOURS, marked, save
from goodarm.report.numbers import counted, percent, short
from goodarm.whole_files import explained, refuse_replacing, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def check_file(path: Path, *inputs: str | Path | None) -> None:
    """Refuse a file that can't be written, or that is one of the inputs, before learning."""
    refuse_replacing(path, [Path(each) for each in inputs if each is not None])
    if path.suffix != ".json":
        raise InvalidValue(f"`out` must end in .json, by which policy files are recognised; got {str(path)!r}.")
    if not path.parent.is_dir():
        raise InvalidValue(f"the folder of `out` does not exist: {path.parent}. Create it first.")
    if path.is_dir():
        raise InvalidValue(f"{path} is a folder. Give `out` a file.")
    probe = path if path.exists() else path.with_name(f".partial-{path.name}")
    try:
        probe.open("ab").close()
        if probe != path:
            probe.unlink()
    except OSError as error:
        raise InvalidValue(f"can't write {path}: {error.strerror or error}. Give `out` another file.") from None


def write(learned: LearnedPolicy, path: Path) -> list[Path]:
    """Write the policy file, and the learning curve beside it if there is one and matplotlib is installed."""
    with explained(path.parent):
        learned.save(path)
        if not learned.history or find_spec("matplotlib") is None:
            return [path]
        drawn = draw(learned)
        figures = [whole(path.with_suffix(kind), lambda to: save(drawn, to)) for kind in (".svg", ".png")]
    return [path, *figures]


def as_json(learned: LearnedPolicy, gains: Sequence[Gain], written: Sequence[Path]) -> dict[str, Any]:
    """The object that `goodarm learn --json` prints."""
    certificate = learned.policy.certificate
    return {
        "policy": learned.policy.name,
        "guarantee": str(learned.policy.guarantee),
        "parameters": learned.parameters,
        "learned_on": {name: value for name, value in learned.learned_on.items() if name != "rewards"},
        "certificate": {**asdict(certificate), "limit": certificate.limit} if certificate else None,
        "gains": [{**each._asdict(), "difference": each.difference._asdict()} for each in gains],
        "history": [step._asdict() for step in learned.history],
        "bounds": [dict(point) for point in learned.bounds],
        "written": [str(path) for path in written],
    }


def lines(learned: LearnedPolicy, gains: Sequence[Gain]) -> Iterator[str]:
    """Describe the learned policy: its parameters, its origin and its certificate."""
    on = learned.learned_on
    yield f"{learned.policy.name}: {learned.policy.promise}"
    yield (
        f"learned on {on['environment']} ({on['reading']}), {counted(on['arms'], 'arm')}, threshold "
        f"{on['threshold']:g}, horizon {on['horizon']:,}, {counted(on['runs'], 'run')}, seed {on['seed']}"
    )
    yield from bounds_line(learned)
    for each in gains:
        yield gain_line(each)
    if on["objective"] == "paper":
        last = learned.history[-1]._asdict()
        yield f"wrong in the last epoch: {last['wrong']} of {last['decided']} verdicts"
    certificate = learned.policy.certificate
    if certificate is not None:
        yield (
            f"certificate: {certificate.wrong_runs} of {certificate.runs:,} fresh runs had a wrong verdict; error rate "
            f"at most {certificate.limit:.4f} with 95% confidence, attempt {certificate.attempt}, delta "
            f"{certificate.delta:g}"
        )


def bounds_line(learned: LearnedPolicy) -> Iterator[str]:
    """alpha and beta at the end of a run, where the policy has them."""
    last = learned.bounds[-1] if learned.bounds else {}
    told = [f"{name} {short(value, 3)}" for name in ("alpha", "beta") if (value := last.get(name)) is not None]
    if told:
        use = "; an arm is good at mean >= threshold + alpha sd0/sqrt(pulls)" if told[0].startswith("alpha") else ""
        yield f"after {last['round']:,} rounds: {', '.join(told)}{use}"


def advice(
    family: str, environment: str | None, path: Path, threshold: float | None, horizon: int | None, delta: float
) -> Iterator[str]:
    """Next steps with the policy file; `environment` is the user's name for it, None for a table."""
    if horizon is None:
        yield f"the horizon is {family}'s own, and the policy was learned for it: give yours with --horizon"
    if environment is not None:
        given = {"--threshold": threshold, "--horizon": horizon, "--delta": None if delta == 0.05 else delta}
        words = "".join(f" {name} {value}" for name, value in given.items() if value is not None)
        yield f"use it: goodarm compare {environment} --policy {path}{words}"


def gain_line(gain: Gain) -> str:
    """The gain over one policy, and whether it is more than chance."""
    low, high = gain.difference.low, gain.difference.high
    interval = f"95% interval {short(low, 3)} to {short(high, 3)}"
    verdict = "gains" if low > 0.0 else "loses" if high < 0.0 else "shows no gain beyond chance"
    words = f"over {gain.over} it {verdict}"
    if low > 0.0 or high < 0.0:
        words += f" {percent(abs(gain.share))}" if gain.other > 0.0 else f" {short(abs(gain.difference.mean), 3)}"
    return (
        f"{words}: exploit score {short(gain.score)} against {short(gain.other)}, difference "
        f"{short(gain.difference.mean, 3)} ({interval}; {gain.difference.runs} fresh runs)"
    )


class LearningCurve(NamedTuple):
    """Data of the figure: the candidates first, then the steps."""

    name: str
    value: float
    bracket: list[tuple[float, float]]
    steps: list[tuple[float, float]]


def info(learned: LearnedPolicy, history: Sequence[LearningStep]) -> LearningCurve:
    """The figure's numbers from a learned policy."""
    name = next(iter(learned.parameters))
    points = [(step.parameter, step.score) for step in history]
    bracket = sum(step.bracket for step in history)
    return LearningCurve(name, learned.parameters[name], points[:bracket], points[bracket:])


def draw(learned: LearnedPolicy) -> Figure:
    """The parameters during learning, and their scores."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    steps = [entry for entry in learned.history if isinstance(entry, LearningStep)]
    epochs = [entry for entry in learned.history if isinstance(entry, Epoch)]
    gradients = [entry for entry in learned.history if isinstance(entry, GradientEpoch)]
    if epochs:
        _draw_epochs(left, right, epochs)
    elif gradients:
        _draw_gradients(left, right, gradients, learned.parameters["beta"])
    else:
        _draw_steps(left, right, info(learned, steps))
    for axes in (left, right):
        axes.grid(color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8.5)
    on = learned.learned_on
    setting = f"{on['arms']:,} arms, horizon {on['horizon']:,}, {on['runs']:,} runs, seed {on['seed']}"
    title = f"{learned.policy.sampling.name} on {on['environment']}: {setting}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    return figure


def _draw_epochs(left: Axes, right: Axes, epochs: Sequence[Epoch]) -> None:
    """Left: alpha and beta over the epochs. Right: the score and the number of wrong verdicts."""
    number = range(1, len(epochs) + 1)
    alphas, betas = [epoch.alpha for epoch in epochs], [epoch.beta for epoch in epochs]
    left.plot(number, alphas, color=COLOURS[1], label="alpha", linewidth=1.5, **marked(0, 2, len(epochs)))
    left.plot(number, betas, color=COLOURS[0], label="beta", linewidth=1.5, **marked(1, 2, len(epochs)))
    left.axhline(0.0, color="0.4", linewidth=0.9, linestyle=(0, (4, 3)))
    left.set_ylabel("alpha, beta")
    right.plot(number, [epoch.score for epoch in epochs], color=COLOURS[0], linewidth=1.5)
    right.yaxis.set_major_formatter("{x:,.0f}")
    right.set_ylabel("exploit score of the epoch")
    last = epochs[-1]
    right.annotate(
        f"last epoch: {last.wrong} of {last.decided} verdicts wrong",
        (1.0, 0.02),
        xycoords="axes fraction",
        ha="right",
        fontsize=8.5,
        color="0.35",
    )
    for axes in (left, right):
        axes.set_xlabel("epoch")


def _draw_gradients(left: Axes, right: Axes, epochs: Sequence[GradientEpoch], beta: float) -> None:
    """Left: beta over the epochs. Right: the score of each epoch, and the last validation score."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

    number = range(1, len(epochs) + 1)
    left.plot(number, [epoch.parameter for epoch in epochs], color=COLOURS[0], marker="o", markersize=3, linewidth=1.5)
    left.axhline(beta, color="0.4", linewidth=0.9, linestyle=(0, (4, 3)), label=f"learned: {beta:.3g}")
    left.set_yscale("log")
    shown = [beta, *(epoch.parameter for epoch in epochs)]
    left.set_ylim(min(min(shown) / 1.2, beta / 2.0), max(1.2 * max(shown), 2.0 * beta))
    left.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    left.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    left.yaxis.set_minor_formatter(NullFormatter())
    left.set_ylabel("beta (log scale)")
    scores, validation = [epoch.score for epoch in epochs], [epoch.validation for epoch in epochs]
    right.plot(number, scores, "o", color=COLOURS[0], markersize=4, alpha=0.7, label="this epoch's run")
    right.step(number, validation, where="post", color=COLOURS[1], linewidth=1.5, label="validation runs")
    right.yaxis.set_major_formatter("{x:,.0f}")
    right.set_ylabel("exploit score of a run")
    for axes in (left, right):
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_steps(left: Axes, right: Axes, info: LearningCurve) -> None:
    """Left: the parameter over the steps. Right: the score of every parameter that was tried."""
    steps = range(1, len(info.steps) + 1)
    candidates = [value for value, _ in info.bracket]
    left.plot(steps, [value for value, _ in info.steps], color=COLOURS[0], marker="o", markersize=3, linewidth=1.5)
    left.axhline(info.value, color="0.4", linewidth=0.9, linestyle=(0, (4, 3)))
    left.annotate(
        f"learned: {info.value:.3g}",
        (1.0, info.value),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 4),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        color="0.35",
    )
    left.set_xlabel("step")
    left.set_ylabel(f"{info.name} (log scale)")
    left.set_yscale("log")
    shown = [*candidates, *(value for value, _ in info.steps)]
    left.set_ylim(min(shown) / 1.15, max(shown) * 1.25)  # room for the words above the line
    left.set_yticks(candidates, [f"{value:g}" for value in candidates])
    left.minorticks_off()
    right.plot(*zip(*info.bracket, strict=True), "s", color=COLOURS[1], label="looked at first", markersize=5)
    right.plot(*zip(*info.steps, strict=True), "o", color=COLOURS[0], label="later steps", markersize=4, alpha=0.7)
    right.axvline(info.value, color="0.4", linewidth=0.9, linestyle=(0, (4, 3)))
    right.set_xscale("log")
    right.set_xticks(candidates, [f"{value:g}" for value in candidates])
    right.minorticks_off()
    right.yaxis.set_major_formatter("{x:,.0f}")
    right.set_xlabel(f"{info.name} (log scale)")
    right.set_ylabel("exploit score of a run")
