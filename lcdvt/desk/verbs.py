"""The verbs `label`, `browse` and `answers`."""

import getpass
import importlib.util
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from lcdvt.disk.atomic import write_atomically
from lcdvt.disk.star_table import check_table_path, write_stars
from lcdvt.errors import SettingsError
from lcdvt.names import LABEL, OBJECT_ID
from lcdvt.workspace.answers import AnswerFile, AnswerLog, answers_path, read_answers, stored_answers
from lcdvt.workspace.folder import read_part
from lcdvt.workspace.survey import open_survey

if TYPE_CHECKING:
    from lcdvt.desk.session import Desk

NEEDED: Final = ("starlette", "uvicorn")


def label(
    run: str | Path,
    n: int = 20,
    *,
    unlabelled: bool = False,
    who: str | None = None,
    port: int | None = None,
    browser: bool = True,
    announce: Callable[[str], None] = print,
    data: str | Path | None = None,
) -> AnswerLog:
    """Show the stars whose labels would help a run most in the browser, and save what is answered; until Ctrl-C.

    Parameters
    ----------
    run
        A transfer's name in the workspace, or its folder.
    n
        How many stars a round has.
    unlabelled
        Leave out stars that have a label in the workspace, which the run may have held back to be scored on.
    who
        Whose answers these are; None takes the user's name.
    port
        Of this machine, where the page is; None takes the usual one, or any that is free.
    browser
        Whether to open the browser.
    announce
        Told the page's address.
    data
        The workspace.
    """
    check_installed()
    from lcdvt.desk.session import Desk

    if n < 1:
        raise SettingsError(f"n={n}: ask for at least one star.")
    desk = Desk.of_run(run, who=_name(who), n=n, unlabelled=unlabelled, data=data)
    return _serve(desk, "", port, browser, announce)


def browse(
    survey: str,
    *,
    run: str | Path | None = None,
    who: str | None = None,
    port: int | None = None,
    browser: bool = True,
    announce: Callable[[str], None] = print,
    data: str | Path | None = None,
) -> AnswerLog:
    """Show all stars of a survey in the browser, as a table and one by one; until Ctrl-C.

    Parameters
    ----------
    survey
        An ingested survey.
    run
        A run that classifies it, whose predictions are shown, too.
    who, port, browser, announce, data
        As in `label`: a star can be answered here, too.
    """
    check_installed()
    from lcdvt.desk.session import Desk
    from lcdvt.results.folder import find_run, read_config

    folder = None
    if run is not None:
        folder = find_run(run, data)
        target = read_config(folder)[0].surveys[-1]
        if target != survey:
            raise SettingsError(f"run={folder.name}: it classifies {target}, not {survey}.")
    return _serve(Desk(survey, folder, who=_name(who), data=data), "#table", port, browser, announce)


def _serve(desk: "Desk", page: str, port: int | None, browser: bool, announce: Callable[[str], None]) -> AnswerLog:
    from lcdvt.desk.opening import browser_on
    from lcdvt.desk.server import DeskServer

    server: DeskServer = DeskServer(desk, port)
    address = server.address + page
    try:
        announce(address)
        with browser_on(address) if browser else nullcontext():
            server.run()
    except KeyboardInterrupt:  # before the server listened to it
        desk.close()
    return desk.answers.refresh()


@dataclass(frozen=True)
class AnswersResult:
    """What people have said of a survey's stars.

    Parameters
    ----------
    survey, path
        Whose stars, and the file.
    stars
        One row for each star that was looked at: verdict, whether it is disputed, who said what, period, note.
    merged
        How many records came from other files.
    catalogue
        Where the table of labels was written, if it was.
    """

    survey: str
    path: Path
    stars: pd.DataFrame
    merged: int = 0
    catalogue: Path | None = None

    @property
    def disputed(self) -> pd.DataFrame:
        """The stars that people call by different names."""
        return self.stars[self.stars["disputed"]]

    def to_record(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        stars = self.stars.astype(object).where(self.stars.notna(), None).to_dict(orient="records")
        return {
            "survey": self.survey,
            "file": str(self.path),
            "merged": self.merged,
            "catalogue": str(self.catalogue) if self.catalogue else None,
            "stars": stars,
        }


def answers(
    survey: str,
    *,
    merge: str | Path | Sequence[str | Path] = (),
    out: str | Path | None = None,
    only_answers: bool = False,
    data: str | Path | None = None,
    force: bool = False,
) -> AnswersResult:
    """Return what people have said of a survey's stars; merge other people's files, write a table of labels.

    Parameters
    ----------
    survey
        An ingested survey.
    merge
        Files of other people, which are added to the workspace's own; what is there already is not added again.
    out
        Where to write a table of labels for `ingest(catalog=…)`: .csv, .parquet, .fits or .vot. It has the labels that
        the workspace has, because a survey has one table of labels, and the answers in place of those they contradict.
    only_answers
        Write the answers alone.
    data, force
        The workspace, and whether to overwrite `out`.
    """
    stored = open_survey(survey, data)
    path = answers_path(survey, data)
    target = None if out is None else Path(out)
    if target is not None:
        check_table_path(target, force)
    files = [merge] if isinstance(merge, str | Path) else merge
    others = [read_answers(file, survey) for file in files]
    merged = 0
    if others:
        file = AnswerFile(path, survey)
        records = [*(each for log in others for each in log.answers.values())]
        undos = [*(each for log in others for each in log.undos.values())]
        merged = file.add_all([*records, *undos])
    log = stored_answers(survey, data)
    if target is not None:
        labels = log.labels()
        if not only_answers:
            known = read_part(stored.folder.objects, [OBJECT_ID, LABEL]).to_pandas().dropna()
            labels = dict(zip(known[OBJECT_ID], known[LABEL], strict=True)) | labels
        if not labels:
            raise SettingsError(f"nobody has named the class of a star of {survey} yet: there is nothing to write.")
        table = pd.DataFrame({"id": list(labels), "class": list(labels.values())})
        write_atomically(target, lambda unfinished: write_stars(iter([table]), unfinished, target.suffix))
    return AnswersResult(survey, path, _stars(log), merged, target)


def _stars(log: AnswerLog) -> pd.DataFrame:
    last = log.by_star()
    return pd.DataFrame(
        [
            {
                OBJECT_ID: star,
                LABEL: verdict.label,
                "disputed": verdict.is_disputed,
                "voices": "; ".join(f"{who}: {said or 'unsure'}" for who, said in verdict.voices.items()),
                "period": last[star].period,
                "predicted": last[star].model.get("predicted"),
                "note": last[star].note,
                "when": last[star].when,
            }
            for star, verdict in log.verdicts().items()
        ],
        columns=[OBJECT_ID, LABEL, "disputed", "voices", "period", "predicted", "note", "when"],
    ).astype({"disputed": bool, "period": float})


def check_installed() -> None:
    """Say in a sentence what is missing, before any work is done."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingsError(f"the pages need {' and '.join(missing)}: pip install 'lcdvt[label]'.")


def _name(who: str | None) -> str:
    if who is not None and not who.strip():
        raise SettingsError("who= is empty: give a name.")
    try:
        return who.strip() if who else getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        return "somebody"
