"""A learned policy in words, as JSON and on disk with its figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from goodarm.errors import InvalidValue
from goodarm.learning.gain import Gain
from goodarm.learning.train import LearnedPolicy
from goodarm.report import learning_curve
from goodarm.report.drawing import save
from goodarm.report.numbers import counted, percent, short
from goodarm.whole_files import explained, whole


def check_file(path: Path) -> None:
    """Refuse a file that can't be written, before learning."""
    if path.suffix != ".json":
        raise InvalidValue(
            f"`out` must end in .json, since that is how a policy file is recognised; got {str(path)!r}."
        )
    if not path.parent.is_dir():
        raise InvalidValue(f"the folder of `out` does not exist: {path.parent}. Make it first.")
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
        drawn = learning_curve.draw(learned)
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
    verdict = "gains" if low > 0.0 else "loses" if high < 0.0 else "no gain beyond chance"
    words = f"over {gain.over} it {verdict}"
    if low > 0.0 or high < 0.0:
        words += f" {percent(abs(gain.share))}" if gain.other > 0.0 else f" {short(abs(gain.difference.mean), 3)}"
    return (
        f"{words}: exploit score {short(gain.score)} against {short(gain.other)}, difference "
        f"{short(gain.difference.mean, 3)} ({interval}; {gain.difference.runs} fresh runs)"
    )
