"""HiTS light curves as `.dat` files, as one pack per CCD, or as PSF photometry."""

import gzip
import io
import tarfile
from pathlib import Path

import numpy as np

from lcdvt.simulator.files import write_file
from lcdvt.simulator.observation import Observation
from lcdvt.simulator.star import Array
from lcdvt.simulator.survey import FEWEST_EPOCHS

FIELDS = 50
STARS_PER_CCD = 40
CCDS = tuple(f"{side}{number}" for side in "NS" for number in range(1, 32))
APERTURES = 5
NO_APERTURE = 99.0  # SExtractor's value where an aperture has no positive flux
DAT_COLUMNS = (
    "EPOCH", "MJD", "MAG_KRON", "MAGERR_KRON",
    *(name for aperture in range(1, APERTURES + 1) for name in (f"MAG_AP{aperture}", f"MAGERR_AP{aperture}")),
)  # fmt: skip
PSF_COLUMNS = (
    "", "xcenter", "ycenter", *(f"aperture_flx_{k}" for k in range(APERTURES)),
    *(f"aperture_flx_err_{k}" for k in range(APERTURES)), "mjd", "epoch", "aperture_mag_err_0_cat", "ra", "dec",
    *(name for k in range(APERTURES) for name in (f"aperture_mag_{k}", f"aperture_mag_err_{k}")),
)  # fmt: skip
PIXELS_X, PIXELS_Y = 2048, 4096
COUNTS_ZERO_POINT = 25.0

_DAT_HEADER = "# " + "\t".join(DAT_COLUMNS) + "\n"
_DAT_ROW = "%02d\t%.6f\t" + "\t".join(["%.4f"] * (2 + 2 * APERTURES)) + "\n"
_PSF_ROW = "%d," + ",".join(["%.3f"] * (2 + 2 * APERTURES)) + ",%.6f,%02d,%.4f,%.6f,%.6f"
_PSF_ROW += ",%.4f" * (2 * APERTURES) + "\n"


class _Ccds:
    """How objects are named: field, CCD, and the pixel they fall on."""

    @staticmethod
    def field_of(index: int) -> int:
        """Return the number of the field that star `index` lies in; beyond fifty fields the sky goes on."""
        block = index // STARS_PER_CCD
        return block % FIELDS + 1 + block // (FIELDS * len(CCDS)) * FIELDS

    @staticmethod
    def address(observation: Observation) -> tuple[str, str, str]:
        """Return field, CCD and object name; each star has its own strip of the CCD, so no two collide."""
        block, place = divmod(observation.index, STARS_PER_CCD)
        field, ccd = f"Blind15A_{observation.field:02d}", CCDS[block // FIELDS % len(CCDS)]
        strip = PIXELS_Y // STARS_PER_CCD
        x, y = observation.rng.integers(PIXELS_X), place * strip + observation.rng.integers(strip)
        return field, ccd, f"{field}_{ccd}_{x:04d}_{y:04d}"


class DatFiles(_Ccds):
    """One tab-separated file per object in its field and CCD folder."""

    def __init__(self, directory: Path) -> None:
        self._root = directory / "lightcurves"

    def write(self, observation: Observation) -> str:
        """Write the object's file."""
        field, ccd, name = self.address(observation)
        write_file(self._root / field / ccd / f"{name}_g.dat", _dat_text(observation))
        return name

    def close(self) -> None:
        """Nothing is left open."""


class Packs(_Ccds):
    """The same files packed: one `.tar.gz` per CCD, no folders inside."""

    def __init__(self, directory: Path) -> None:
        self._root = directory / "lightcurves"
        self._path: Path | None = None
        self._gzip: gzip.GzipFile | None = None
        self._tar: tarfile.TarFile | None = None

    def write(self, observation: Observation) -> str:
        """Append the object to its CCD's pack."""
        field, ccd, name = self.address(observation)
        pack = self._open(self._root / field / ccd / f"{field}_{ccd}_LC_occ{FEWEST_EPOCHS}.tar.gz")
        content = _dat_text(observation).encode("ascii")
        member = tarfile.TarInfo(f"{name}_g.dat")
        member.size = len(content)
        pack.addfile(member, io.BytesIO(content))
        return name

    def _open(self, path: Path) -> tarfile.TarFile:
        """Return the CCD's pack, which stays open while its objects come one after the other."""
        if self._tar is None or path != self._path:
            self.close()
            path.parent.mkdir(parents=True, exist_ok=True)
            # No time stamp: the same seed gives the same bytes.
            self._gzip = gzip.GzipFile(path, "wb", compresslevel=4, mtime=0)
            self._path, self._tar = path, tarfile.TarFile(fileobj=self._gzip, mode="w")
        return self._tar

    def close(self) -> None:
        """Finish the pack under way."""
        if self._tar is not None and self._gzip is not None:
            self._tar.close()
            self._gzip.close()
        self._tar = self._gzip = None


class PsfFiles(_Ccds):
    """PSF-matched aperture photometry: five comment lines, a header, an unnamed index column."""

    def __init__(self, directory: Path) -> None:
        self._root = directory / "lightcurves" / "galaxy"

    def write(self, observation: Observation) -> str:
        """Write the object's file."""
        field, _, name = self.address(observation)
        write_file(self._root / field / f"{name}_g_psf_ff.csv", _psf_text(observation))
        return name

    def close(self) -> None:
        """Nothing is left open."""


def _apertures(observation: Observation, mag: Array, err: Array) -> tuple[Array, Array]:
    """Magnitudes and errors in five growing apertures (columns): the small ones lose light, the large ones add sky."""
    lost_light = np.array([0.62, 0.28, 0.11, 0.04, 0.01])
    more_noise = np.array([0.8, 0.85, 1.0, 1.3, 1.7])
    errors = err[:, None] * more_noise
    mags = mag[:, None] + lost_light + 0.5 * errors * observation.rng.standard_normal(errors.shape)
    return mags, errors


def _dat_text(observation: Observation) -> str:
    measured = observation.measured["g"]
    epochs = np.flatnonzero(measured.seen)
    mag, err = measured.mag[epochs], measured.err[epochs]
    mags, errors = _apertures(observation, mag, err)
    failed = observation.rng.random(mags.shape) < 0.002
    mags[failed], errors[failed] = NO_APERTURE, NO_APERTURE
    apertures = np.stack([mags, errors], axis=2).reshape(epochs.size, -1)
    table = np.column_stack([epochs + 1.0, observation.visits.mjd[epochs], mag, err, apertures])
    return _DAT_HEADER + _DAT_ROW * epochs.size % tuple(table.ravel().tolist())


def _psf_text(observation: Observation) -> str:
    measured = observation.measured["g"]
    epochs = np.flatnonzero(measured.seen)
    mjd, err = observation.visits.mjd[epochs], measured.err[epochs]
    mags, errors = _apertures(observation, measured.mag[epochs], err)
    flux = 10 ** (0.4 * (COUNTS_ZERO_POINT - mags))
    centres = 20 + observation.rng.normal(0, 0.1, (epochs.size, 2))
    position = np.tile([observation.ra, observation.dec], (epochs.size, 1))
    photometry = np.stack([mags, errors], axis=2).reshape(epochs.size, -1)
    index = np.arange(epochs.size, dtype=float)
    table = np.column_stack(
        [index, centres, flux, flux * errors / 1.0857, mjd, epochs + 1.0, err, position, photometry]
    )
    worst = int(np.argmax(observation.visits.error_factor[epochs]))
    seeing = 1.9
    radii = " ".join(f"{seeing / 0.27 * factor:.4f}" for factor in (0.5, 0.75, 1.0, 1.25, 1.5))
    comments = (
        f"# Worst epoch    : {epochs[worst] + 1:02d}\n# Worst MJD      : {mjd[worst]:.6f}\n"
        f"# Worst seeing   : {seeing}\n# Aperture radii : seeing * [0.5, 0.75, 1., 1.25, 1.5]\n"
        f"# Aperture radii : [{radii}]\n"
    )
    return comments + ",".join(PSF_COLUMNS) + "\n" + _PSF_ROW * epochs.size % tuple(table.ravel().tolist())
