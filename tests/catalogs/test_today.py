"""The surveys of today in their own files, bytes unchanged: what is stored equals a count made without our readers.

Each `…_rows` function below reads the raw text (or FITS, VOTable, Parquet by their own libraries) in plain Python and
yields (object, band, MJD, magnitude, error) of every epoch that may be used, the MJD still in the file's own system.
`in_barycentric_tdb` then moves them by astropy's own times.
"""

import contextlib
import csv
import gzip
import itertools
import json
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import lcdvt
from lcdvt.catalogs.describing.describe import describe
from lcdvt.catalogs.describing.known import known_format
from lcdvt.catalogs.describing.look import look_at
from lcdvt.catalogs.reading.files import read_whole
from lcdvt.catalogs.reading.reader import read_file
from lcdvt.catalogs.registry import find_survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.catalogs.time_system import TimeSystem
from lcdvt.epochs.block import EpochBlock, block_from_raw
from lcdvt.errors import LcdvtError
from lcdvt.ingestion.new_survey import new_survey

Row = tuple[str, str, float, float, float]
Rows = Callable[[Path], Iterable[Row]]
Epoch = tuple[float, float, float]
JD, POGSON = 2_400_000.5, 2.5 / math.log(10)
A_SECOND = 1 / 86400  # an MJD in UTC says nothing finer on the day of a leap second


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def text_of(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


def dicts(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV below its comments and empty lines."""
    lines = [line for line in text_of(path).splitlines() if line.strip() and not line.startswith("#")]
    return csv.DictReader(lines)


def bare(path: Path) -> Iterator[list[float]]:
    """The numbers of a file without a header."""
    return ([float(value) for value in line.split()] for line in text_of(path).splitlines() if line.strip())


ZERO_POINTS = {"atlas": 23.9, "lsst": 31.4, "ztf-forced": 23.9, "tess": 20.44, "kepler": 25.10}
"""The surveys of fluxes: their rows are fluxes of this zero point."""


def in_asinh_magnitudes(epochs: list[Epoch], zero_point: float) -> list[Epoch]:
    """The epochs of one star and band, fluxes before: Lupton's magnitudes, softened by the median error."""
    soft = statistics.median(err for _, _, err in epochs)
    return [
        (
            mjd,
            zero_point - POGSON * (math.asinh(flux / 2 / soft) + math.log(soft)),
            POGSON * err / math.sqrt(flux**2 + 4 * soft**2),
        )
        for mjd, flux, err in epochs
    ]


def ogle_rows(path: Path) -> Iterator[Row]:
    name = path.name.removesuffix(".gz").removesuffix(".dat")
    star = f"lmc_sc10.{name}" if "phot_O2" in path.parts else name
    zero = 0.0 if "phot_O2" in path.parts else 2_450_000.0
    for time, mag, err in bare(path):
        yield star, path.parent.name, time + zero - JD, mag, err


def asas_rows(path: Path) -> Iterator[Row]:
    text = text_of(path)
    star = re.search(r"(?m)^#desig=\s*(\S+)", text)[1]  # type: ignore[index]
    for line in text.splitlines():
        if not line.startswith("#"):
            fields = line.split()
            if fields[11] in "AB":  # the first aperture of each block, whatever its name there
                yield star, "V", float(fields[0]) + 2_450_000 - JD, float(fields[1]), float(fields[6])


def sky_patrol_1_rows(path: Path) -> Iterator[Row]:
    for row in dicts(path):
        if not row["mag"].startswith(">") and row["mag"] != "99.990":
            star = f"{path.stem}|{row['Camera']}"
            yield star, row["Filter"], float(row["HJD"]) - JD, float(row["mag"]), float(row["mag_err"])


def sky_patrol_1_limits(path: Path) -> Iterator[Row]:
    for row in dicts(path):
        if row["mag"].startswith(">"):
            yield path.stem, row["Filter"], float(row["HJD"]) - JD, float(row["mag"][1:]), 1.0


def sky_patrol_2_rows(path: Path) -> Iterator[Row]:
    for row in dicts(path):
        if row["Quality"] == "G" and float(row["Mag Error"]) < 99:
            star = f"{path.name.split('-')[0]}|{row['Camera']}"
            yield star, row["Filter"], float(row["JD"]) - JD, float(row["Mag"]), float(row["Mag Error"])


def vxmen_rows(path: Path) -> Iterator[Row]:
    for row in dicts(path):  # no camera of the V band is in this file
        yield f"12702|{row['cam']}", "g", float(row["jd"]) - JD, float(row["mag"]), float(row["mag_err"])


def hjd_rows(path: Path) -> Iterator[Row]:
    for row in dicts(path):
        hjd = row["hjd"] if "hjd" in row else row["HJD"]
        star = f"{path.stem}|{row['camera']}" if "camera" in row else path.stem
        yield star, row.get("Filter", "V"), float(hjd) - JD, float(row["mag"]), float(row["mag_err"])


def atlas_rows(path: Path) -> Iterator[Row]:
    for line in text_of(path).splitlines()[1:]:
        fields = line.split()
        if fields[5] in "co":
            yield path.stem, fields[5], float(fields[0]), float(fields[3]), float(fields[4])


def catalina_rows(path: Path) -> Iterator[Row]:
    for row in dicts(path):
        if row["Blend"] == "0":
            yield row["MasterID"], "V_CSS", float(row["MJD"]), float(row["Mag"]), float(row["Magerr"])


def catalina_dat_rows(path: Path) -> Iterator[Row]:
    return ((path.stem, "V_CSS", *row[:3]) for row in bare(path))  # type: ignore[misc]


def gaia_alert_rows(path: Path) -> Iterator[Row]:
    star, _, *lines = text_of(path).splitlines()
    for line in lines:
        fields = line.split(",")
        if len(fields) == 3:
            yield star, "G", float(fields[1]) - JD, number(fields[2]), 0.02


def votable_cells(path: Path) -> Iterator[list[str]]:
    for row in re.findall(r"(?s)<TR>(.*?)</TR>", text_of(path)):
        yield [cell.strip() for _, cell in re.findall(r"(?s)<TD(/>|>(.*?)</TD>)", row)]


def gaia_rows(path: Path) -> Iterator[Row]:
    for cells in votable_cells(path):
        source, _, band, time, mag, flux, flux_error, _, photometry, variability, *_ = cells
        if (photometry, variability) == ("F", "F"):
            err = POGSON * number(flux_error) / number(flux)
            yield source, band, float(time) + 2_455_197.5 - JD, number(mag), err


def gavo_rows(path: Path) -> Iterator[Row]:
    for time, phot, flux, flux_error in votable_cells(path):
        err = POGSON * float(flux_error) / float(flux)
        yield "1866721434011386240", "G", float(time) - JD, float(phot), err


def gaia_parquet_rows(path: Path) -> Iterator[Row]:
    for row in pd.read_parquet(path).itertuples():
        yield path.stem, "G", row.time + 2_455_197.5 - JD, row.mag, row.mag_err


def lasair_rows(path: Path) -> Iterator[Row]:
    found = json.loads(path.read_text())
    for row in found["diaSourcesList"]:
        old = "midPointTai" in row
        names = ("midPointTai", "filterName", "psFlux") if old else ("midpointMjdTai", "band", "scienceFlux")
        time, band, flux = (row[name] for name in names)
        yield str(found["diaObject"]["diaObjectId"]), band, time, flux, row[f"{names[2]}Err"]


def rubin_rows(path: Path) -> Iterator[Row]:
    import pyarrow.parquet as pq

    for alert in pq.read_table(path, columns=["diaSource", "prvDiaSources"]).to_pylist():
        star = str(alert["diaSource"]["diaObjectId"])
        for row in [alert["diaSource"], *(alert["prvDiaSources"] or ())]:
            flux, err = row["scienceFlux"], row["scienceFluxErr"]
            if flux is not None and err is not None and star != "0":  # 0: a moving object
                yield star, row["band"], row["midpointMjdTai"], flux, err


def macho_rows(path: Path) -> Iterator[Row]:
    for line in text_of(path).splitlines()[3:]:
        time, mag, err = map(float, line.split())
        by_the_clock = datetime(1858, 11, 17) + timedelta(days=time)  # in the eastern United States
        offset = by_the_clock.replace(tzinfo=ZoneInfo("America/New_York")).utcoffset()
        yield "1.3444.614", "R", time - offset / timedelta(days=1), mag, err  # type: ignore[operator]


def neowise_rows(path: Path) -> Iterator[Row]:
    header, *rest = (line for line in text_of(path).splitlines() if not line.startswith("\\"))
    edges = [place for place, letter in enumerate(header) if letter == "|"]
    names = [name.strip() for name in header.strip("|").split("|")]
    for line in rest[3:]:  # cut at the bars, as IPAC's definition says, not at the blanks
        cells = [line[a + 1 : b + 1].strip() for a, b in itertools.pairwise(edges)]
        row = dict(zip(names, cells, strict=True))
        if row["qual_frame"] != "0" and row["cc_flags"] == "0000":
            for band in ("w1", "w2"):
                mag, err = number(row[f"{band}mpro"]), number(row[f"{band}sigmpro"])
                yield row["allwise_cntr"], band.upper(), float(row["mjd"]), mag, err


def neowise_limits(path: Path) -> Iterator[Row]:
    return ((*row[:4], 1.0) for row in neowise_rows(path) if math.isfinite(row[3]) and not math.isfinite(row[4]))


def ps1_rows(path: Path) -> Iterator[Row]:
    for line in text_of(path).splitlines()[1:]:
        err, band, time, mag = line.split()
        yield "-5039827050189979073", band, float(time), float(mag), float(err)


def ptf_rows(path: Path) -> Iterator[Row]:
    for row in dicts(path):
        if row["goodflag"] == "1":
            band = {"1": "g", "2": "R"}[row["fid"]]
            yield row["oid"], band, float(row["obsmjd"]), number(row["mag_autocorr"]), number(row["magerr_auto"])


def sdss_rows(path: Path) -> Iterator[Row]:
    for row in bare(path):
        for place, band in enumerate("ugriz"):
            time, mag, err = row[2 + 3 * place : 5 + 3 * place]
            if mag != -99.99:
                yield path.stem, band, time, mag, err


def vvv_rows(path: Path) -> Iterator[Row]:
    return ((path.stem.removeprefix("lc_"), "Ks", *row[:3]) for row in bare(path))  # type: ignore[misc]


def fits_rows(
    star: str, band: str, zero_date: float, flux: str, err: str, quality: str
) -> Callable[[Path], Iterator[Row]]:
    def rows(path: Path) -> Iterator[Row]:
        from astropy.io import fits

        with fits.open(path) as units:
            for row in units[1].data:
                if not quality or row[quality] == 0:
                    yield star, band, float(row["TIME"]) + zero_date - JD, float(row[flux]), float(row[err])

    return rows


def ztf_rows(path: Path) -> Iterator[Row]:
    for row in dicts(path):
        if not int(row["catflags"]) & 32768:
            yield row["oid"], row["filtercode"][1], float(row["hjd"]) - JD, float(row["mag"]), float(row["magerr"])


def ztf_votable_rows(path: Path) -> Iterator[Row]:
    for oid, _, hjd, _, mag, magerr, catflags, band, *_ in votable_cells(path):
        if not int(catflags) & 32768:
            yield oid, band[1], float(hjd) - JD, float(mag), float(magerr)


def ztf_bulk_rows(path: Path) -> Iterator[Row]:
    import pyarrow.parquet as pq

    for row in pq.read_table(path).to_pylist():
        for time, mag, err, flags in zip(row["hmjd"], row["mag"], row["magerr"], row["catflags"], strict=True):
            if not flags & 32768:
                yield str(row["objectid"]), "?gri"[row["filterid"]], time, mag, err


def snad_rows(path: Path) -> Iterator[Row]:
    for row in dicts(path):
        time = float(row["time"] if "time" in row else row["mjd"])
        if not int(row.get("catflags", "0")) & 32768:
            yield path.stem, row.get("band", "g"), time, float(row["mag"]), float(row["magerr"])


def antares_rows(path: Path) -> Iterator[Row]:
    for row in dicts(path):
        yield path.stem, row["band"].lower(), float(row["time"]), float(row["mag"]), float(row["magerr"])


def alerce_rows(path: Path) -> Iterator[Row]:
    for row in dicts(path):
        mag, err = number(row["magpsf_corr"]), number(row["sigmapsf_corr_ext"])
        yield path.parent.name, "?gri"[int(row["fid"])], float(row["mjd"]), mag, err


def alerce_parquet_rows(path: Path) -> Iterator[Row]:
    for row in pd.read_parquet(path).reset_index().itertuples():
        if row.magpsf_corr != 100 and row.sigmapsf_corr_ext != 100:
            yield row.oid, "?gri"[row.fid], row.mjd, row.magpsf_corr, row.sigmapsf_corr_ext


def forced_rows(path: Path) -> Iterator[Row]:
    header, *lines = (line for line in text_of(path).splitlines() if not line.startswith("#"))
    names = [name.strip() for name in header.split(",")]
    star = path.stem.rpartition("_lc_")[2]
    for line in lines:
        row = dict(zip(names, line.split(), strict=True))
        if row["infobitssci"] == "0" and row["procstatus"] in ("0", "57"):
            flux, err, zero = (number(row[name]) for name in ("forcediffimflux", "forcediffimfluxunc", "zpdiff"))
            to_microjansky = 10 ** (-0.4 * (zero - 23.9))
            yield star, row["filter"][-1], float(row["jd"]) - JD, flux * to_microjansky, err * to_microjansky


def by_star(found: dict[tuple[str, str], list[Epoch]]) -> dict[tuple[str, str], list[Epoch]]:
    """The epochs of a star in all its cameras ("star|camera"), each brought to the camera with the most epochs.

    An offset is the median difference to the nearest epoch of those before, no more than a day away, where that is more
    than three times its error.
    """
    cameras = defaultdict(list)
    for (name, band), epochs in found.items():
        cameras[name.partition("|")[0], band].append((name, epochs))
    merged = {}
    for key, several in cameras.items():
        several.sort(key=lambda one: (-len(one[1]), one[0]))
        there = list(several[0][1])
        apart = []
        for _, own in several[1:]:
            nearest = [(min(there, key=lambda other, mjd=mjd: abs(other[0] - mjd)), mjd, mag) for mjd, mag, _ in own]  # type: ignore[misc]
            pairs = sorted(other[1] - mag for other, mjd, mag in nearest if abs(other[0] - mjd) <= 1)
            if len(pairs) < 5:
                apart += own
                continue
            low, high = np.percentile(pairs, [16, 84])
            middle = statistics.median(pairs)
            shift = middle if abs(middle) > 3 * 1.2533 * (high - low) / 2 / math.sqrt(len(pairs)) else 0.0
            there += [(mjd, mag + shift, err) for mjd, mag, err in own]
        merged[key] = sorted(there + apart)
    return merged


SYSTEMS: dict[str, tuple[str, str, float]] = {
    "asas": ("utc", "sun", 0), "asassn": ("utc", "sun", 0), "atlas": ("utc", "earth", 15),
    "catalina": ("utc", "earth", 0), "gaia": ("tcb", "barycentre", 0),
    "kepler": ("tdb", "barycentre", 0), "lsst": ("tai", "earth", 0),
    "neowise": ("utc", "earth", 0), "ogle": ("utc", "sun", 0), "ps1": ("tai", "earth", 0), "ptf": ("utc", "earth", 0),
    "sdss-s82": ("tai", "earth", 0), "tess": ("tdb", "barycentre", 0), "ztf": ("utc", "sun", 0),
    "ztf-alerts": ("utc", "earth", 15), "ztf-forced": ("utc", "earth", 15),
}  # fmt: skip
"""Scale, place and seconds to the middle of the exposure, from the READMEs beside the files; others are left alone."""


def places(path: Path, survey: str) -> dict[str, tuple[float, float]]:
    """The position of each star, "" for that of all, read without our readers; empty where the file has none."""
    text = text_of(path) if path.suffix not in (".parquet", ".fits") else ""
    first = next(iter(dicts(path)), {}) if path.suffix == ".csv" else {}
    match survey:
        case "asas":
            hours, degrees = (float(re.search(rf"(?m)^#{key}=\s*(\S+)", text)[1]) for key in ("cra", "cdec"))  # type: ignore[index]
            return {"": (15 * hours, degrees)}
        case "atlas":
            fields = text.splitlines()[1].split()
            return {"": (float(fields[8]), float(fields[9]))}
        case "catalina" if path.suffix != ".dat":
            return {row["MasterID"]: (float(row["RA"]), float(row["Dec"])) for row in dicts(path)}
        case "ztf" | "ptf" | "ztf-alerts" if "ra" in first:
            return {"": (float(first["ra"]), float(first["dec"]))}
        case "ztf" if path.suffix == ".xml":
            return {cells[0]: (float(cells[8]), float(cells[9])) for cells in votable_cells(path)}
        case "ztf" | "ztf-alerts" if path.suffix == ".parquet":
            names = ("objectid", "objra", "objdec") if survey == "ztf" else ("oid", "ra", "dec")
            rows = pd.read_parquet(path).reset_index()[list(names)].itertuples(index=False)
            return {str(star): (float(ra), float(dec)) for star, ra, dec in rows}
        case "ztf-forced":
            ra, dec = (re.search(rf"input {axis} = (\S+)", text)[1] for axis in (r"R\.A\.", r"Dec\."))  # type: ignore[index]
            return {"": (float(ra), float(dec))}
        case "neowise":
            return {"": tuple(map(float, text.splitlines()[-1].split()[:2]))}  # type: ignore[dict-item]
        case "sdss-s82":
            return {"": tuple(next(bare(path))[:2])}  # type: ignore[dict-item]
        case "lsst" if path.suffix == ".json":
            return {"": (json.loads(text)["diaObject"]["ra"], json.loads(text)["diaObject"]["decl"])}
        case "lsst":
            import pyarrow.parquet as pq

            alerts = [row["diaSource"] for row in pq.read_table(path, columns=["diaSource"]).to_pylist()]
            return {str(row["diaObjectId"]): (row["ra"], row["dec"]) for row in alerts}
    return {}


def in_barycentric_tdb(rows: Iterable[Row], path: Path, survey: str) -> list[Row]:
    """The rows with their dates moved by astropy, with the tables that it brings along."""
    import astropy.units as u
    import numpy as np
    from astropy.coordinates import EarthLocation, SkyCoord
    from astropy.time import Time
    from astropy.utils import iers

    whole = [row for row in rows if math.isfinite(row[2])]
    if survey not in SYSTEMS or not whole:
        return whole
    scale, place, to_middle = SYSTEMS[survey]
    if "skypatrol_v2" in path.parts or path.name == "vxmen.csv":
        place = "earth"  # JD, not HJD
    centre = EarthLocation.from_geocentric(0, 0, 0, u.m)
    known = places(path, survey)
    at = np.array([known.get(row[0], known.get("", (np.nan, np.nan))) for row in whole])
    settings = {"auto_download": False, "auto_max_age": None, "iers_degraded_accuracy": "ignore"}
    with contextlib.ExitStack() as stack:
        for name, value in settings.items():
            stack.enter_context(iers.conf.set_temp(name, value))
        time = Time([row[2] for row in whole], format="mjd", scale=scale, location=centre) + to_middle * u.s
        moved = time.tdb.mjd
        if place != "barycentre" and known:
            star = SkyCoord(at[:, 0] * u.deg, at[:, 1] * u.deg)
            delay = time.light_travel_time(star, "barycentric").to_value("d")
            if place == "sun":
                delay = delay - time.light_travel_time(star, "heliocentric").to_value("d")
            moved = moved + delay
    return [(star, band, float(mjd), mag, err) for (star, band, _, mag, err), mjd in zip(whole, moved, strict=True)]


TESS, KEPLER = 2_457_000.0, 2_454_833.0
READ: dict[str, tuple[str, Rows]] = {
    **{f"ogle/phot_O{era}/{band}/OGLE-LMC-CEP-{star}.dat": ("ogle", ogle_rows)
       for era in "34" for band in "IV" for star in ("0005", "0227")},
    **{f"ogle/phot_O2/lmc_sc10/phot/{name}": ("ogle", ogle_rows) for name in
       ("I/95827.dat", "V/95827.dat", "B/95827.dat.gz")},
    **{f"asas3/{name}": ("asas", asas_rows) for name in
       ("171129+0042.6.lc", "174947-3505.9.lc", "175952-8237.7.lc", "t_sex_asas3_vband.txt", "x_ari_asas3_vband.txt")},
    **{f"asassn/light_curve_{name}.csv": ("asassn", sky_patrol_1_rows) for name in
       ("03ce0bc8-42ef-48f4-a463-ce657f0bf77a", "b4508c12-b04a-467c-9e20-6881885cf0fb",
        "bb61d0ed-b07f-4e87-8881-769866dd896e")},
    **{f"asassn/skypatrol_v2/{star}-light-curves.csv": ("asassn", sky_patrol_2_rows) for star in
       ("317827964025", "455267102087", "60130040391")},
    "asassn/vxmen.csv": ("asassn", vxmen_rows),
    "asassn/wd_lc.csv": ("asassn", hjd_rows),
    "asassn/variable_star_db/u170-asas.csv": ("asassn", hjd_rows),
    **{f"atlas/{name}.txt": ("atlas", atlas_rows) for name in
       ("1104021300462510500_2842_diff", "1131955320471705300_2923_diff", "job211831")},
    **{f"crts/{name}": ("catalina", catalina_rows) for name in
       ("dde60-crts.csv", "rr_leo_catalina.txt", "sv_eri_catalina.txt", "v445_oph_catalina.txt",
        "x_ari_catalina.txt", "w_uma_1121081014342.csv")},
    **{f"crts/sss_dr2/{star}.dat": ("catalina", catalina_dat_rows) for star in
       ("3039001008411", "3041001010523", "3043001016067")},
    **{f"gaia_alerts/{name}.csv": ("gaia-alerts", gaia_alert_rows) for name in ("g16ams-gaia", "gaia23bao")},
    "gaia_dr3/gaia_multiband.xml": ("gaia", gaia_rows),
    "gaia_dr3/ts.vot": ("gaia", gavo_rows),
    **{f"gaia_dr3/repackaged/{star}.parquet": ("gaia", gaia_parquet_rows) for star in
       ("3491640706062470400", "5283265044923053952")},
    **{f"lsst/lasair/{star}.json": ("lsst", lasair_rows) for star in ("176898540302238267", "313637921267122191")},
    "lsst/rubin_sample_data_10_0.parquet": ("lsst", rubin_rows),
    "macho/lc_1.3444.614.R.txt": ("macho", macho_rows),
    "neowise/ASASSN-21qj_2013-2021.tbl": ("neowise", neowise_rows),
    "ps1/ps1_-5039827050189979073cleaned.txt": ("ps1", ps1_rows),
    **{f"ptf/{name}.csv": ("ptf", ptf_rows) for name in ("sv_eri_ptf", "tv_lyn_ptf_2", "uy_cam_ptf")},
    **{f"sdss_s82/{star}.dat": ("sdss-s82", sdss_rows) for star in ("27887", "4099", "98874")},
    "tess_kepler/ktwo211436265-c05_llc.fits": ("kepler", fits_rows(
        "EPIC 211436265", "Kp", KEPLER, "PDCSAP_FLUX", "PDCSAP_FLUX_ERR", "SAP_QUALITY")),
    "tess_kepler/test-lc-tess-pimen-100-cadences.fits": ("tess", fits_rows(
        "TIC 261136679", "TESS", TESS, "PDCSAP_FLUX", "PDCSAP_FLUX_ERR", "QUALITY")),
    "tess_kepler/test-lc-tess-pimen_s1_eleanor_lite-100-cadences.fits": ("tess", fits_rows(
        "TIC 261136679", "TESS", TESS, "CORR_FLUX", "FLUX_ERR", "QUALITY")),
    "tess_kepler/test_K2_interact_generated_custom-lc.fits": ("kepler", fits_rows(
        "201367065", "Kp", KEPLER, "FLUX", "FLUX_ERR", "")),
    "tess_kepler/test_TESS_interact_generated_custom-lc.fits": ("tess", fits_rows(
        "TIC 206544316", "TESS", TESS, "FLUX", "FLUX_ERR", "")),
    **{f"vvv/lc_{star}.dat": ("vvv", vvv_rows) for star in ("b201_348164", "b201_79804")},
    **{f"ztf/irsa/{name}.csv": ("ztf", ztf_rows) for name in
       ("dde60-zg1", "dde60-zg2", "dde60-zg3", "dde60-zr2", "rybka2-zg1", "rybka2-zi1", "rybka2-zr1")},
    "ztf/irsa/TimeSeriesZTF.xml": ("ztf", ztf_votable_rows),
    "ztf/dr_bulk/DR5_field_example.parquet": ("ztf", ztf_bulk_rows),
    **{f"ztf/snad/{oid}.csv": ("ztf", snad_rows) for oid in ("536106200014286", "640202200001881")},
    **{f"ztf/antares/{star}.csv": ("ztf-alerts", antares_rows) for star in
       ("ZTF19aaxqsbn", "ZTF19abpbvsk", "ZTF20abkdpsy")},
    "ztf/alerce/detections.csv": ("ztf-alerts", alerce_rows),
    "ztf/alerce/detections_sample.parquet": ("ztf-alerts", alerce_parquet_rows),
    "ztf/forced/forcedphotometry_req00010458_lc.txt": ("ztf-forced", forced_rows),
    "ztf/forced/forcedphotometry_req00012234_lc_ZTF21aaqwjlz.txt": ("ztf-forced", forced_rows),
}  # fmt: skip
"""What is read, with every epoch kept that may be used."""

LIMITS = {sky_patrol_1_rows: sky_patrol_1_limits, neowise_rows: neowise_limits}
"""The surveys whose files have upper limits; in the others none may be found."""

REFUSED = {
    "gaia_dr3/repackaged/c180-34-gdr3.dat": r"is from no survey known here: describe it \(`lcdvt surveys new",
    "lsst/10_0_alert.json": r"has the flux of the difference image alone",
    "lsst/10_0_fakeAlert.avro": r"some rows have no id",
    "lsst/11_0_fakeAlert.avro": r"some rows have no id",
    "lsst/7_4_fakeAlert.avro": r"has the flux of the difference image alone",
    "lsst/latest.txt": r"is from no survey known here",
    "ogle/README.txt": r"is from no survey known here",
    "tess_kepler/test-lc-tess-pimen-corrupted.fits": r"corrupted\.fits is a damaged fits file .+ fetch it again",
    "ztf/alerce/30_sne_non_detections.csv": r"it has 635 upper limits of 30 stars and no epoch: give it together",
}
"""What is no light curve of a star, or none that can be known from the file."""

SATURATED = ("rr_leo_catalina.txt", "sv_eri_catalina.txt", "v445_oph_catalina.txt", "x_ari_catalina.txt")


@pytest.fixture(scope="session")
def today(real_data: Path) -> Path:
    folder = real_data / "raw" / "today"
    if not folder.is_dir():
        pytest.skip(f"{folder} does not exist: no files of today's surveys to test on")
    return folder


def stored(name: str) -> dict[tuple[str, str], list[tuple[float, float, float]]]:
    found = defaultdict(list)
    for part in lcdvt.open_survey(name).iter_epochs():
        frame = part if hasattr(part, "itertuples") else part.to_pandas()
        for row in frame.itertuples():
            found[str(row.object_id), str(row.band)].append((row.mjd, row.mag, row.mag_err))
    return found


def counted(rows: Iterable[Row]) -> dict[tuple[str, str], list[tuple[float, float, float]]]:
    found: dict[tuple[str, str], set[tuple[float, float, float]]] = defaultdict(set)
    for star, band, mjd, mag, err in rows:
        if math.isfinite(mag) and math.isfinite(mjd) and err > 0:
            found[star, band].add((mjd, mag, err))
    return {key: sorted(epochs) for key, epochs in found.items()}


def test_every_file_is_in_one_of_the_lists(today):
    files = {str(path.relative_to(today)) for path in today.rglob("*") if path.is_file()}
    notes = {name for name in files if Path(name).name in ("README.md", "MANIFEST.tsv", "DOCUMENTED.md")}
    assert files - notes == {*READ, *REFUSED}


@pytest.mark.parametrize("name", READ)
def test_what_is_stored_equals_an_independent_count(name, today, workspace):
    survey, rows = READ[name]
    result = lcdvt.ingest(today / name, clean="none", features="none", jobs=1)
    assert (result.name, result.problems) == (survey, [])
    expected = by_star(counted(in_barycentric_tdb(rows(today / name), today / name, survey)))
    found = stored(survey)
    assert {key: len(epochs) for key, epochs in found.items()} == {key: len(epochs) for key, epochs in expected.items()}
    for key, epochs in expected.items():
        if survey in ZERO_POINTS:
            epochs = in_asinh_magnitudes(epochs, ZERO_POINTS[survey])
        dates, mags, errs = zip(*epochs, strict=True)
        own_dates, own_mags, own_errs = zip(*found[key], strict=True)
        assert max(abs(a - b) for a, b in zip(sorted(dates), sorted(own_dates), strict=True)) < A_SECOND
        assert sum(own_mags) / len(own_mags) == pytest.approx(sum(mags) / len(mags), abs=1e-5)
        assert sum(own_errs) / len(own_errs) == pytest.approx(sum(errs) / len(errs), rel=1e-4)
    limits = in_barycentric_tdb(LIMITS.get(rows, lambda _: ())(today / name), today / name, survey)
    own = lcdvt.open_survey(survey).limits.to_table().to_pandas()
    assert result.totals["limits"] == len(own) == len(limits)
    for (star, band, mjd, limit, _), mine in zip(sorted(limits), own.itertuples(), strict=True):
        assert (mine.object_id, mine.band) == (star, band)
        assert abs(mine.mjd - mjd) < A_SECOND
        assert mine.mag_limit == pytest.approx(limit, abs=1e-9)
    epochs = sum(map(len, found.values())) + len(limits)
    assert result.totals["epochs_read"] == epochs + sum(result.totals["dropped_epochs"].values())


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_light_curve_is_refused_in_a_sentence(name, today, workspace):
    with pytest.raises(LcdvtError, match=REFUSED[name]) as refusal:
        lcdvt.ingest(today / name, features="none", jobs=1)
    assert Path(name).name in str(refusal.value)


@pytest.mark.parametrize("name", SATURATED)
def test_saturated_stars_are_refused_by_name_of_the_reason(name, today, workspace):
    with pytest.raises(LcdvtError, match="of a saturated star, brighter than 12 mag"):
        lcdvt.ingest(today / "crts" / name, features="none", jobs=1)


def test_negative_fluxes_are_kept_and_limits_are_kept_apart(today, workspace):
    result = lcdvt.ingest(today / "atlas" / "1104021300462510500_2842_diff.txt", clean="none", features="none", jobs=1)
    lines = text_of(today / "atlas" / "1104021300462510500_2842_diff.txt").splitlines()[1:]
    fluxes = sorted((float(line.split()[3]), float(line.split()[4])) for line in lines)
    assert result.totals["dropped_epochs"] == {}
    assert result.totals["notes"] == {"fluxes of zero or below, kept": sum(flux <= 0 for flux, _ in fluxes)}
    stored_fluxes = pd.concat(lcdvt.open_survey("atlas").iter_epochs())[["flux", "flux_err"]].to_numpy()
    assert sorted(map(tuple, stored_fluxes.round(6))) == fluxes
    assert [one.findings for one in lcdvt.verify("atlas")] == [[]]
    patrol = today / "asassn" / "light_curve_bb61d0ed-b07f-4e87-8881-769866dd896e.csv"
    result = lcdvt.ingest(patrol, clean="none", features="none", jobs=1)
    assert result.totals["dropped_epochs"] == {"missing value or sentinel": 53}
    assert result.totals["limits"] == 24


@pytest.mark.slow
def test_the_faint_half_of_a_difference_light_curve_is_what_its_period_lives_on(today, workspace, tmp_path):
    """DDE 60, an eclipsing binary, as a difference light curve in ATLAS' format: eclipses are the negative fluxes."""
    good = [row for row in dicts(today / "ztf/irsa/dde60-zg1.csv") if not int(row["catflags"]) & 32768]
    fluxes = [10 ** (-0.4 * (float(row["mag"]) - 23.9)) for row in good]
    normal = statistics.median(fluxes)
    header = text_of(today / "atlas/job211831.txt").splitlines()[0]
    lines = [
        f"{float(row['hjd']) - JD:.6f} 0 0 {flux - normal:.2f} {float(row['magerr']) * flux / POGSON:.2f} o 0 1.0 "
        "73.5 32.9 0 0 0 0 0 0 0 0 0"
        for row, flux in zip(good, fluxes, strict=True)
    ]
    (tmp_path / "all.txt").write_text("\n".join([header, *lines, ""]))
    (tmp_path / "bright.txt").write_text("\n".join([header, *(line for line in lines if "-" not in line), ""]))
    found = {}
    for name in ("all", "bright"):
        lcdvt.ingest(tmp_path / f"{name}.txt", name=name, clean="none", jobs=1)
        found[name] = float(lcdvt.open_survey(name).features()["Period"].iloc[0])
    ratios = {name: min(abs(period / (1.776396 * part) - 1) for part in (1, 0.5)) for name, period in found.items()}
    assert ratios["all"] < 1e-3, found
    assert ratios["bright"] > 1e-2, found


def test_the_cameras_of_a_star_are_brought_to_one_zero_point(today, workspace):
    """Two cameras of ASAS-SN disagree by 1.4 mag about one star: it is no variable of that amplitude."""
    path = today / "asassn/skypatrol_v2/317827964025-light-curves.csv"
    raw = [(band, mag) for _, band, _, mag, _ in sky_patrol_2_rows(path)]
    result = lcdvt.ingest(path, clean="none", features="none", jobs=1)
    assert result.totals["notes"]["cameras shifted to the zero point of a star's other cameras"] >= 4
    for band, before, after in (("V", 0.70, 0.014), ("g", 0.034, 0.02)):
        own = [mag for _, mag, _ in stored("asassn")["317827964025", band]]
        for mags, spread in (([mag for of, mag in raw if of == band], before), (own, after)):
            assert np.diff(np.percentile(mags, [16, 84]))[0] / 2 == pytest.approx(spread, rel=0.25)


def test_oids_of_ptf_are_joined_and_brought_to_one_zero_point(today, workspace, tmp_path):
    """Real epochs of SV Eri: every second row under another oid, six tenths of a magnitude off."""
    header, *rows = text_of(today / "ptf/sv_eri_ptf.csv").splitlines()
    names = header.split(",")
    mag, oid, time = (names.index(name) for name in ("mag_autocorr", "oid", "obsmjd"))
    lines = []
    for number, row in enumerate(sorted(rows, key=lambda row: float(row.split(",")[time]))):
        cells = row.split(",")
        if number % 2:
            cells[mag], cells[oid] = str(float(cells[mag]) + 0.4), "20832040009999"
        lines.append(",".join(cells))
    (tmp_path / "two.csv").write_text("\n".join([header, *sorted(lines, key=lambda line: line.split(",")[oid]), ""]))
    alone = lcdvt.ingest(tmp_path / "two.csv", clean="none", features="none", jobs=1)
    assert (alone.totals["objects"], alone.neighbours) == (2, 2)
    result = lcdvt.ingest(
        tmp_path / "two.csv", clean="none", features="none", join_radius="1arcsec", name="one", jobs=1
    )
    assert (result.totals["objects"], result.joined["offsets"]) == (1, 1)
    offsets = pd.read_parquet(workspace / "one" / "pieces.parquet").set_index("piece")["offset"]
    assert sorted(offsets.abs())[0] == 0
    assert sorted(offsets.abs())[1] == pytest.approx(0.4, abs=0.1)


def test_a_whole_collection_keeps_bands_and_eras_of_a_star_together(today, workspace):
    result = lcdvt.ingest(today / "ogle", survey="ogle", clean="none", features="none", jobs=1)
    found = stored("ogle")
    assert {key: len(epochs) for key, epochs in found.items()} == {
        ("OGLE-LMC-CEP-0005", "I"): 367 + 427,
        ("OGLE-LMC-CEP-0005", "V"): 33 + 32,
        ("OGLE-LMC-CEP-0227", "I"): 367 + 683,
        ("OGLE-LMC-CEP-0227", "V"): 40 + 207,
        ("lmc_sc10.95827", "I"): 286,
        ("lmc_sc10.95827", "V"): 36,
        ("lmc_sc10.95827", "B"): 36,
    }
    assert result.totals["objects"] == 3
    assert len(result.problems) == 2  # the two READMEs
    labels = lcdvt.open_survey("ogle").objects().set_index("object_id")["label"]
    assert labels[["OGLE-LMC-CEP-0005", "OGLE-LMC-CEP-0227"]].tolist() == ["CEP", "CEP"]  # the names say so
    assert labels.isna()["lmc_sc10.95827"]


PERIODS = {
    "ogle": {"OGLE-LMC-CEP-0227": 3.7970782, "OGLE-LMC-CEP-0005": 5.6119491, "lmc_sc10.95827": 1.97446},
    "ztf/irsa/dde60-zg1.csv": {"657105200011802": 1.776396},
    "sdss_s82": {"4099": 0.641754351271, "27887": 0.31149403602, "98874": 0.738329601782},
    "asas3/t_sex_asas3_vband.txt": {"095328+0203.4": 0.3247},
    "asas3/x_ari_asas3_vband.txt": {"030831+1026.8": 0.6511},
    "crts/dde60-crts.csv": {"1132023090438": 1.776396},
    "crts/sss_dr2": {"3039001008411": 0.51438, "3041001010523": 0.589281, "3043001016067": 0.333486},
}
"""Periods in days from the catalogues that the files' READMEs name."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PERIODS)
def test_known_periods_come_out(name, today, workspace):
    found = lcdvt.ingest(today / name, jobs=1)
    periods = lcdvt.open_survey(found.name).features().set_index("object_id")["Period"]
    for star, expected in PERIODS[name].items():
        ratio = periods[star] / expected
        assert min(abs(ratio - 1), abs(ratio - 0.5)) < 3e-4, (star, periods[star], expected)


def test_the_dates_of_catalina_fold_at_the_period_that_ztf_finds(today, workspace):
    """The dates themselves, without our period search: the folded curve of an Algol is smooth."""
    lcdvt.ingest(today / "crts" / "dde60-crts.csv", clean="none", features="none", jobs=1)
    epochs = stored("catalina")["1132023090438", "V_CSS"]

    def length(period: float) -> float:
        folded = [mag for _, mag in sorted((mjd / period % 1, mag) for mjd, mag, _ in epochs)]
        return sum(abs(a - b) for a, b in itertools.pairwise(folded))

    others = sorted(length(1.2 + 0.0137 * step) for step in range(100))
    assert length(1.776396) < 0.8 * others[0]


@pytest.mark.parametrize("name", READ)
def test_surveys_new_writes_a_description_that_reads_the_file_like_the_built_in_one(name, today, tmp_path):
    made = new_survey("mine", today / name, tmp_path / "mine.toml")
    built_in = find_survey(READ[name][0])
    assert (made.survey.name, made.survey.bands, made.survey.time) == ("mine", built_in.bands, built_in.time)
    assert len(made.survey.formats) == 1
    assert made.survey.formats[0] in built_in.formats
    assert made.epochs == sum(map(len, counted(READ[name][1](today / name)).values()))


NOT_GUESSED = {
    "lsst/rubin_sample": "two lists of epochs in a row: which is meant nobody can tell",
    "sdss_s82/": "five bands side by side without a header",
    "ptf/": "hmjd is taken, as in every file with a heliocentric date; that it is off cannot be seen",
    "asas3/": "the order of apertures changes within the file",
    "macho/": "its dates are in a local time",
}
"""What the file alone does not tell, by the beginning of its name; `surveys new` knows these formats all the same."""
ID_NOT_GUESSED = (
    *("ogle/phot_O2", "asassn/skypatrol_v2", "vvv/", "ps1/", "tess_kepler/", "gaia_dr3/ts.vot", "gaia_alerts/"),
    *("ztf/alerce/detections.csv", "ztf/forced/"),
)
"""Where the star's name is a part of the file's name, of its folders or of its header."""
ZERO_POINT_NOT_GUESSED = ("ogle/phot_O3", "ogle/phot_O4", "gaia_dr3/", "tess_kepler/")
"""Where days count from a zero point that stands nowhere in the table: they are taken as days."""


@pytest.mark.parametrize("name", [name for name in READ if not name.startswith(tuple(NOT_GUESSED))])
def test_a_file_without_a_known_format_is_described_from_itself_alone(name, today):
    """The guess, without what is built in: every epoch that the built-in description keeps, with the same numbers."""
    path = today / name
    known, form = known_format(path)
    as_written = survey_from_toml(
        re.sub(r"(?m)^camera = .*\n", "", known.toml.replace("convert = true", "convert = false")), known.name
    )
    guessed = survey_from_toml(describe("mine", look_at(path)), "mine.toml")
    content = read_whole(str(path))
    ours, theirs = (block_from_raw(one, read_file(one, content, str(path))) for one in (as_written, guessed))

    def epochs(block: EpochBlock, time: TimeSystem) -> Counter[tuple[float, float]]:
        values = block.fluxes()[0] if block.softening is not None and known.is_flux(form) else block.mag
        raw = block.mjd - time.offset_to_mjd
        return Counter((round(t, 6), float(f"{value:.5g}")) for t, value in zip(raw, values, strict=True))

    wanted = epochs(ours, as_written.time_of(form))
    assert sum((wanted - epochs(theirs, guessed.time)).values()) <= 0.01 * wanted.total()  # rounded to the other side
    if not name.startswith(ID_NOT_GUESSED):
        assert {one.object_id for one in ours.objects} <= {one.object_id for one in theirs.objects}
    if name.startswith(ZERO_POINT_NOT_GUESSED) and guessed.time.system == "days":
        return
    assert guessed.time.offset_to_mjd == as_written.time_of(form).offset_to_mjd


def test_what_cannot_be_guessed_is_really_in_the_lists(today):
    assert all(any(name.startswith(start) for name in READ) for start in (*NOT_GUESSED, *ID_NOT_GUESSED))


def test_alerce_non_detections_go_to_the_stars_of_another_file(today, workspace, tmp_path):
    file = today / "ztf/alerce/30_sne_non_detections.csv"
    with file.open(newline="") as rows:
        limits = [(row["jd"], row["diffmaglim"]) for row in csv.DictReader(rows) if row["objectId"] == "ZTF18ablhqle"]
    seen = [f"ZTF18ablhqle,{58300 + day},1,{18 + day % 3 / 10},0.05,200.0,30.0" for day in range(20)]
    header = "oid,mjd,fid,magpsf_corr,sigmapsf_corr_ext,ra,dec"
    (tmp_path / "detections.csv").write_text("\n".join([header, *seen, ""]))
    result = lcdvt.ingest(tmp_path / "detections.csv", file, features="none", jobs=1)
    assert result.new_objects == 1
    assert result.totals["limits"] == len(set(limits)) > 10
    assert result.totals["dropped_epochs"] == {"upper limit of a dropped object": 635 - len(limits)}
    kept = lcdvt.open_survey("ztf-alerts").light_curve("ZTF18ablhqle").limits
    assert sorted(kept["mag_limit"]) == sorted(float(limit) for _, limit in limits)
    # each limit has the date of the middle of a 30 s exposure, as far as it is known where the star is
    dates = sorted(float(jd) - 2400000.5 for jd, _ in limits)
    assert max(abs(a - b) for a, b in zip(sorted(kept["mjd"]), dates, strict=True)) < 0.01
