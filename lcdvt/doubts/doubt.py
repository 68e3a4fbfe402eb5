"""The verb `doubt`: labels of a survey, ranked by how much the light curves contradict them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lcdvt.dataset.dataset import UNLABELLED
from lcdvt.disk.atomic import write_atomically, write_text
from lcdvt.disk.star_table import check_table_path, write_stars
from lcdvt.doubts.confident_learning import judge
from lcdvt.doubts.neighbours import SEPARATOR, nearest_labelled
from lcdvt.doubts.opinions import mean_opinion, opinion_by_transfer, opinion_of_run, opinion_within
from lcdvt.doubts.page import doubt_page
from lcdvt.doubts.subject import Subject, Way, find_subject
from lcdvt.errors import DatasetError, SettingsError, whole_number
from lcdvt.names import DEC, LABEL, OBJECT_ID, RA, probability_column
from lcdvt.parallel.progress import Progress, silent
from lcdvt.results.folder import read_metrics

PAGE_SUFFIXES: Final = (".html", ".htm")


@dataclass(frozen=True)
class DoubtResult:
    """The labels that are most in doubt.

    Parameters
    ----------
    survey, run
        Whose labels were judged, and the run that was asked, if any.
    sources
        The surveys that judged by transfer.
    ways
        `within`, `transfer`, or both.
    seed
        The random seed of folds and models.
    judged, contradicted
        How many labels could be judged, and how many of all these the light curves contradict.
    left_out
        Classes whose labels could not be judged.
    stars
        The most doubtful first: id, position, label, suggested class, probabilities of both, score, whether the label
        counts as contradicted, the label's probability in each way, the probabilities of all classes, and the nearest
        labelled stars with their labels.
    path, page
        Where table and HTML page were written, if they were.
    simulated
        Whether the simulator made any of the surveys.
    """

    survey: str
    run: str | None
    sources: tuple[str, ...]
    ways: tuple[Way, ...]
    seed: int
    judged: int
    contradicted: int
    left_out: tuple[str, ...]
    stars: pd.DataFrame
    path: Path | None
    page: Path | None
    simulated: bool

    def to_record(self) -> dict[str, Any]:
        """Return all of it for JSON; null where a number is not known, neighbours as lists."""
        stars = self.stars.astype(object).where(self.stars.notna(), None).to_dict(orient="records")
        for star in stars:
            star["neighbours"] = star["neighbours"].split(SEPARATOR)
            star["neighbour_labels"] = star["neighbour_labels"].split(SEPARATOR)
        return {
            "survey": self.survey,
            "run": self.run,
            "sources": list(self.sources),
            "ways": list(self.ways),
            "seed": self.seed,
            "judged": self.judged,
            "contradicted": self.contradicted,
            "left_out": list(self.left_out),
            "simulated": self.simulated,
            "path": str(self.path) if self.path else None,
            "page": str(self.page) if self.page else None,
            "stars": stars,
        }


def doubt(
    what: str | Path,
    n: int | None = 20,
    *,
    source: str | Sequence[str] = (),
    way: Way | None = None,
    out: str | Path | None = None,
    html: str | Path | None = None,
    seed: int = 0,
    data: str | Path | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> DoubtResult:
    """Rank the labels of a survey by how much the light curves contradict them (confident learning).

    No star is judged by a model that has learned from its own label. Within the survey that is a cross-validation;
    by transfer, models see labels of the sources alone, or a run's stored predictions are taken of stars whose labels
    it was not given. `lcdvt.doubts.confident_learning` states the rule.

    Parameters
    ----------
    what
        An ingested survey's name; or a run's name or folder, to judge the labels of its target. Where both have the
        name, the survey is meant.
    n
        How many stars, the most doubtful first; None for all that could be judged.
    source
        One or more ingested surveys with labels, which judge by transfer.
    way
        "within" (the survey's own stars judge), "transfer" (the sources or the run judge) or "both" (the mean of the
        two); None for all that there are.
    out
        Where to write the stars: .parquet, .csv, .fits or .vot; None for nowhere.
    html
        Where to write a page with their folded light curves; None for nowhere.
    seed
        The random seed of folds and models.
    data, force
        The workspace, and whether to overwrite files.
    progress
        Called with the number of forests grown.
    """
    n, seed = None if n is None else whole_number("n", n), whole_number("seed", seed)
    if (n is not None and n < 1) or seed < 0:
        raise SettingsError(f"n={n} seed={seed}: ask for at least one star, with a seed of 0 or more.")
    path, page = (None if each is None else Path(each) for each in (out, html))
    if path is not None:
        check_table_path(path, force)
    if page is not None:
        _check_page_path(page, force)
    subject = find_subject(what, [source] if isinstance(source, str) else list(source), data)
    ways = subject.ways(way)
    opinions = {each: _opinion(subject, each, seed, progress) for each in ways}
    ranked = _ranked(subject, opinions)
    stars = _with_neighbours(ranked.head(len(ranked) if n is None else n), subject)
    result = DoubtResult(
        survey=subject.survey.name,
        run=subject.run.absolute().name if subject.run else None,
        sources=tuple(each.name for each in subject.sources),
        ways=ways,
        seed=seed,
        judged=len(ranked),
        contradicted=int(ranked["contradicted"].sum()),
        left_out=subject.left_out,
        stars=stars,
        path=path,
        page=page,
        simulated=_is_simulated(subject),
    )
    if path is not None:
        write_atomically(path, lambda unfinished: write_stars(iter([stars]), unfinished, path.suffix))
    if page is not None:
        facts = {key: value for key, value in result.to_record().items() if key not in ("stars", "path", "page")}
        write_text(page, doubt_page(stars, subject.survey, facts))
    return result


def _check_page_path(page: Path, force: bool) -> None:
    if page.suffix.lower() not in PAGE_SUFFIXES:
        raise SettingsError(f"html={page}: write to a file ending in {' or '.join(PAGE_SUFFIXES)}.")
    if page.exists() and not force:
        raise SettingsError(f"{page} exists: use force=True to overwrite it.")


def _opinion(subject: Subject, way: Way, seed: int, progress: Progress) -> NDArray[np.float64]:
    classes = subject.dataset.classes
    if way == "within":
        return opinion_within(subject.dataset.X, subject.given, len(classes), seed, progress)
    if subject.run is not None:
        return opinion_of_run(subject.run, classes, subject.dataset.object_ids)
    return opinion_by_transfer(subject.sources, subject.survey, classes, seed)


def _ranked(subject: Subject, opinions: dict[Way, NDArray[np.float64]]) -> pd.DataFrame:
    """Return every star that can be judged, the most doubtful label first."""
    probability = mean_opinion(list(opinions.values()))
    given = subject.given
    rows = np.flatnonzero((given != UNLABELLED) & np.isfinite(probability).all(axis=1))
    if not len(rows):
        raise DatasetError(
            f"{subject.survey.name}: no label is left to judge, because the run has learned from all of them; "
            "use way=within, or make a run with fewer labels."
        )
    probability, given = probability[rows], given[rows]
    judgement = judge(probability, given)
    each = np.arange(len(rows))
    names = np.array(subject.dataset.classes, dtype=object)
    object_ids = subject.dataset.object_ids[rows]
    positions = subject.survey.objects().set_index(OBJECT_ID).reindex(object_ids)
    table = pd.DataFrame(
        {
            OBJECT_ID: object_ids,
            RA: positions[RA].to_numpy(dtype=float),
            DEC: positions[DEC].to_numpy(dtype=float),
            LABEL: names[given],
            "label_probability": probability[each, given],
            "suggested": names[judgement.suggested],
            "suggested_probability": probability[each, judgement.suggested],
            "score": judgement.score,
            "contradicted": judgement.contradicted,
            **{f"label_probability_{way}": opinion[rows, given] for way, opinion in opinions.items()},
            **{probability_column(name): probability[:, number] for number, name in enumerate(names)},
        },
        index=rows,
    )
    return table.sort_values(["score", OBJECT_ID], ascending=[False, True])


def _with_neighbours(ranked: pd.DataFrame, subject: Subject) -> pd.DataFrame:
    """Add the nearest labelled stars; the index of `ranked` says which rows of the dataset its stars are."""
    dataset, given = subject.dataset, subject.given
    scaled = dataset.fit_scaler().apply(dataset.X)
    near = nearest_labelled(scaled, given != UNLABELLED, ranked.index.to_numpy())
    names = np.array(dataset.classes, dtype=object)
    return ranked.assign(
        neighbours=[SEPARATOR.join(dataset.object_ids[rows]) for rows in near],
        neighbour_labels=[SEPARATOR.join(names[given[rows]]) for rows in near],
    ).reset_index(drop=True)


def _is_simulated(subject: Subject) -> bool:
    by_run = subject.run is not None and bool(read_metrics(subject.run).get("simulated"))
    return by_run or any(each.is_simulated for each in (subject.survey, *subject.sources))
