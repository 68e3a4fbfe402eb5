"""The default of `lcdvt transfer` beside what else one could use, on the same label draws of real surveys.

    pip install -c constraints.txt -e ".[peers]"
    python benchmarks/peers.py --data DIR --workspace DIR --json peers.json [--draws 1] [--peers scanvi,skada-coral]

* `feets-boosting`: features of feets 1.0.1 by themselves, then boosting on source and target labels, what an astronomer
  does today. feets takes up to a second a star and band, so that the first run takes hours; its features are kept.
* `light-curve-boosting`: light-curve's extractor (statistics and periodogram of each band), then the same boosting.
* `scanvi`: scANVI of scvi-tools (a variational model with one label prior, made for cells) on our features.
* `skada-…`: CORAL, subspace alignment and linear optimal transport of skada on our features, then boosting; the drawn
  labels of the target count among the source's.

All have the same drawn labels and are scored on the same target stars; `seconds` is processor time of fitting and
predicting, features not counted. `--seed` takes other draws than those of the tables, for development.
"""

import argparse
import json
import os
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from quality import DRAWS, DVT_ENSEMBLE, TABLES, cell_name, ingest_surveys, plan_draws
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier

from lcdvt.baselines.boosting import HistogramBoosting
from lcdvt.baselines.fitting import pooled_imputer
from lcdvt.baselines.problem import TransferProblem
from lcdvt.baselines.weighted import WeightedBothSurveys, WeightedConfig, boosting
from lcdvt.catalogs.survey import Survey
from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.disk.atomic import write_atomically
from lcdvt.dvt.config import preset
from lcdvt.evaluate import score
from lcdvt.features.spec import DEFAULT_FEATURES
from lcdvt.protocol.draw import run_draw, transfer_problem
from lcdvt.protocol.plan import DrawTask
from lcdvt.workspace.survey import open_survey

DEFAULT = "default"
# scANVI's own defaults but for the likelihood, which has to be normal; as many steps as make its loss level.
SCVI_EPOCHS, SCANVI_EPOCHS = 100, 20
FEWEST_EPOCHS = 5
Probabilities = np.ndarray


def fit_boosting(problem: TransferProblem, seed: int) -> Probabilities:
    """Return what boosting on both surveys' labels says of the target."""
    model = WeightedBothSurveys("boosting")
    model.fit(problem, seed)
    return model.predict_proba(problem.target_x)


def fit_scanvi(problem: TransferProblem, seed: int) -> Probabilities:
    """Return what scANVI says of the target: surveys are batches, what was not drawn is unlabelled."""
    import anndata
    import scvi

    scvi.settings.seed = seed
    imputer = pooled_imputer(problem)
    x = imputer.transform(np.concatenate([problem.source_x, problem.target_x])).astype(np.float32)
    x -= x.min(axis=0)  # scVI takes the logarithm of a row's sum for the depth of a cell
    y = np.concatenate([problem.source_y, problem.target_y])
    survey = np.repeat(["source", "target"], [len(problem.source_y), len(problem.target_y)])
    names = np.array([*problem.classes, "unlabelled"])
    table = anndata.AnnData(
        x, obs=pd.DataFrame({"survey": survey, "label": names[y]}, index=np.arange(len(y)).astype(str))
    )
    scvi.model.SCVI.setup_anndata(table, batch_key="survey", labels_key="label")
    base = scvi.model.SCVI(table, gene_likelihood="normal", log_variational=False)
    quiet: dict[str, Any] = {"enable_progress_bar": False, "accelerator": "cpu", "logger": False}
    base.train(max_epochs=SCVI_EPOCHS, **quiet)
    model = scvi.model.SCANVI.from_scvi_model(base, unlabeled_category="unlabelled")
    model.train(max_epochs=SCANVI_EPOCHS, n_samples_per_label=100, **quiet)
    found = model.predict(table, soft=True)
    return found.reindex(columns=list(problem.classes)).to_numpy(dtype=float)[len(problem.source_y) :]


def fit_skada(adapter: str, problem: TransferProblem, seed: int, **settings: float) -> Probabilities:
    """Return what boosting says after an adapter of skada has moved the labelled stars to the target."""
    import skada

    imputer = pooled_imputer(problem)
    source_x, source_y = problem.labelled_source()
    drawn_x, drawn_y = problem.labelled_target()
    labelled = imputer.transform(np.concatenate([source_x, drawn_x]))
    target = imputer.transform(problem.target_x)
    x = np.concatenate([labelled, target])
    y = np.concatenate([source_y, drawn_y, np.full(len(target), UNLABELLED)])
    domain = np.repeat([1, -2], [len(labelled), len(target)])
    pipeline = skada.make_da_pipeline(
        getattr(skada, adapter)(**settings), scikit_learns(boosting(WeightedConfig(), seed))
    )
    pipeline.fit(x, y, sample_domain=domain)
    answer = np.zeros((len(target), len(problem.classes)))
    known = np.unique(y[y != UNLABELLED])
    answer[:, known] = pipeline.predict_proba(target, sample_domain=np.full(len(target), -2))[:, -len(known) :]
    return answer


def scikit_learns(ours: HistogramBoosting) -> HistGradientBoostingClassifier:
    """Return scikit-learn's boosting with the same settings: the same trees, and a pipeline can copy it."""
    return HistGradientBoostingClassifier(early_stopping=False, **vars(ours))


ON_OUR_FEATURES: dict[str, Callable[[TransferProblem, int], Probabilities]] = {
    "scanvi": fit_scanvi,
    "skada-coral": lambda problem, seed: fit_skada("CORALAdapter", problem, seed),
    "skada-subspace": lambda problem, seed: fit_skada("SubspaceAlignmentAdapter", problem, seed),
    # some features are nearly the same, and without this ridge their covariance has no inverse
    "skada-transport": lambda problem, seed: fit_skada("LinearOTMappingAdapter", problem, seed, reg=0.01),
}


def feets_features(epochs: pd.DataFrame, bands: tuple[str, ...]) -> pd.DataFrame:
    """Return all numbers that feets computes of a light curve, of each band; its two pictures are left out."""
    import feets

    space = feets.FeatureSpace(
        data=["time", "magnitude", "error"],
        exclude=["DeltamDeltat", "Signature"],
        dask_options={"scheduler": "synchronous"},
    )

    def describe(time: np.ndarray, mag: np.ndarray, err: np.ndarray) -> dict[str, float]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return dict(space.extract(time=time, magnitude=mag, error=err).as_frame().iloc[0])
            except Exception as error:  # of whatever kind: feets gives up on some curves
                print(f"  feets: {type(error).__name__}: {error}", flush=True)
                return {}

    return _of_each_band(epochs, bands, describe)


def light_curve_features(epochs: pd.DataFrame, bands: tuple[str, ...]) -> pd.DataFrame:
    """Return light-curve's statistics of each band, and its periodogram's first peak."""
    import light_curve

    extractor = light_curve.Extractor(
        light_curve.Amplitude(),
        light_curve.AndersonDarlingNormal(),
        light_curve.BeyondNStd(1),
        light_curve.Cusum(),
        light_curve.EtaE(),
        light_curve.InterPercentileRange(0.25),
        light_curve.Kurtosis(),
        light_curve.LinearTrend(),
        light_curve.MagnitudePercentageRatio(0.4, 0.05),
        light_curve.MaximumSlope(),
        light_curve.MedianAbsoluteDeviation(),
        light_curve.PercentAmplitude(),
        light_curve.ReducedChi2(),
        light_curve.Skew(),
        light_curve.StandardDeviation(),
        light_curve.StetsonK(),
        light_curve.Periodogram(peaks=1),
    )

    def describe(*columns: np.ndarray) -> dict[str, float]:
        return dict(zip(extractor.names, extractor(*columns, sorted=True, check=False, fill_value=np.nan), strict=True))

    return _of_each_band(epochs, bands, describe)


def _of_each_band(
    epochs: pd.DataFrame, bands: tuple[str, ...], describe: Callable[..., dict[str, float]]
) -> pd.DataFrame:
    """Return a row for each star; a feature of the first band ends in _0: surveys name their bands differently."""
    rows: dict[str, dict[str, float]] = {}
    for (star, band), curve in epochs.groupby(["object_id", "band"], sort=False, observed=True):
        row = rows.setdefault(str(star), {})
        curve = curve.drop_duplicates("mjd").sort_values("mjd")
        if len(curve) >= FEWEST_EPOCHS:
            values = describe(*(np.ascontiguousarray(curve[name], dtype=float) for name in ("mjd", "mag", "mag_err")))
            row |= {f"{name}_{bands.index(str(band))}": value for name, value in values.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("object_id").reset_index()


OWN_FEATURES = {"feets-boosting": feets_features, "light-curve-boosting": light_curve_features}
PEERS = (*OWN_FEATURES, *ON_OUR_FEATURES)


def own_features(peer: str, survey: str, workspace: Path) -> pd.DataFrame:
    """Return a peer's features of a survey, kept as Parquet part by part."""
    stored = open_survey(survey, workspace)
    folder = workspace / "peers" / f"{peer}-{survey}"
    folder.mkdir(parents=True, exist_ok=True)
    frames = []
    for number, epochs in enumerate(stored.iter_epochs()):
        stars = epochs["object_id"].astype(str)
        # small pieces, so that an interrupted run has not lost hours
        piece = stars.map(lambda star: zlib.crc32(star.encode()) % 20)
        for part in range(20):
            path = folder / f"part-{number:05d}-{part:02d}.parquet"
            if not path.exists():
                found = OWN_FEATURES[peer](epochs[(piece == part).to_numpy()], stored.survey.bands)
                write_atomically(path, found.to_parquet)
            frames.append(pd.read_parquet(path))
    return pd.concat(frames, ignore_index=True).set_index("object_id")


def in_bands_of(target: Survey, survey: Survey, features: pd.DataFrame) -> pd.DataFrame:
    """Return a survey's features as of the target's bands: for each, those of its own band nearest in wavelength."""
    columns = {}
    for place, wavelength in enumerate(target.wavelengths):
        nearest = int(np.argmin(np.abs(np.subtract(survey.wavelengths, wavelength))))
        for column in features.columns:
            name, _, of_band = column.rpartition("_")
            if int(of_band) == nearest:
                columns[f"{name}_{place}"] = features[column]
    return pd.DataFrame(columns)


def own_problem(peer: str, task: DrawTask, problem: TransferProblem, workspace: Path) -> TransferProblem:
    """Return the same stars and drawn labels with the peer's own features, those that all surveys have."""
    target = open_survey(task.dataset.surveys[-1], workspace).survey
    tables = [
        in_bands_of(target, open_survey(name, workspace).survey, own_features(peer, name, workspace))
        for name in task.dataset.surveys
    ]
    common = [name for name in tables[-1].columns if all(name in table for table in tables)]
    values = [
        table.reindex(task.dataset.object_ids[task.dataset.rows_of(number)])[common].to_numpy(dtype=float)
        for number, table in enumerate(tables)
    ]
    finite = [np.where(np.isfinite(part), part, np.nan) for part in values]
    return TransferProblem(np.concatenate(finite[:-1]), problem.source_y, finite[-1], problem.target_y, problem.classes)


def score_draw(task: DrawTask, peers: tuple[str, ...], workspace: Path) -> dict[str, dict[str, float]]:
    """Return macro F1 (%), calibration error and seconds of the default and of each peer."""
    surveys = task.dataset.survey_rows(task.dataset.fit_scaler(task.scaling), task.drawn)
    problem = transfer_problem(surveys, task.dataset.classes).without_replicates()
    found = {}
    for name in (DEFAULT, *peers):
        given = own_problem(name, task, problem, workspace) if name in OWN_FEATURES else problem
        started = time.process_time()
        if name == DEFAULT:
            probability = run_draw(task).probabilities[DVT_ENSEMBLE]
        else:
            probability = ON_OUR_FEATURES.get(name, fit_boosting)(given, task.seed)
        seconds = time.process_time() - started
        scores = score(task.truth, probability, task.dataset.classes, task.scored)
        found[name] = {
            "macro_f1": 100 * scores.macro_f1, "calibration_error": scores.calibration_error, "seconds": seconds,
        }  # fmt: skip
        print(f"  {name}: {found[name]}", flush=True)
    return found


def main() -> None:
    """Run every draw and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    real_data = os.environ.get("LCDVT_REAL_DATA")
    parser.add_argument("--data", type=Path, default=Path(real_data) / "surveys" if real_data else None)
    parser.add_argument("--workspace", type=Path, default=Path("lcdvt-quality"))
    parser.add_argument("--peers", default=",".join(PEERS), help=f"with commas, from {', '.join(PEERS)}")
    parser.add_argument("--only", default="", help="only tables whose name has this in it")
    parser.add_argument("--quick", action="store_true", help="only the smaller share of labels")
    parser.add_argument("--labels", default="", help="shares of labels, with commas; those of the tables by default")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the first draw; 100 and above for development")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("give --data DIR (one folder per survey), or set LCDVT_REAL_DATA.")
    peers = tuple(arguments.peers.split(","))
    unknown = set(peers) - set(PEERS)
    if unknown:
        parser.error(f"--peers: there is no {', '.join(sorted(unknown))}; choose from {', '.join(PEERS)}.")
    workspace = arguments.workspace / DEFAULT_FEATURES
    if not any(arguments.only in cell_name(*table) for table in TABLES):
        parser.error(f"--only {arguments.only}: no table has this in its name.")
    ingest_surveys(arguments.data, workspace, DEFAULT_FEATURES, arguments.only)
    results: dict[str, dict[str, Any]] = {}
    draws = plan_draws(workspace, arguments, arguments.draws, preset("taught"), arguments.members, (DVT_ENSEMBLE,))
    for cell, _, task in draws:
        print(f"{cell}, seed {task.seed}", flush=True)
        cell_results = results.setdefault(cell, {"calibration_error": {}, "seconds": {}})
        for name, found in score_draw(task, peers, workspace).items():
            cell_results.setdefault(name, []).append(found["macro_f1"])
            for what in ("calibration_error", "seconds"):
                cell_results[what].setdefault(name, []).append(found[what])
        if arguments.json:  # after each draw: a run of hours may be interrupted
            arguments.json.write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")
    table = Table(title=f"macro F1 (%) of {arguments.draws} draws, real stars, seeds from {arguments.seed}")
    for column in ("row", *results):
        table.add_column(column, justify="left" if column == "row" else "right")
    for name in (DEFAULT, *peers):
        cells = [f"{np.mean(found[name]):.1f} ± {np.std(found[name]):.1f}" for found in results.values()]
        table.add_row(name, *cells, style="bold" if name == DEFAULT else "")
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
