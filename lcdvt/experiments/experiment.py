"""The verb `experiment`: the paper's three experiments by name."""

from pathlib import Path
from typing import Any, Literal, overload

from lcdvt.errors import SettingsError
from lcdvt.experiments.digits.runs import DigitsResult
from lcdvt.experiments.moons import MoonsResult
from lcdvt.experiments.stars import StarsResult


@overload
def experiment(name: Literal["moons"], **options: Any) -> MoonsResult: ...
@overload
def experiment(name: Literal["digits"], **options: Any) -> list[DigitsResult]: ...
@overload
def experiment(name: Literal["stars"], **options: Any) -> StarsResult: ...
def experiment(name: str, **options: Any) -> MoonsResult | list[DigitsResult] | StarsResult:
    """Repeat one of the paper's experiments.

    Parameters
    ----------
    name
        "moons" (two synthetic surveys), "digits" (MNIST and USPS) or "stars" (the three published pairs of surveys).
    options
        moons: preset, steps, seeds, noise, device, progress. digits: data (the folder of the digits' files), out,
        target, mode, seeds, jobs and the fields of `lcdvt.experiments.digits.runs.Circumstances`. stars: those of
        `lcdvt.experiments.stars.run_stars`.
    """
    if name == "moons":
        return _moons(**options)
    if name == "digits":
        return _digits(**options)
    if name == "stars":
        from lcdvt.experiments.stars import run_stars

        return run_stars(**options)
    raise SettingsError(f"there is no experiment {name!r}: choose from moons, digits, stars.")


def _moons(
    preset: str = "paper", steps: int | None = None, seeds: int = 5, noise: float = 0.15, **options: Any
) -> MoonsResult:
    from lcdvt.experiments.moons import MoonsRecipe, moons_config, run_moons

    return run_moons(moons_config(preset, steps), range(seeds), recipe=MoonsRecipe(noise=noise), **options)


def _digits(
    data: str | Path,
    out: str | Path = "digits",
    target: str = "all",
    mode: str = "all",
    seeds: int = 3,
    jobs: int | None = None,
    **options: Any,
) -> list[DigitsResult]:
    from lcdvt.experiments.digits.experiment import run_digits
    from lcdvt.experiments.digits.runs import Circumstances

    circumstances = Circumstances(Path(data), Path(out), **options)
    return run_digits(circumstances, target=target, mode=mode, seeds=seeds, jobs=jobs)
