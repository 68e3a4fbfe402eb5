"""A run before it is made: options, surveys, dataset, and one task for each draw of labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lcdvt.baselines.rows import DVT_ENSEMBLE, DVT_TOP, DVT_UPPER_BOUND, ROWS
from lcdvt.dataset.dataset import UNLABELLED, Dataset
from lcdvt.dataset.sampling import TRAINING_STARS
from lcdvt.dataset.scaling import ScalingChoice, ScalingMethod
from lcdvt.disk.toml_config import from_table
from lcdvt.dvt.config import DoubtfulLabels, DVTConfig, TrainingMode, choose_preset
from lcdvt.errors import SettingsError, whole_number
from lcdvt.protocol.elsewhere import StarsElsewhere
from lcdvt.workspace.survey import StoredSurvey

ALL_ROWS: Final = (DVT_UPPER_BOUND, *ROWS, DVT_TOP, DVT_ENSEMBLE)
# They learn from labels of the target, or from nothing.
NEED_TARGET_LABELS: Final = ("forest-target", "svm-target", "label-spreading")
UNSUPERVISED_ROWS: Final = tuple(row for row in ALL_ROWS if row not in NEED_TARGET_LABELS)
FEWEST_TRAINING_STARS: Final = 50
# Without thinned light curves they are the same as rows that see each star once.
NEED_REPLICATES: Final = tuple(name for name, row in ROWS.items() if row.uses_replicates)
# Where there is no source, "target labels" would make a reader look for one.
ONE_SURVEY_TRAINING: Final = {
    "forest-target": "Supervised",
    "svm-target": "Supervised",
    "label-spreading": "Semi-supervised",
}
ONE_SURVEY_ROWS: Final = (*ONE_SURVEY_TRAINING, DVT_TOP, DVT_ENSEMBLE)


def several(names: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return names as a tuple; one given by itself is one name, not its letters."""
    if names is None:
        return None
    return (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True)
class RunOptions:
    """How a run is trained and scored, whatever its surveys are.

    Parameters
    ----------
    mode
        The way of training.
    preset
        The numbers of the model: a preset's name, a TOML file, or the numbers themselves.
    steps
        How long to train, if not as long as the preset says.
    classes
        The classes to tell apart; None for those that have labels.
    members, repeats, seed
        Models in the ensemble, draws of labels, and the random seed of the first draw; the others count on from it.
    rows
        Rows of the table; None for all.
    scaling
        How features are brought to one scale.
    device
        Where to compute: auto, cpu, cuda or mps.
    """

    mode: TrainingMode
    preset: str | Path | DVTConfig
    steps: int | None = None
    classes: tuple[str, ...] | None = None
    members: int = 10
    repeats: int = 3
    seed: int = 0
    rows: tuple[str, ...] | None = None
    scaling: ScalingMethod = "rank"
    device: str = "auto"

    def __post_init__(self) -> None:
        for name in ("members", "repeats", "seed", "steps"):
            given = getattr(self, name)
            # numpy's whole numbers are what a loop over an array gives, and no TOML file takes them
            object.__setattr__(self, name, given if given is None else whole_number(name, given))
        from_table(ScalingChoice, {"method": self.scaling}, "scaling")
        if self.members < 1 or self.repeats < 1:
            raise SettingsError(f"members={self.members} repeats={self.repeats}: at least one of each is needed.")
        if self.seed < 0:
            raise SettingsError(f"seed={self.seed}: give 0 or more.")

    @property
    def config(self) -> DVTConfig:
        """The numbers of the model for this way and length of training."""
        config = choose_preset(self.preset)
        steps = config.training.steps if self.steps is None else self.steps
        training = replace(config.training, mode=self.mode, steps=steps)
        return replace(config, training=training)

    @property
    def draw_seeds(self) -> range:
        """The random seed of each draw."""
        return range(self.seed, self.seed + self.repeats)

    @property
    def preset_name(self) -> str:
        """What the run's record calls the preset."""
        return "given in Python" if isinstance(self.preset, DVTConfig) else str(self.preset)

    def chosen_rows(self, known: Sequence[str]) -> tuple[str, ...]:
        """Return the chosen rows in the table's order; the ensemble, which is the run, is always among them."""
        unknown = [row for row in self.rows or () if row not in known]
        if unknown:
            raise SettingsError(f"rows={unknown[0]}: there is no such row; choose from {', '.join(known)}.")
        return tuple(row for row in known if self.rows is None or row in self.rows or row == DVT_ENSEMBLE)

    def describe(self, surveys: Sequence[StoredSurvey]) -> dict[str, Any]:
        """Return what a run's `metrics.json` says of how it was made: settings, citations, whether simulated."""
        return {
            "preset": self.preset_name,
            "scaling": self.scaling,
            "seed": self.seed,
            "repeats": self.repeats,
            "simulated": any(each.is_simulated for each in surveys),
            "citations": {each.name: each.survey.citation for each in surveys},
        }


@dataclass(frozen=True)
class TransferOptions(RunOptions):
    """How labels are carried over: `RunOptions` with the defaults of a transfer, and what the sources may give.

    Parameters
    ----------
    source_labels
        How many labels of each source may be used.
    labels_from
        A file of answers (`lcdvt label`): labels of the target in every draw, beside those drawn.
    replicates
        How often each star's light curve is thinned for the teachers, if not as often as the preset says.
    training_stars
        Of a survey with more stars a sample of so many is learned from.
    doubtful_labels
        What is made of drawn labels that the sources contradict, if not what the preset says.
    """

    mode: TrainingMode = "multi-task"
    preset: str | Path | DVTConfig = "taught"
    source_labels: str = "all"
    labels_from: Path | None = None
    replicates: int | None = None
    training_stars: int = TRAINING_STARS
    doubtful_labels: DoubtfulLabels | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("training_stars", "replicates"):
            given = getattr(self, name)
            object.__setattr__(self, name, given if given is None else whole_number(name, given))
        if self.training_stars < FEWEST_TRAINING_STARS:
            raise SettingsError(
                f"training_stars={self.training_stars}: too few to learn from; give {FEWEST_TRAINING_STARS} or more."
            )
        if self.mode not in ("multi-task", "transfer"):
            raise SettingsError(
                f"mode={self.mode}: a transfer is multi-task or transfer; `lcdvt train` has the others."
            )

    @property
    def config(self) -> DVTConfig:
        """The numbers of the model, its teachers as they were asked for."""
        config = super().config
        wanted: dict[str, Any] = {"replicates": self.replicates, "doubtful_labels": self.doubtful_labels}
        asked = {name: value for name, value in wanted.items() if value is not None}
        if config.teaching is None and not asked:
            return config
        if config.teaching is None:
            name, value = next(iter(asked.items()))
            raise SettingsError(
                f"{name}={value}: preset {self.preset_name} has no teachers that could learn from them; "
                f"choose one that teaches (taught), or leave {name} out."
            )
        teaching = replace(config.teaching, **asked)
        if teaching.replicates == 0 and config.objective.consistency_weight > 0:
            raise SettingsError(
                f"replicates=0: preset {self.preset_name} has an objective.consistency_weight, which compares stars "
                "with their replicates; ask for at least one, or set it to 0."
            )
        return replace(config, teaching=teaching)

    def describe(self, surveys: Sequence[StoredSurvey]) -> dict[str, Any]:
        """Return what a run's `metrics.json` says of how it was made, with the limit of stars."""
        return {**super().describe(surveys), "training_stars": self.training_stars}


@dataclass(frozen=True)
class DrawTask:
    """What one draw needs.

    Parameters
    ----------
    dataset
        With all known labels: those outside the draw are for scoring (and for upper bounds) only.
    drawn
        The labels that may be learned from, −1 everywhere else; one for each row of the dataset.
    config, members, scaling, device
        The model, how many of it, how features are brought to one scale, where to compute.
    rows
        Rows of the table.
    seed
        The random seed of everything in the draw.
    learned
        The rows of the dataset that this draw learns from, where others are there for other draws; None for all.
    elsewhere
        The target's stars that the dataset has not; None where it has all.
    answered
        The rows of the dataset whose label a person gave who was asked about the star; None for none.
    """

    dataset: Dataset
    drawn: NDArray[np.int64]
    config: DVTConfig
    members: int
    rows: tuple[str, ...]
    seed: int
    scaling: ScalingMethod = "rank"
    device: str = "cpu"
    learned: NDArray[np.bool_] | None = field(default=None, repr=False)
    elsewhere: StarsElsewhere | None = field(default=None, repr=False)
    answered: NDArray[np.bool_] | None = field(default=None, repr=False)

    def alone(self) -> "DrawTask":
        """Return the task with the rows that it learns from, as if there were no other draw."""
        if self.learned is None:
            return self
        return replace(
            self,
            dataset=self.dataset.only(self.learned),
            drawn=self.drawn[self.learned],
            answered=None if self.answered is None else self.answered[self.learned],
            learned=None,
        )

    @property
    def member_seeds(self) -> tuple[int, ...]:
        """A different seed for each member, none shared with another draw."""
        return tuple(1000 * self.seed + member for member in range(self.members))

    @property
    def target(self) -> int:
        """The number of the survey that is classified: the last."""
        return len(self.dataset.surveys) - 1

    @property
    def truth(self) -> NDArray[np.int64]:
        """True classes of the target's objects, −1 where nobody knows."""
        return self.dataset.y[self.dataset.rows_of(self.target)]

    @property
    def target_answered(self) -> NDArray[np.bool_] | None:
        """Which target objects have a label that a person gave who was asked; None for none."""
        return None if self.answered is None else self.answered[self.dataset.rows_of(self.target)]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which target objects can be scored: those whose class is known but was not drawn."""
        return (self.truth != UNLABELLED) & (self.drawn[self.dataset.rows_of(self.target)] == UNLABELLED)

    @property
    def target_ids(self) -> NDArray[np.object_]:
        """The target's objects in the dataset."""
        return self.dataset.object_ids[self.dataset.rows_of(self.target)]

    @property
    def is_scored_elsewhere(self) -> bool:
        """Whether stars that the dataset has not can be scored: no label of theirs is drawn."""
        return self.elsewhere is not None and self.elsewhere.labelled > int((self.truth != UNLABELLED).sum())


@dataclass(frozen=True)
class Plan:
    """A run before it is made.

    Parameters
    ----------
    surveys
        Sources first, the survey to classify last.
    dataset
        The dataset of these surveys, with all known labels.
    tasks
        One for each draw; the first one's ensemble is kept to classify new stars.
    settings
        What `metrics.json` says of how the run was made.
    class_mix
        Labelled stars of each class in the survey to classify.
    folds
        Whether draws hold out folds.
    left_out
        Classes that the surveys have, and that the run does not tell apart.
    answers
        How many labels of each class people gave; they are in every draw.
    sample_sizes
        Surveys of which not all stars are learned from: how many of how many.
    """

    surveys: tuple[StoredSurvey, ...]
    dataset: Dataset = field(repr=False)
    tasks: tuple[DrawTask, ...] = field(repr=False)
    settings: Mapping[str, Any]
    class_mix: Mapping[str, int]
    folds: bool = False
    left_out: tuple[str, ...] = ()
    answers: Mapping[str, int] = field(default_factory=dict)
    sample_sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def draw_tasks(
    dataset: Dataset, drawn: Sequence[NDArray[np.int64]], options: RunOptions, known_rows: Sequence[str]
) -> tuple[DrawTask, ...]:
    """Return the task of each draw; the seeds count on from the first one's."""
    rows, config = options.chosen_rows(known_rows), options.config
    return tuple(
        DrawTask(dataset, y, config, options.members, rows, options.seed + number, options.scaling, options.device)
        for number, y in enumerate(drawn)
    )
