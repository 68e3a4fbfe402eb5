"""The verb: draw the stars one by one, write them, and keep the truth beside them."""

import csv
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lcdvt.errors import LcdvtError, whole_number
from lcdvt.parallel.progress import Progress, silent
from lcdvt.simulator.eros_files import TimeFiles
from lcdvt.simulator.files import RawFiles
from lcdvt.simulator.folder import make_room
from lcdvt.simulator.gaia_files import EpochPhotometry
from lcdvt.simulator.hits_files import DatFiles, Packs, PsfFiles
from lcdvt.simulator.lsst_files import ForcedSources
from lcdvt.simulator.macho_files import ArchiveCsv, BulkDump, MjdFiles
from lcdvt.simulator.observation import Observation, observe
from lcdvt.simulator.ogle_files import BandFolders
from lcdvt.simulator.ps1_files import Detections
from lcdvt.simulator.survey import SimulatedSurvey
from lcdvt.simulator.surveys import simulated_survey
from lcdvt.simulator.ztf_files import IrsaCsv

# Survey -> its raw formats, the first being the usual one.
FORMATS: Mapping[str, Mapping[str, Callable[[Path], RawFiles]]] = {
    "eros": {"time": TimeFiles},
    "macho": {"mjd": MjdFiles, "csv": ArchiveCsv, "bulk": BulkDump},
    "hits": {"dat": DatFiles, "pack": Packs, "psf": PsfFiles},
    "ogle": {"dat": BandFolders},
    "ztf": {"csv": IrsaCsv},
    "gaia": {"csv": EpochPhotometry},
    "ps1": {"csv": Detections},
    "lsst": {"parquet": ForcedSources},
}
TRUTH, LABELS = "truth.csv", "labels.csv"
# What a simulation leaves in its folder: all that --force may remove.
OUR_FILES = (
    *("lm[0-9]*", "macho_training_lightcurves", "LC_*.csv", "F_[0-9]*", "lightcurves", "phot", "ztf_[0-9]*"),
    *("epoch_photometry", "detections", "ForcedSource_*.parquet", "Visit.parquet", LABELS, TRUTH),
)
OBJECTS_BETWEEN_REPORTS = 50
"""A bar that moves every second or so."""


@dataclass(frozen=True)
class Simulation:
    """What a run wrote."""

    survey: str
    format: str
    directory: Path
    seed: int
    objects: int
    classes: Mapping[str, int]


def simulate(
    survey: str,
    directory: str | Path,
    *,
    objects: int,
    seed: int = 0,
    format: str | None = None,
    years: int | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Simulation:
    """Write a simulated survey in its raw file format, with the truth in `truth.csv`.

    Star number i depends on the seed and i alone, so a longer run begins with the stars of a shorter one.
    One star is in memory at a time.

    Parameters
    ----------
    survey
        ``eros``, ``macho``, ``hits``, ``ogle``, ``ztf``, ``gaia``, ``ps1`` or ``lsst``.
    directory
        A new or empty folder.
    objects
        How many stars and quasars.
    seed
        Any whole number from 0 on.
    format
        EROS: ``time``. MACHO: ``mjd`` (default), ``csv`` or ``bulk``. HiTS: ``dat`` (default), ``pack`` or ``psf``.
        The others have one each: OGLE ``dat``, ZTF, Gaia and Pan-STARRS ``csv``, LSST ``parquet``.
    years
        LSST only: 1 (default) or 10.
    force
        Replace an earlier simulation in the folder.
    progress
        Called as stars are finished.
    """
    description = simulated_survey(survey, years)
    chosen = _format(survey, format)
    objects, seed = whole_number("objects", objects), whole_number("seed", seed)
    if objects < 1:
        raise LcdvtError(f"objects={objects}: at least one object is needed.")
    if seed < 0:
        raise LcdvtError(f"seed={seed}: give a whole number from 0 on.")
    folder = Path(directory)
    try:
        make_room(folder, force, TRUTH, OUR_FILES)
        classes = _write(description, folder, FORMATS[survey][chosen](folder), chosen, objects, seed, progress)
    except OSError as error:
        raise LcdvtError(
            f"cannot write the simulation to {folder}: {error.strerror or error}; {TRUTH} lists the stars that are "
            "complete; make room or choose another folder, and run again with force=True."
        ) from error
    return Simulation(survey, chosen, folder, seed, objects, classes)


def _format(survey: str, wanted: str | None) -> str:
    known = FORMATS[survey]
    if wanted is None:
        return next(iter(known))
    if wanted not in known:
        raise LcdvtError(f"format={wanted}: {survey} files are written as {', '.join(known)}.")
    return wanted


def _write(
    survey: SimulatedSurvey,
    folder: Path,
    files: RawFiles,
    format: str,
    objects: int,
    seed: int,
    progress: Progress,
) -> dict[str, int]:
    counts: Counter[str] = Counter()
    bands = [band.name for band in survey.bands]
    # The `.mjd` layout carries the class in the folder names; the others need a table.
    needs_labels = format != "mjd"
    with (folder / TRUTH).open("w", newline="") as truth_file:
        truth = csv.writer(truth_file, lineterminator="\n")
        truth.writerow(
            ["id", "class", "subclass", "period", "ra", "dec", *(f"mean_{band}" for band in bands)]
            + [f"amplitude_{band}" for band in bands]
        )
        labels_file = (folder / LABELS).open("w", newline="") if needs_labels else None
        try:
            labels = csv.writer(labels_file, lineterminator="\n") if labels_file else None
            if labels:
                labels.writerow(["id", "class", "ra", "dec"])
            for index in range(objects):
                observation = observe(survey, seed, index, files.field_of(index))
                written = files.write(observation)
                for object_id in (written,) if isinstance(written, str) else written:
                    truth.writerow(_truth_row(observation, object_id))
                    if labels:
                        labels.writerow([object_id, observation.survey_label, *_position(observation)])
                counts[observation.label] += 1
                if (index + 1) % OBJECTS_BETWEEN_REPORTS == 0 or index + 1 == objects:
                    progress(index + 1, objects)
        finally:
            files.close()
            if labels_file:
                labels_file.close()
    return dict(sorted(counts.items()))


def _position(observation: Observation) -> list[str]:
    return [f"{observation.ra:.5f}", f"{observation.dec:.5f}"]


def _truth_row(observation: Observation, object_id: str) -> list[str]:
    star = observation.star
    period = f"{star.period:.8g}" if star.period == star.period else ""
    means = [f"{mean:.4f}" for mean in observation.mean_mag.values()]
    amplitudes = [f"{amplitude:.4f}" for amplitude in observation.amplitude.values()]
    return [object_id, star.label, star.subclass, period, *_position(observation), *means, *amplitudes]
