"""What is being worked on: a survey, perhaps a run that asks, the stars it asks for, and the answers given."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lcdvt.desk.retraining import Retraining
from lcdvt.desk.stars import SurveyStars
from lcdvt.desk.table import StarTable
from lcdvt.errors import InputFileError, LcdvtError, SettingsError
from lcdvt.figures.style import class_colours
from lcdvt.names import CANONICAL_CLASSES, OBJECT_ID
from lcdvt.results.folder import find_run, read_config, read_metrics
from lcdvt.workspace.answers import OTHER, Answer, AnswerFile, Undo, answers_path, now
from lcdvt.workspace.folder import workspace_folder
from lcdvt.workspace.survey import open_survey

if TYPE_CHECKING:
    from lcdvt.desk.surroundings import RunView

RESERVED_KEYS: Final = frozenset("ouznkb")
"""Of the page: other, unsure, undo, note, known label, back to the table."""


class Desk:
    """One person at work on one survey.

    Parameters
    ----------
    survey
        The ingested survey.
    run
        A transfer to it that asks for labels; None to look around only.
    who
        Whose answers these are.
    n
        How many stars a round has.
    unlabelled
        Ask only for stars without a label in the workspace.
    seed
        The random seed of the suggestions.
    data
        The workspace.
    """

    def __init__(
        self,
        survey: str,
        run: Path | None = None,
        *,
        who: str,
        n: int = 20,
        unlabelled: bool = False,
        seed: int = 0,
        data: str | Path | None = None,
    ) -> None:
        self.data = workspace_folder(data)
        self.who, self.n, self.unlabelled, self.seed = who, n, unlabelled, seed
        self.stars = SurveyStars(open_survey(survey, self.data))
        self.answers = AnswerFile(answers_path(survey, self.data), survey)
        self.lock = threading.RLock()
        self.retraining = Retraining(self._take_over)
        self.run_folder: Path | None = None
        self.view: RunView | None = None
        self.queue: list[dict[str, Any]] = []
        self.simulated = self.stars.stored.is_simulated
        self.table = StarTable(self.stars.stored)
        if run is not None:
            self._take_over(run)

    @classmethod
    def of_run(cls, run: str | Path, *, who: str, n: int, unlabelled: bool, data: str | Path | None) -> "Desk":
        """Open the desk for a transfer's target."""
        folder = find_run(run, data)
        surveys = read_config(folder)[0].surveys
        if len(surveys) < 2:
            raise SettingsError(
                f"the run {folder.name} knows {surveys[0]} alone (`lcdvt train` made it): labels are asked for the "
                "target of a transfer; make one with `lcdvt transfer --source … --target …`."
            )
        return cls(surveys[-1], folder, who=who, n=n, unlabelled=unlabelled, data=data)

    def _take_over(self, run: str | Path) -> None:
        """Go on with a run: the first one, or the one that was made again."""
        from lcdvt.desk.surroundings import RunView  # torch, which a look at the survey does not need

        folder = find_run(run, self.data)
        names = read_config(folder)[0].surveys
        others = [SurveyStars(open_survey(name, self.data)) for name in names[:-1]]
        view = RunView(folder, [*others, self.stars], self.answers.log.labels())
        simulated = bool(read_metrics(folder).get("simulated"))
        table, queue = StarTable(self.stars.stored, folder), self._suggested(folder)
        with self.lock:  # only now: what is answered while the stars are chosen is saved at once
            self.run_folder, self.view, self.table, self.queue = folder, view, table, queue
            self.simulated = self.simulated or simulated

    def ask(self) -> None:
        """Choose the next stars to look at."""
        if self.run_folder is None:
            raise SettingsError("no run is asked here: `lcdvt label RUN` suggests stars.")
        queue = self._suggested(self.run_folder)
        with self.lock:
            self.queue = queue

    def _suggested(self, folder: Path) -> list[dict[str, Any]]:
        from lcdvt.results.suggest import suggest

        found = suggest(folder, self.n, unlabelled=self.unlabelled, fewer=True, seed=self.seed, data=self.data)
        shown = {"id": OBJECT_ID, "why": "why", "predicted": "predicted", "probability": "probability"}
        stars = found.stars.to_dict(orient="records")
        return [{key: star[column] for key, column in shown.items()} for star in stars]

    @property
    def classes(self) -> tuple[str, ...]:
        """What a star may be called: the run's classes, or those of the survey's labels, or the usual ones."""
        if self.view is not None:
            return self.view.classes
        return self.table.labels or CANONICAL_CLASSES

    def about(self) -> dict[str, Any]:
        """Return what the page must know before it shows a star."""
        with self.lock:
            log = self.answers.refresh()
            mine = log.by_star(self.who)
            classes = tuple(name for name in self.classes if name != OTHER)
            colours = class_colours(classes)
            keys = class_keys(classes)
            verdicts = log.verdicts()
            return {
                "survey": self.stars.name,
                "run": self.view.name if self.view else None,
                "simulated": self.simulated,
                "who": self.who,
                "classes": [{"name": name, "key": keys[name], "colour": colours[name]} for name in classes],
                "queue": [{**star, "answer": _as_shown(mine.get(star["id"]))} for star in self.queue],
                "answers": len(verdicts),
                "disputed": sum(verdict.is_disputed for verdict in verdicts.values()),
                "file": str(self.answers.path),
                "periods": list(self.stars.stored.survey.period_range),
                "total": self.table.total,
                "retraining": self.retraining.told(),
            }

    def star(self, object_id: str) -> dict[str, Any]:
        """Return what is shown at once: the light curve, the period, what the run says, the answer given."""
        star = self.stars.star(object_id)
        with self.lock:
            answer = self.answers.log.by_star(self.who).get(object_id)
        return {
            "id": star.object_id,
            "ra": star.ra,
            "dec": star.dec,
            "label": star.label,
            "bands": self.stars.curve(star),
            "limits": self.stars.limits(star),
            "period": star.period,
            "false_alarm": star.features.get("Period_fap"),
            "amplitude": star.features.get(self.stars.amplitude_column),
            "opinion": self.view.opinion(object_id) if self.view else None,
            "answer": _as_shown(answer),
        }

    def around(self, object_id: str) -> dict[str, Any]:
        """Return what is shown a moment later: the periodogram and what stands around the star."""
        star = self.stars.star(object_id)
        with self.lock:
            view = self.view
        return {"id": object_id, "scan": self.stars.scan(star), **(view.around(star) if view else {})}

    def warm_up(self) -> None:
        """Read what the first page needs while the browser opens; nothing depends on it."""
        with suppress(LcdvtError, OSError):
            if self.queue:
                self.star(self.queue[0]["id"])
                self.around(self.queue[0]["id"])
            self.maps()

    def maps(self) -> dict[str, Any] | None:
        """Return the stars of the small maps; none without a run."""
        return self.view.maps if self.view else None

    def progress(self) -> dict[str, Any]:
        """Return how the labelling goes: rounds, and agreement between people and model."""
        from lcdvt.desk.rounds import agreement, rounds  # scipy, which the first page does not need

        with self.lock:
            log, folder = self.answers.refresh(), self.run_folder
        return {
            "rounds": rounds(folder, self.data) if folder else [],
            "agreement": agreement(log),
            "disputed": [
                {"star": verdict.star, "voices": dict(verdict.voices), "label": verdict.label}
                for verdict in log.disputed()
            ],
        }

    def answer(self, given: dict[str, Any]) -> dict[str, Any]:
        """Save an answer; the same key again is the same answer."""
        key, star, label = (given.get(name) for name in ("key", "star", "label"))
        if not isinstance(key, str) or not isinstance(star, str):
            raise InputFileError("an answer names its key and its star.")
        if label is not None and label not in (*self.classes, OTHER):
            raise InputFileError(f"label {label!r}: one of {', '.join((*self.classes, OTHER))}, or null for unsure.")
        if not self.stars.has(star):
            raise InputFileError(f"survey {self.stars.name} has no star {star!r}.")
        with self.lock:
            said = self.view.opinion(star) if self.view else None
            record = Answer(
                key=key,
                star=star,
                label=label,
                who=self.who,
                when=now(),
                confidence=given.get("confidence", "sure"),
                period=given.get("period"),
                note=given.get("note", ""),
                run=self.view.name if self.view else None,
                model={name: value for name, value in (said or {}).items() if name != "in_draw"},
            )
            self.answers.add(record)
            saved, answered = self.answers.log.answers[key], len(self.answers.log.verdicts())
            return {"saved": key, "star": star, "answer": _as_shown(saved), "answers": answered}

    def undo(self, given: dict[str, Any]) -> dict[str, Any]:
        """Take this person's last answer back; the same key again is the same undo."""
        key = given.get("key")
        if not isinstance(key, str) or not key:
            raise InputFileError("an undo names its key.")
        with self.lock:
            log = self.answers.refresh()
            if key in log.undos:
                undone: Answer | None = log.answers.get(log.undos[key].undoes)
            else:
                undone = log.last_of(self.who)
                if undone is not None:
                    self.answers.add(Undo(key, undone.key, self.who, now()))
            if undone is None:
                return {"undone": None, "answers": len(self.answers.log.verdicts())}
            left = self.answers.log.by_star(self.who).get(undone.star)
            return {"undone": undone.star, "answer": _as_shown(left), "answers": len(self.answers.log.verdicts())}

    def retrain(self) -> dict[str, Any]:
        """Begin to make the run again with all answers."""
        if self.run_folder is None:
            raise SettingsError("there is no run to be made again here: `lcdvt label RUN` has one.")
        if not self.answers.refresh().labels():
            raise SettingsError("nobody has named the class of a star yet: there is nothing new to learn.")
        self.retraining.start(self.run_folder, self.answers.path, self.data)
        return self.retraining.told()

    def close(self) -> None:
        """End what is still running; every answer is on the disk already."""
        self.retraining.stop()


def class_keys(classes: Sequence[str]) -> dict[str, str]:
    """Return one letter for each class: one of its own if it is free, else any that is.

    Examples
    --------
    >>> class_keys(["CEP", "EB", "LPV", "OSARG", "CV"])
    {'CEP': 'c', 'EB': 'e', 'LPV': 'l', 'OSARG': 's', 'CV': 'v'}
    """
    keys: dict[str, str] = {}
    for name in classes:
        wanted = [*(letter for letter in name.lower() if "a" <= letter <= "z"), *"abcdefghijklmnopqrstuvwxyz"]
        free = (letter for letter in wanted if letter not in RESERVED_KEYS and letter not in keys.values())
        keys[name] = next(free, "")
    return keys


def _as_shown(answer: Answer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    return {
        "label": answer.label,
        "confidence": answer.confidence,
        "period": answer.period,
        "note": answer.note,
        "when": answer.when,
    }
