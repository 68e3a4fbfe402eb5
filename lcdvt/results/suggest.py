"""The verb `suggest`: which stars to label next, so that the next run gains the most from each label."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds
from numpy.typing import NDArray

from lcdvt.disk.atomic import write_atomically
from lcdvt.disk.star_table import check_table_path, write_stars
from lcdvt.errors import SettingsError, WorkspaceError, first_line, whole_number
from lcdvt.names import DEC, DISAGREEMENT, ENTROPY, IN_DRAW, LABEL, OBJECT_ID, PREDICTED, RA, probability_column
from lcdvt.results.folder import PREDICTIONS_FILE, find_run
from lcdvt.results.saved import SavedRun, load_run
from lcdvt.results.suggest_rule import Opinions, Query, choose_stars
from lcdvt.workspace.answers import AnswerLog, stored_answers
from lcdvt.workspace.folder import PARTS, read_part
from lcdvt.workspace.survey import StoredSurvey, open_survey

HAS_LABEL: Final = "has_label"


@dataclass(frozen=True)
class SuggestResult:
    """The stars to label next.

    Parameters
    ----------
    run, survey, seed
        Which run was asked, about which survey, and the seed of its samples.
    left
        How many stars could have been asked for.
    stars
        The most useful first: id, position, best and second class with their probabilities, those of all classes,
        entropy, disagreement, doubt, how many stars are alike, whether the workspace has a label of it, and why.
    path
        Where the table was written, if it was.
    simulated
        Whether the simulator made any of the run's surveys.
    answered
        How many stars people have looked at already (`lcdvt label`); none of them is suggested.
    """

    run: str
    survey: str
    seed: int
    left: int
    stars: pd.DataFrame
    path: Path | None
    simulated: bool
    answered: int = 0

    @property
    def with_label(self) -> int:
        """How many of the stars have a label in the workspace that the run has not learned from."""
        return int(self.stars[HAS_LABEL].sum())

    def to_record(self) -> dict[str, Any]:
        """Return all of it for JSON; null where a position is not known."""
        stars = self.stars.astype(object).where(self.stars.notna(), None).to_dict(orient="records")
        about: dict[str, Any] = {"run": self.run, "survey": self.survey, "seed": self.seed, "left": self.left}
        about["answered"] = self.answered
        return {**about, "simulated": self.simulated, "path": str(self.path) if self.path else None, "stars": stars}


def suggest(
    run: str | Path,
    n: int = 20,
    *,
    per_class: bool = False,
    unlabelled: bool = False,
    fewer: bool = False,
    out: str | Path | None = None,
    seed: int = 0,
    data: str | Path | None = None,
    force: bool = False,
) -> SuggestResult:
    """Choose the target stars whose labels would help a run most: in doubt, typical of the doubtful, no two alike.

    A star whose label the run has learned from is never suggested, nor one that somebody has looked at already (the
    workspace's answers), nor one that is known to be of a class which the run does not tell apart.
    `lcdvt.results.suggest_rule` states the rule.

    Parameters
    ----------
    run
        A transfer's name in the workspace, or its folder.
    n
        How many stars.
    per_class
        So many of each predicted class, instead of altogether.
    unlabelled
        Leave out stars that have a label in the workspace, which the run may have held back to be scored on.
    fewer
        Return fewer stars where fewer are left, instead of refusing.
    out
        Where to write the stars: .parquet, .csv, .fits or .vot; None for nowhere.
    seed
        The random seed of the samples that stand for a large survey.
    data, force
        The workspace, and whether to overwrite `out`.
    """
    n, seed = whole_number("n", n), whole_number("seed", seed)
    if n < 1 or seed < 0:
        raise SettingsError(f"n={n} seed={seed}: ask for at least one star, with a seed of 0 or more.")
    path = None if out is None else Path(out)
    if path is not None:
        check_table_path(path, force)
    folder = find_run(run, data)
    saved = load_run(folder)
    surveys, classes = saved.description.surveys, saved.description.classes
    if len(surveys) < 2:
        raise SettingsError(
            f"the run {folder.name} knows {surveys[0]} alone (`lcdvt train` made it): suggestions are for the target "
            "of a transfer; make one with `lcdvt transfer --source … --target …`."
        )
    stored = open_survey(surveys[-1], data)
    predictions = _read_predictions(folder / PREDICTIONS_FILE, classes)
    labels = read_part(stored.folder.objects, [OBJECT_ID, LABEL]).to_pandas().set_index(OBJECT_ID)[LABEL]
    predictions[LABEL] = labels.reindex(predictions[OBJECT_ID]).to_numpy(dtype=object)
    answers = stored_answers(stored.name, data)
    opinions = _opinions(predictions, classes, unlabelled, answers)
    if not fewer:
        _check_left(opinions, classes, n, per_class)
    n = min(n, max(int(opinions.free.sum()), 1)) if fewer else n

    def features_of(rows: NDArray[np.int64]) -> NDArray[np.floating]:
        return _scaled_features(saved, stored, predictions[OBJECT_ID].to_numpy(dtype=object)[rows])

    chosen = choose_stars(opinions, features_of, n, per_class=per_class, seed=seed)
    if not fewer and len(chosen) < n * (len(classes) if per_class else 1):
        raise SettingsError(f"n={n}: only {len(chosen)} stars outside the run's labels have features; ask for fewer.")
    stars = _describe(chosen, predictions, opinions, classes, _positions(stored, predictions, chosen))
    if path is not None:
        write_atomically(path, lambda unfinished: write_stars(iter([stars]), unfinished, path.suffix))
    simulated = stored.is_simulated or bool(saved.metrics.get("simulated"))
    left, answered = int(opinions.free.sum()), len(answers.verdicts())
    return SuggestResult(folder.name, stored.name, seed, left, stars, path, simulated, answered)


def _read_predictions(path: Path, classes: tuple[str, ...]) -> pd.DataFrame:
    columns = [OBJECT_ID, IN_DRAW, ENTROPY, DISAGREEMENT, *map(probability_column, classes)]
    try:
        return pds.dataset(path, format="parquet").to_table(columns=columns).to_pandas()
    except (OSError, pa.ArrowException) as error:
        reason = first_line(error)
        raise WorkspaceError(f"{path}: the predictions cannot be read ({reason}); make the run again.") from error


def _opinions(predictions: pd.DataFrame, classes: tuple[str, ...], unlabelled: bool, answers: AnswerLog) -> Opinions:
    # an answer speaks for the stars like it, also before the run is made again with it
    labelled = predictions[IN_DRAW].to_numpy(dtype=bool) | predictions[OBJECT_ID].isin(answers.labels()).to_numpy()
    looked_at = predictions[OBJECT_ID].isin(answers.verdicts()).to_numpy()
    label = predictions[LABEL]
    useless = label.notna() if unlabelled else label.notna() & ~label.isin(classes)
    return Opinions(
        probability=predictions[[probability_column(name) for name in classes]].to_numpy(dtype=float),
        disagreement=predictions[DISAGREEMENT].to_numpy(dtype=float),
        labelled=labelled,
        free=~labelled & ~looked_at & ~useless.to_numpy(dtype=bool),
    )


def _check_left(opinions: Opinions, classes: tuple[str, ...], n: int, per_class: bool) -> None:
    left = int(opinions.free.sum())
    if not per_class and n > left:
        raise SettingsError(f"n={n}: {left} stars are left to ask for outside the run's labels; ask for fewer.")
    counts = np.bincount(opinions.predicted[opinions.free], minlength=len(classes))
    if per_class and n > counts.min():
        raise SettingsError(
            f"n={n} per_class=True: {counts.min()} stars predicted as {classes[counts.argmin()]} are left to ask for; "
            "ask for fewer, or leave per_class=True out."
        )


def _scaled_features(saved: SavedRun, stored: StoredSurvey, ids: NDArray[np.object_]) -> NDArray[np.floating]:
    """Return the features of some stars as the run sees them; only these are kept in memory."""
    parts = sorted(stored.folder.features.glob(PARTS))
    if not parts:
        raise SettingsError(f"survey {stored.name!r} has no features: run `lcdvt extract {stored.name}`.")
    found = pds.dataset([str(part) for part in parts]).to_table(filter=_is_one_of(ids))
    aligned = saved.aligned(found.to_pandas(), stored.survey.bands, stored.survey.wavelengths).set_index(OBJECT_ID)
    gone = [name for name in ids if name not in aligned.index]
    if gone:
        raise SettingsError(
            f"{len(gone)} stars of the run are no longer in survey {stored.name!r} ({gone[0]}, …): ingest what it was "
            "made of, or make the run again."
        )
    scaled, _ = saved.scaled(aligned.reindex(index=ids), len(saved.description.surveys) - 1)
    return scaled


def _positions(stored: StoredSurvey, predictions: pd.DataFrame, chosen: list[Query]) -> pd.DataFrame:
    ids = predictions[OBJECT_ID].iloc[[query.row for query in chosen]]
    place = pds.dataset(stored.folder.objects)
    found = place.to_table(columns=[OBJECT_ID, RA, DEC], filter=_is_one_of(ids.to_numpy(dtype=object))).to_pandas()
    return found.set_index(OBJECT_ID).reindex(ids)


def _is_one_of(ids: NDArray[np.object_]) -> pc.Expression:
    # none at all are of no type by themselves
    return pc.field(OBJECT_ID).isin(pa.array(ids.tolist(), pa.string()))


def _describe(
    chosen: list[Query],
    predictions: pd.DataFrame,
    opinions: Opinions,
    classes: tuple[str, ...],
    positions: pd.DataFrame,
) -> pd.DataFrame:
    rows = [query.row for query in chosen]
    asked = predictions.iloc[rows]
    names = np.array(classes, dtype=object)
    probability = opinions.probability[rows]
    order = np.argsort(-probability, axis=1, kind="stable")
    best, second = order[:, 0], order[:, 1]
    each = np.arange(len(rows))
    return pd.DataFrame(
        {
            OBJECT_ID: asked[OBJECT_ID].to_numpy(dtype=object),
            RA: positions[RA].to_numpy(dtype=float),
            DEC: positions[DEC].to_numpy(dtype=float),
            PREDICTED: names[best],
            "probability": probability[each, best],
            "second": names[second],
            "second_probability": probability[each, second],
            **{probability_column(name): probability[:, number] for number, name in enumerate(classes)},
            ENTROPY: asked[ENTROPY].to_numpy(dtype=float),
            DISAGREEMENT: asked[DISAGREEMENT].to_numpy(dtype=float),
            "doubt": [query.doubt for query in chosen],
            "alike": [query.alike for query in chosen],
            HAS_LABEL: asked[LABEL].notna().to_numpy(dtype=bool),
            "why": [_why(query, share) for query, share in zip(chosen, asked[DISAGREEMENT], strict=True)],
        }
    )


def _why(query: Query, disagreement: float) -> str:
    members = "members agree" if disagreement == 0 else f"{disagreement:.0%} of members disagree"
    alike = f"{query.alike} stars alike" if query.alike != 1 else "1 star alike"
    return f"doubt {query.doubt:.2f}, {members}, {alike}"
