"""Simulate light curves and write down what feets 0.4 says of them.

Runs in the environment of requirements.txt, not in the package's own. Curves are rounded before they are measured,
so that the text files hold exactly what feets saw.
"""

import csv
import gzip
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import feets
import numpy as np
from feets import preprocess
from feets.extractors import ext_fourier_components

HERE = Path(__file__).parent
SEED = 20180704
CURVES_PER_CLASS = 4
SECONDS_PER_EXTRACTOR = 60  # Autocor_length never ends on constant magnitudes

Cadence = Callable[[np.random.Generator], np.ndarray]
Curve = tuple[np.ndarray, np.ndarray, np.ndarray]


def macho_cadence(rng: np.random.Generator) -> np.ndarray:
    """Return some 900 nights of 2700, fewer in the southern winter."""
    nights = np.arange(2700)
    observed = rng.random(2700) < 0.34 * (1 + 0.6 * np.cos(2 * np.pi * nights / 365.25))
    return 48800 + nights[observed] + rng.normal(0.6, 0.08, observed.sum())


def eros_cadence(rng: np.random.Generator) -> np.ndarray:
    """Return some 500 nights of 2400, with yearly gaps."""
    nights = np.arange(2400)
    observed = (rng.random(2400) < 0.29) & (nights % 365 < 265)
    return 50300 + nights[observed] + rng.normal(0.65, 0.1, observed.sum())


def hits_cadence(rng: np.random.Generator) -> np.ndarray:
    """Return 28 epochs two hours apart within six nights."""
    visits = [night + 0.05 + 0.083 * visit for night in range(6) for visit in range(5)]
    return 56700 + np.sort(rng.permutation(visits)[:28]) + rng.normal(0, 0.003, 28)


CADENCES: dict[str, tuple[Cadence, float, float]] = {
    "macho": (macho_cadence, -6.5, 0.04),
    "eros": (eros_cadence, 17.5, 0.06),
    "hits": (hits_cadence, 20.5, 0.02),
}


def rr_lyrae(rng: np.random.Generator, time: np.ndarray) -> np.ndarray:
    """Return a sawtooth of half a day."""
    phase = time / rng.uniform(0.3, 0.8) + rng.random()
    return sum(0.35 / k * np.sin(2 * np.pi * k * phase + 0.7 * k) for k in (1, 2, 3, 4))


def cepheid(rng: np.random.Generator, time: np.ndarray) -> np.ndarray:
    """Return a sawtooth of days to weeks."""
    phase = time / np.exp(rng.uniform(np.log(1.5), np.log(30))) + rng.random()
    return sum(0.3 / k**1.5 * np.sin(2 * np.pi * k * phase + 0.5 * k) for k in (1, 2, 3))


def eclipsing_binary(rng: np.random.Generator, time: np.ndarray) -> np.ndarray:
    """Return two unequal minima."""
    phase = (time / np.exp(rng.uniform(np.log(0.5), np.log(6))) + rng.random()) % 1
    width = rng.uniform(0.03, 0.09)
    second = rng.uniform(0.2, 0.6)
    return 0.7 * np.exp(-0.5 * ((phase - 0.5) / width) ** 2) + second * np.exp(
        -0.5 * (((phase + 0.5) % 1 - 0.5) / width) ** 2
    )


def long_period(rng: np.random.Generator, time: np.ndarray) -> np.ndarray:
    """Return a slow wave with a long secondary period."""
    period = rng.uniform(80, 450)
    return 0.5 * np.sin(2 * np.pi * time / period) + 0.2 * np.sin(2 * np.pi * time / (8.3 * period))


def quasar(rng: np.random.Generator, time: np.ndarray) -> np.ndarray:
    """Return a damped random walk."""
    tau, spread = rng.uniform(50, 400), 0.25
    value = rng.normal(0, spread)
    values = [value]
    for gap in np.diff(time):
        decay = np.exp(-gap / tau)
        value = value * decay + rng.normal(0, spread * np.sqrt(1 - decay**2))
        values.append(value)
    return np.array(values)


CLASSES = {"RRLYR": rr_lyrae, "CEP": cepheid, "EB": eclipsing_binary, "LPV": long_period, "QSO": quasar}


def observe(rng: np.random.Generator, time: np.ndarray, shape: np.ndarray, mean: float, error: float) -> Curve:
    """Add noise, and round as a survey's files are rounded."""
    err = np.round(error * rng.lognormal(0, 0.35, len(time)), 4) + 1e-4
    return np.round(time, 5), np.round(mean + shape + rng.normal(0, err), 4), np.round(err, 4)


def regular_curves() -> Iterator[tuple[str, Curve, Curve | None]]:
    """Yield curves of five classes and three cadences; the first two of each class also in a second band."""
    for row, (survey, (cadence, mean, error)) in enumerate(CADENCES.items()):
        for column, (label, shape_of) in enumerate(CLASSES.items()):
            for number in range(CURVES_PER_CLASS):
                rng = np.random.default_rng([SEED, row, column, number])
                time = cadence(rng)
                shape = shape_of(rng, time)
                first = observe(rng, time, shape, mean, error)
                second = None
                if number < 2:
                    kept = rng.random(len(time)) < 0.9
                    second = observe(rng, time[kept], 0.8 * shape[kept], mean - 0.6, 0.8 * error)
                yield f"{survey}-{label}-{number}", first, second


def awkward_curves() -> Iterator[tuple[str, Curve, Curve | None]]:
    """Yield short, flat, quantised, regular and spoilt curves."""
    rng = np.random.default_rng([SEED, 99])
    for epochs in (12, 16, 20, 21, 33):
        time = np.sort(rng.uniform(50000, 50040, epochs))
        yield f"short-{epochs}", observe(rng, time, rr_lyrae(rng, time), 18.0, 0.03), None
    time = eros_cadence(rng)
    flat = observe(rng, time, np.zeros(len(time)), 18.0, 0.05)
    yield "noise-only", flat, None
    yield "quantised", (flat[0], np.round(flat[1], 1), flat[2]), None
    spoilt = flat[1].copy()
    spoilt[[17, 101]] += (4.5, -6.0)
    yield "outliers", (flat[0], spoilt, flat[2]), None
    huge = flat[2].copy()
    huge[[3, 44, 200]] = (115.0, 9.8, 9.999)
    yield "huge-errors", (flat[0], flat[1], huge), None
    yield "trend", observe(rng, time, 0.0005 * (time - time[0]), 16.0, 0.01), None
    dense = 56000 + np.arange(200) * 0.0204
    yield "dense-regular", observe(rng, dense, cepheid(rng, dense * 20), 12.0, 0.003), None


class OutOfTimeError(Exception):
    """An extractor did not end."""


def _stop(signal_number: int, frame: object) -> NoReturn:
    raise OutOfTimeError


def measure(curve: Curve, second: Curve | None) -> dict[str, float]:
    """Return feets' values; an extractor that fails or never ends leaves its features out."""
    time, mag, err = curve
    data = {"time": time, "magnitude": mag, "error": err}
    if second is not None:
        aligned = preprocess.align(time, second[0], mag, second[1], err, second[2])
        names = ("aligned_time", "aligned_magnitude", "aligned_magnitude2", "aligned_error", "aligned_error2")
        data |= {"magnitude2": second[1], **dict(zip(names, aligned, strict=True))}
    values: dict[str, float] = {}
    frequencies: list[float] = []
    periodogram = ext_fourier_components.lscargle

    def remember(*args: object, **kwargs: object) -> object:
        frequency, power, highest = periodogram(*args, **kwargs)
        frequencies.append(frequency[highest])
        return frequency, power, highest

    ext_fourier_components.lscargle = remember
    for extractor in sorted(set(feets.registered_extractors().values()), key=lambda cls: cls.__name__):
        if not set(extractor.get_data()) <= set(data):
            continue
        signal.alarm(SECONDS_PER_EXTRACTOR)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                space = feets.FeatureSpace(only=sorted(extractor.get_features()))
                values |= dict(zip(*space.extract(**data), strict=True))
        except (OutOfTimeError, IndexError, ValueError, RuntimeError) as error:
            print(f"  {extractor.__name__}: {type(error).__name__} {error}")
        finally:
            signal.alarm(0)
    ext_fourier_components.lscargle = periodogram
    return values | {f"frequency_{i + 1}": value for i, value in enumerate(frequencies)}


def main() -> None:
    """Write curves.csv.gz and values.csv beside this file."""
    signal.signal(signal.SIGALRM, _stop)
    with gzip.GzipFile(HERE / "curves.csv.gz", "wb", mtime=0) as packed, (HERE / "values.csv").open("w") as table:
        table.write("curve,feature,value\n")
        packed.write(b"curve,band,mjd,mag,mag_err\n")
        for name, first, second in (*regular_curves(), *awkward_curves()):
            print(name, len(first[0]), flush=True)
            for band, curve in (("b", first), ("r", second)):
                for time, mag, err in zip(*curve, strict=True) if curve is not None else ():
                    packed.write(f"{name},{band},{time:.5f},{mag:.4f},{err:.4f}\n".encode())
            rows = csv.writer(table, lineterminator="\n")
            for feature, value in sorted(measure(first, second).items()):
                rows.writerow((name, feature, repr(float(value))))


if __name__ == "__main__":
    main()
