"""How fast are the features? Against feets and light-curve, one process, the same curves, kernels warm.

    python benchmarks/features.py [--curves N] [--json FILE]
    python benchmarks/features.py --scaling
    python benchmarks/features.py --many-bands [--json FILE]
    python benchmarks/features.py --period [--json FILE]

The curves are the golden ones of tests/features/golden: MACHO (~900 epochs), EROS (~500), HiTS (28). Ratios compare
the fastest of several rounds of each. Compile time (first call without the cache on disk) is not part of them.

`--many-bands` compares simulated LSST stars (six bands, one year and ten) with the same epochs put into one band, all
features and the period. `--period` compares all features with the period to the FATS set alone, on simulated stars of
EROS, MACHO and HiTS; it is part of the first comparison, too.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

# Before numpy and its libraries: one process means one thread.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import light_curve
import numpy as np
import pandas as pd
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import lcdvt
from lcdvt.features import FeatureConfig, extract_table
from lcdvt.features.config import DEFAULT_MINIMUM_EPOCHS
from lcdvt.features.fast import SINGLE_BAND_FAMILIES, single_band
from lcdvt.features.gate import Curves, gate
from lcdvt.features.table import FEATURES, SINGLE_BAND
from lcdvt.parallel.executors import Workers, run_batches

GOLDEN_CURVES = Path(__file__).parent.parent / "tests/features/golden/curves.csv.gz"
SURVEYS = ("macho", "eros", "hits")
BAND = "b"
FAST_ROUNDS = 5
LEAST_SECONDS = 2.0  # five rounds of HiTS' curves are over in one slow moment of the machine
FEETS_ROUNDS = 2  # each takes minutes
MANY_BANDS_ROUNDS = 3
MANY_BANDS_STARS = 40
PERIOD_STARS, SPREAD = 40, 3
PERIOD_SECONDS = 15.0  # with a third of it the same code varied by a tenth from run to run
COPIES_FOR_LIGHT_CURVE = 40
SCALING_STEPS = (1_000, 5_000, 20_000)
CURVES_FOR_TWO_PROCESSES = 4_800
OBJECTS_PER_BATCH = 200

LIGHT_CURVE_FEATURES = {
    "Mean": light_curve.Mean(),
    "Std": light_curve.StandardDeviation(),
    "Meanvariance": light_curve.MeanVariance(),
    "Skew": light_curve.Skew(),
    "SmallKurtosis": light_curve.Kurtosis(),
    "LinearTrend": light_curve.LinearTrend(),
    "MaxSlope": light_curve.MaximumSlope(),
    "Amplitude": light_curve.Amplitude(),
    "FluxPercentileRatioMid20": light_curve.MagnitudePercentageRatio(0.4, 0.05),
    "FluxPercentileRatioMid35": light_curve.MagnitudePercentageRatio(0.325, 0.05),
    "FluxPercentileRatioMid50": light_curve.MagnitudePercentageRatio(0.25, 0.05),
    "FluxPercentileRatioMid65": light_curve.MagnitudePercentageRatio(0.175, 0.05),
    "FluxPercentileRatioMid80": light_curve.MagnitudePercentageRatio(0.1, 0.05),
    "MedianAbsDev": light_curve.MedianAbsoluteDeviation(),
    "MedianBRP": light_curve.MedianBufferRangePercentage(0.2),
    "PercentAmplitude": light_curve.PercentAmplitude(),
    "PercentDifferenceFluxPercentile": light_curve.PercentDifferenceMagnitudePercentile(0.05),
    "Q31": light_curve.InterPercentileRange(0.25),
    "AndersonDarling": light_curve.AndersonDarlingNormal(),
    "Beyond1Std": light_curve.BeyondNStd(1.0),
    "Eta_e": light_curve.EtaE(),
    "Rcs": light_curve.Cusum(),
    "StetsonK": light_curve.StetsonK(),
}


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the fastest of several rounds, of as many more as fit into the least time that is measured."""
    fastest, done, begun = float("inf"), 0, time.perf_counter()
    while done < rounds or time.perf_counter() - begun < LEAST_SECONDS:
        started = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - started)
        done += 1
    return fastest


def cpu_seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the least processor time of several rounds, whatever else the machine does."""
    fastest = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        work()
        fastest = min(fastest, time.process_time() - started)
    return fastest


def load(survey: str, number: int) -> pd.DataFrame:
    """Return the epochs of a survey's golden curves, the classes in turn."""
    epochs = pd.read_csv(GOLDEN_CURVES)
    epochs = epochs[epochs["curve"].str.startswith(survey) & (epochs["band"] == BAND)]
    by_turn = sorted(epochs["curve"].unique(), key=lambda name: name.rsplit("-", 1)[1])
    return epochs[epochs["curve"].isin(by_turn[:number])].rename(columns={"curve": "object_id"})


def gated(epochs: pd.DataFrame, copies: int = 1) -> Curves:
    """Return the curves as the kernels get them."""
    lengths = np.tile(epochs.groupby("object_id", sort=False).size().to_numpy(), copies)
    mjd, mag, err = (np.tile(epochs[name].to_numpy(), copies) for name in ("mjd", "mag", "mag_err"))
    return gate(mjd, mag, err, np.concatenate(([0], np.cumsum(lengths))), DEFAULT_MINIMUM_EPOCHS).curves


def feets_seconds(epochs: pd.DataFrame) -> float:
    """Time the installed feets on its counterparts of the single-band FATS set."""
    import feets

    from lcdvt.features.feets.engine import NATIVE

    counterparts = {native.feature for name, native in NATIVE.items() if FEATURES[name].bands_needed == SINGLE_BAND}
    counterparts |= {"Period_fit", "PercentageRatio", "PercentDiffPercentile"}
    counterparts |= {name for name in FEATURES if name.startswith("Freq")}
    space = feets.FeatureSpace(only=sorted(counterparts), dask_options={"scheduler": "synchronous"})
    curves = [
        {"time": curve["mjd"].to_numpy(), "magnitude": curve["mag"].to_numpy(), "error": curve["mag_err"].to_numpy()}
        for _, curve in epochs.groupby("object_id", sort=False)
    ]
    space.extract(**curves[0])

    def run() -> None:
        for curve in curves:
            space.extract(**curve)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return seconds(run, FEETS_ROUNDS)


def fats_seconds(epochs: pd.DataFrame) -> float:
    """Time the whole single-band FATS set from Arrow table to Arrow table."""
    table = pa.Table.from_pandas(epochs, preserve_index=False)
    config = FeatureConfig(bands=(BAND,), features="fats")
    extract_table(table, config)
    return seconds(lambda: extract_table(table, config), FAST_ROUNDS)


def light_curve_seconds(epochs: pd.DataFrame) -> tuple[float, float]:
    """Time the features that light-curve has too, ours and theirs."""
    curves = gated(epochs, COPIES_FOR_LIGHT_CURVE)
    pieces = [(curves.time[a:b], curves.mag[a:b], curves.err[a:b]) for a, b in pairwise(curves.offsets)]
    theirs = light_curve.Extractor(*LIGHT_CURVE_FEATURES.values())
    names = tuple(LIGHT_CURVE_FEATURES)
    single_band(curves, names)
    return (
        seconds(lambda: single_band(curves, names), FAST_ROUNDS),
        seconds(lambda: theirs.many(pieces, sorted=True, check=False, n_jobs=1), FAST_ROUNDS),
    )


def compile_seconds() -> tuple[float, float]:
    """Return how long a first call takes without and with the compiled kernels on disk."""
    code = (
        "import time, numpy as np, pyarrow as pa; started = time.perf_counter();"
        "from lcdvt.features import FeatureConfig, extract_table;"
        "n = 100; t = np.arange(n, dtype=float);"
        "e = pa.table({'object_id': ['a'] * n, 'band': ['b'] * n, 'mjd': t, 'mag': np.sin(t), 'mag_err': t * 0 + 0.1});"
        "extract_table(e, FeatureConfig(bands=('b',))); print(time.perf_counter() - started)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        runs = [
            subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
    return float(runs[0].stdout), float(runs[1].stdout)


def compare(number: int, console: Console) -> dict[str, object]:
    """Print the comparison and return what the JSON file holds."""
    ratios: dict[str, float] = {}
    against_light_curve = []
    table = Table("cadence", "curves", "epochs", "ours ms", "feets ms", "ratio", "shared ours µs", "light-curve µs")
    families = Table("family, ms per curve", *SURVEYS)
    per_family: dict[str, list[str]] = {family: [] for family in SINGLE_BAND_FAMILIES}
    for survey in SURVEYS:
        epochs = load(survey, number)
        curves = epochs["object_id"].nunique()
        ours, feets_time = fats_seconds(epochs), feets_seconds(epochs)
        ratios[survey] = feets_time / ours
        shared, theirs = light_curve_seconds(epochs)
        against_light_curve.append(shared / theirs)
        times = curves * COPIES_FOR_LIGHT_CURVE
        table.add_row(
            survey,
            str(curves),
            f"{len(epochs) / curves:.0f}",
            f"{1e3 * ours / curves:.2f}",
            f"{1e3 * feets_time / curves:.0f}",
            f"{ratios[survey]:.0f}",
            f"{1e6 * shared / times:.1f}",
            f"{1e6 * theirs / times:.1f}",
        )
        prepared = gated(epochs)
        for family, (_, compute) in SINGLE_BAND_FAMILIES.items():
            taken = seconds(partial(compute, prepared), FAST_ROUNDS)
            per_family[family].append(f"{1e3 * taken / curves:.3f}")
    for family, row in per_family.items():
        families.add_row(family, *row)
    console.print(table, families)
    cold, cached = compile_seconds()
    console.print(f"first call: {cold:.1f} s to import and compile everything, {cached:.1f} s from the cache on disk")
    return {
        "ratio_vs_feets": ratios,
        "ratio_vs_light_curve": max(against_light_curve),
        "period_over_fats": {survey: period_over_fats(survey, console) for survey in SURVEYS},
    }


def period_over_fats(survey: str, console: Console) -> float:
    """Return what all features with the period cost, relative to the FATS set alone, on simulated stars."""
    with tempfile.TemporaryDirectory() as folder:
        raw, workspace = Path(folder) / survey, Path(folder) / "workspace"
        # of MACHO's fields some were seen three times as often as others, and neighbours in a field are alike
        lcdvt.simulate(survey, raw, objects=SPREAD * PERIOD_STARS)
        lcdvt.ingest(raw, data=workspace, features="none", jobs=1)
        stored = lcdvt.open_survey(survey, data=workspace)
        epochs = pd.concat(stored.iter_epochs()).astype({"band": str})
        epochs = epochs[epochs["object_id"].isin(epochs["object_id"].unique()[::SPREAD])]
        described = stored.survey
    table = pa.Table.from_pandas(epochs, preserve_index=False)
    asked = [
        FeatureConfig(bands=described.bands, features=features, period_range=period_range)
        for features, period_range in (("fats", None), ("all", described.period_range))
    ]
    for config in asked:
        extract_table(table, config)
    rounds: list[list[float]] = []
    while len(rounds) < FAST_ROUNDS or np.sum(rounds) < PERIOD_SECONDS:
        # in turn, so that a slow moment of the machine meets both
        rounds.append([cpu_seconds(partial(extract_table, table, config), 1) for config in asked])
    costs = np.min(rounds, axis=0) / PERIOD_STARS
    console.print(
        f"simulated {survey}, {len(epochs) / PERIOD_STARS:.0f} epochs a star: FATS {1e3 * costs[0]:.1f} ms, all with "
        f"the period {1e3 * costs[1]:.1f} ms, {costs[1] / costs[0]:.2f} times (processor time, seed 0)"
    )
    return costs[1] / costs[0]


def lsst_over_one_band(years: int, stars: int, console: Console) -> float:
    """Return what six bands cost, relative to as many epochs in one band, on simulated stars."""
    with tempfile.TemporaryDirectory() as folder:
        raw, workspace = Path(folder) / "lsst", Path(folder) / "workspace"
        lcdvt.simulate("lsst", raw, objects=stars, years=years)
        lcdvt.ingest(raw, data=workspace, features="none", jobs=1)
        survey = lcdvt.open_survey("lsst", data=workspace)
        six = pd.concat(survey.iter_epochs()).astype({"band": str})
        described = survey.survey
    # Bands on top of each other, so that the star varies as it does.
    one = six.assign(mag=six["mag"] - six.groupby(["object_id", "band"])["mag"].transform("median"), band="r")
    one = one.sort_values(["object_id", "mjd"], kind="stable")
    costs = []
    for epochs, bands in ((six, described.bands), (one, ("r",))):
        table = pa.Table.from_pandas(epochs, preserve_index=False)
        config = FeatureConfig(bands=bands, period_range=described.period_range)
        extract_table(table, config)
        costs.append(cpu_seconds(partial(extract_table, table, config), MANY_BANDS_ROUNDS) / stars)
    epochs_each = len(six) / stars
    console.print(
        f"simulated LSST, {years} years, {epochs_each:.0f} epochs a star: six bands {1e3 * costs[0]:.1f} ms, "
        f"one band {1e3 * costs[1]:.1f} ms, {costs[0] / costs[1]:.2f} times (processor time, seed 0)"
    )
    return costs[0] / costs[1]


def batches(epochs: pd.DataFrame, objects: int) -> Iterator[pa.Table]:
    """Yield batches of copies of the curves under new names, made as they are asked for."""
    curves = [curve for _, curve in epochs.groupby("object_id", sort=False)]
    for first in range(0, objects, OBJECTS_PER_BATCH):
        numbers = range(first, min(first + OBJECTS_PER_BATCH, objects))
        parts = [curves[number % len(curves)].assign(object_id=f"{number:08d}") for number in numbers]
        yield pa.Table.from_pandas(pd.concat(parts), preserve_index=False)


def scaling(console: Console) -> None:
    """Print cost and peak memory against the number of curves, and what a second process brings."""
    work = partial(extract_table, config=FeatureConfig(bands=(BAND,)))
    epochs = load("hits", 20)
    table = Table("curves", "s", "ms per curve", "peak MB", title="one process, HiTS curves")
    for objects in SCALING_STEPS:
        started = time.perf_counter()
        for _ in run_batches(work, batches(epochs, objects), Workers(1)):
            pass
        taken = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        table.add_row(str(objects), f"{taken:.1f}", f"{1e3 * taken / objects:.2f}", f"{peak:.0f}")
    console.print(table)
    epochs = load("macho", 20)
    made = list(batches(epochs, CURVES_FOR_TWO_PROCESSES))
    one = seconds(lambda: list(run_batches(work, made, Workers(1))), 1)
    two = seconds(lambda: list(run_batches(work, made, Workers(2))), 1)
    console.print(f"{CURVES_FOR_TWO_PROCESSES} MACHO curves: one process {one:.1f} s, two processes {two:.1f} s")
    console.print(f"two processes are {one / two:.2f} times as fast")


def main() -> None:
    """Parse the options and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=int, default=5, help="curves per cadence, at most 20")
    parser.add_argument("--json", type=Path, help="write the ratios here")
    parser.add_argument("--scaling", action="store_true", help="instead, time 1,000 to 20,000 curves and two processes")
    parser.add_argument("--many-bands", action="store_true", help="instead, time six bands against one")
    parser.add_argument("--period", action="store_true", help="instead, only what the period costs beside FATS")
    options = parser.parse_args()
    console = Console(width=120)
    if options.scaling:
        # Alone: the peak memory of a process never falls, and feets' would hide ours.
        scaling(console)
        return
    if options.many_bands:
        ratios = {str(years): lsst_over_one_band(years, MANY_BANDS_STARS, console) for years in (1, 10)}
        result: dict[str, object] = {"lsst_over_one_band": ratios}
    elif options.period:
        result = {"period_over_fats": {survey: period_over_fats(survey, console) for survey in SURVEYS}}
    else:
        result = compare(options.curves, console)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
