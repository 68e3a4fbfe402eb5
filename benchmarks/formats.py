"""Throughput of each file format of today's surveys: MB/s, and the ratio to pyarrow's or astropy's own reader.

For each format, simulated stars are written in it, and the same bytes are read twice, turn by turn, in one process:

- by lcdvt, from bytes to sorted epochs in the stored time system (detection, ids, flags, sentinels, fluxes);
- by a library that only parses: pyarrow's CSV reader for text (of text with blanks, the same numbers with commas, one
  thread), pyarrow's Parquet reader for the wanted columns, astropy for FITS and VOTable, json and fastavro for records.

The ratio is that of the least processor times, all threads; above a third is the goal.

Usage: python benchmarks/formats.py [--stars N] [--epochs N] [--repeat N] [--only WORD] [--json FILE]
"""

import argparse
import io
import json
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from helpers import today_files

from lcdvt.catalogs.reading.reader import Piece, read_pieces
from lcdvt.catalogs.registry import find_survey
from lcdvt.epochs.block import block_from_raw

Epoch = tuple[float, float, float]


class Case(NamedTuple):
    """A format: its files, and a library's way to read the same bytes."""

    survey: str
    files: dict[str, bytes]
    library: str
    read: Callable[[], object]


def light_curves(count: int, epochs: int, *, flux: bool) -> list[list[Epoch]]:
    """Return simulated light curves, by date."""
    rng = np.random.default_rng(16)
    found = []
    for _ in range(count):
        mjd = np.sort(rng.uniform(58000, 60000, epochs)).round(5)
        value = (rng.normal(100, 60, epochs) if flux else 15 + rng.normal(0, 0.3, epochs)).round(3)
        error = (rng.uniform(5, 9, epochs) if flux else rng.uniform(0.01, 0.05, epochs)).round(3)
        found.append(list(zip(mjd.tolist(), value.tolist(), error.tolist(), strict=True)))
    return found


def csv_reader(files: dict[str, bytes], data_line: str, *, blanks: bool) -> Callable[[], object]:
    """Return pyarrow's reader of the data lines of all files as one CSV of the same columns."""
    lines: list[str] = []
    for content in files.values():
        chosen = (line.strip() for line in content.decode().splitlines() if re.match(data_line, line))
        lines += (re.sub(r"\s+", ",", line) if blanks else line for line in chosen)
    text = ("\n".join(lines) + "\n").encode()
    options = pc.ReadOptions(use_threads=False, autogenerate_column_names=True)
    return lambda: pc.read_csv(io.BytesIO(text), read_options=options)


def text_cases(count: int, epochs: int) -> dict[str, Case]:
    """Return the text formats."""
    mags, fluxes = light_curves(count, epochs, flux=False), light_curves(count, epochs, flux=True)
    zeros = [0] * epochs
    with_id = {
        "ZTF, IRSA's CSV": ("ztf", "657105200011802", lambda rows: today_files.ztf_csv_text(rows, zeros), mags),
        "Gaia, wide CSV": ("gaia", "2328619740476096384", today_files.gaia_wide_text, mags),
        "Gaia, long CSV": (
            "gaia",
            "2328619740476096384",
            lambda rows: today_files.gaia_long_text(rows, [False] * epochs),
            mags,
        ),
        "Pan-STARRS1, MAST's CSV": ("ps1", "124730826144485622", today_files.mast_text, fluxes),
    }
    cases = {}
    for name, (survey, star, write, curves) in with_id.items():
        files = {}
        for number, rows in enumerate(curves):
            own = f"{int(star) + number}"
            files[f"{own}.csv"] = write(rows).replace(star, own).encode()
        cases[name] = Case(survey, files, "pyarrow CSV", csv_reader(files, r"[\d-]", blanks=False))
    sky = {f"{n}.csv": today_files.sky_patrol_text(rows, []).encode() for n, rows in enumerate(mags)}
    cases["ASAS-SN, Sky Patrol 1"] = Case("asassn", sky, "pyarrow CSV", csv_reader(sky, r"\d", blanks=False))
    named = {
        "OGLE .dat": ("ogle", "phot/I/OGLE-LMC-CEP-{:04d}.dat", today_files.ogle_text, mags, r"\s*\d"),
        "ASAS-3 blocks": ("asas", "{}.lc", lambda rows: today_files.asas_text([rows]), mags, r"\s*\d"),
        "NEOWISE, IPAC table": ("neowise", "{}.tbl", today_files.neowise_text, mags, r"\s+\d"),
        "ZTF forced photometry": (
            "ztf-forced",
            "forcedphotometry_req1_lc_{}.txt",
            today_files.forced_text,
            fluxes,
            r" \d",
        ),
    }
    for name, (survey, file, write, curves, line) in named.items():
        files = {file.format(n): write(rows).encode() for n, rows in enumerate(curves)}
        for number, key in enumerate(files):  # their ids stand in the file
            files[key] = (
                files[key].replace(b"171129+0042.6", b"%06d+0042.6" % number).replace(b" 77\n", b" %d\n" % number)
            )
        cases[name] = Case(survey, files, "pyarrow CSV", csv_reader(files, line, blanks=True))
    lasair = {
        f"{n}.json": today_files.lasair_text(rows).replace("313637921267122191", f"{313637921267122191 + n}").encode()
        for n, rows in enumerate(fluxes)
    }
    cases["Rubin, Lasair's JSON"] = Case(
        "lsst", lasair, "json", lambda: [json.loads(content) for content in lasair.values()]
    )
    return cases


def table_cases(count: int, epochs: int) -> dict[str, Case]:
    """Return the formats that are no text."""
    mags = np.array(light_curves(count, epochs, flux=False))
    mjd, mag, err = mags[:, :, 0], mags[:, :, 1], mags[:, :, 2]
    nested = io.BytesIO()
    lists = {"hmjd": mjd, "mag": mag.astype(np.float32), "magerr": err.astype(np.float32)}
    columns = {
        "objectid": pa.array(np.arange(count) + 657105200011802),
        "filterid": pa.array(np.ones(count, dtype=np.uint8)),
        "objra": pa.array(np.linspace(0, 359, count)),
        "objdec": pa.array(np.linspace(-80, 80, count)),
        **{name: pa.array(list(values)) for name, values in lists.items()},
        "catflags": pa.array(list(np.zeros((count, epochs), dtype=np.uint16))),
    }
    pq.write_table(pa.table(columns), nested)
    flat = io.BytesIO()
    table = {
        "diaObjectId": np.repeat(np.arange(count) + 169645854020337671, epochs),
        "midpointMjdTai": mjd.ravel(),
        "scienceFlux": 10 ** (-0.4 * (mag.ravel() - 31.4)),
        "scienceFluxErr": np.full(mag.size, 200.0),
        "band": np.tile(np.array(["u", "g", "r", "i"]), mag.size // 4 + 1)[: mag.size],
        "ra": np.repeat(np.linspace(0, 359, count), epochs),
        "dec": np.repeat(np.linspace(-80, 20, count), epochs),
    }
    pq.write_table(pa.table(table), flat)
    return {
        "ZTF, bulk Parquet with lists": Case(
            "ztf", {"bulk.parquet": nested.getvalue()}, "pyarrow", lambda: pq.read_table(nested, use_threads=False)
        ),
        "Rubin, DiaSource Parquet": Case(
            "lsst", {"DiaSource.parquet": flat.getvalue()}, "pyarrow", lambda: pq.read_table(flat, use_threads=False)
        ),
        **astropy_cases(mjd, mag, err),
        **avro_case(mjd, mag),
    }


def astropy_cases(mjd: np.ndarray, mag: np.ndarray, err: np.ndarray) -> dict[str, Case]:
    """Return FITS of Kepler and VOTable of Gaia."""
    from astropy.io import fits
    from astropy.io.votable import parse_single_table
    from astropy.table import Table

    kepler, gaia = {}, {}
    for number in range(len(mjd)):
        columns = [
            fits.Column("TIME", "D", array=mjd[number] - 54832.5),
            fits.Column("PDCSAP_FLUX", "E", array=10 ** (-0.4 * (mag[number] - 25))),
            fits.Column("PDCSAP_FLUX_ERR", "E", array=np.ones(mjd.shape[1])),
            fits.Column("SAP_QUALITY", "J", array=np.zeros(mjd.shape[1], dtype=int)),
        ]
        data = fits.BinTableHDU.from_columns(columns)
        data.header["BJDREFI"] = 2454833
        primary = fits.PrimaryHDU()
        primary.header["OBJECT"] = f"EPIC {number}"
        content = io.BytesIO()
        fits.HDUList([primary, data]).writeto(content)
        kepler[f"{number}.fits"] = content.getvalue()
        rows = "".join(
            f"<TR><TD>{2328619740476096384 + number}</TD><TD>G</TD><TD>{t:.6f}</TD><TD>{m:.4f}</TD><TD>1000.0</TD>"
            f"<TD>{e * 921:.4f}</TD><TD>F</TD><TD>F</TD></TR>\n"
            for t, m, e in zip(mjd[number] - 55197, mag[number], err[number], strict=True)
        )
        fields = (
            ("source_id", 'datatype="long"'), ("band", 'datatype="char" arraysize="*"'), ("time", 'datatype="double"'),
            ("mag", 'datatype="double"'), ("flux", 'datatype="double"'), ("flux_error", 'datatype="double"'),
            ("rejected_by_photometry", 'datatype="boolean"'), ("rejected_by_variability", 'datatype="boolean"'),
        )  # fmt: skip
        head = "".join(f'<FIELD name="{name}" {kind}/>' for name, kind in fields)
        gaia[f"{number}.xml"] = (
            '<?xml version="1.0"?><VOTABLE version="1.3" xmlns="http://www.ivoa.net/xml/VOTable/v1.3"><RESOURCE>'
            f"<TABLE>{head}<DATA><TABLEDATA>\n{rows}</TABLEDATA></DATA></TABLE></RESOURCE></VOTABLE>"
        ).encode()
    return {
        "Kepler, FITS": Case(
            "kepler", kepler, "astropy", lambda: [Table.read(io.BytesIO(c), hdu=1) for c in kepler.values()]
        ),
        "Gaia, VOTable": Case(
            "gaia", gaia, "astropy", lambda: [parse_single_table(io.BytesIO(c)).to_table() for c in gaia.values()]
        ),
    }


def avro_case(mjd: np.ndarray, mag: np.ndarray) -> dict[str, Case]:
    """Return Rubin's alert packets, if fastavro is installed."""
    try:
        import fastavro
    except ImportError:
        return {}
    names = {"diaObjectId": "long", "midpointMjdTai": "double", "scienceFlux": "float", "scienceFluxErr": "float"}
    names |= {"band": "string", "ra": "double", "dec": "double"}
    fields = [{"name": name, "type": kind} for name, kind in names.items()]
    source = {"type": "record", "name": "source", "fields": fields}
    schema = fastavro.parse_schema(
        {
            "type": "record",
            "name": "alert",
            "fields": [
                {"name": "diaSource", "type": source},
                {"name": "prvDiaSources", "type": {"type": "array", "items": "source"}},
            ],
        }
    )
    packets = {}
    for number in range(len(mjd)):
        rows = [
            {"diaObjectId": number + 1, "midpointMjdTai": t, "scienceFlux": 10 ** (-0.4 * (m - 31.4)),
             "scienceFluxErr": 200.0, "band": "r", "ra": 10.0, "dec": -20.0}
            for t, m in zip(mjd[number].tolist(), mag[number].tolist(), strict=True)
        ]  # fmt: skip
        content = io.BytesIO()
        fastavro.writer(content, schema, [{"diaSource": rows[-1], "prvDiaSources": rows[:-1]}])
        packets[f"{number}.avro"] = content.getvalue()
    read = lambda: [list(fastavro.reader(io.BytesIO(content))) for content in packets.values()]  # noqa: E731
    return {"Rubin, alert packets (Avro)": Case("lsst", packets, "fastavro", read)}


def least_cpu(work: Callable[[], object], repeat: int) -> float:
    """Return the processor time of the least disturbed turn."""
    costs = []
    for _ in range(repeat):
        began = time.process_time()
        work()
        costs.append(time.process_time() - began)
    return min(costs)


def measure(case: Case, repeat: int) -> dict[str, float | str]:
    """Read the case by both ways and return the figures."""
    survey = find_survey(case.survey)
    pieces = [Piece(name, content=content) for name, content in case.files.items()]

    def ours() -> int:
        block = block_from_raw(survey, read_pieces(survey, pieces))
        return int(block.mjd.size)

    epochs = ours()  # compiles, too
    case.read()
    size = sum(map(len, case.files.values())) / 1e6
    own, other = least_cpu(ours, repeat), least_cpu(case.read, repeat)
    return {
        "library": case.library, "mb": round(size, 2), "epochs": epochs, "mb_per_s": round(size / own, 1),
        "library_mb_per_s": round(size / other, 1), "ratio": round(other / own, 3),
        "million_epochs_per_s": round(epochs / own / 1e6, 2),
    }  # fmt: skip


def throughput(stars: int, epochs: int, repeat: int, only: str = "") -> dict[str, dict[str, float | str]]:
    """Measure every format, print a line for each, and return the figures.

    Parameters
    ----------
    stars, epochs
        How many stars there are, with how many epochs each.
    repeat
        Turns; the least disturbed counts.
    only
        Only formats with this word in their name.
    """
    warnings.simplefilter("ignore")  # of astropy, about the dialect of the VOTables written here
    cases = text_cases(stars, epochs) | table_cases(stars, epochs)
    found = {}
    print(f"{'format':32s} {'MB':>6s} {'MB/s':>7s} {'library':>12s} {'MB/s':>8s} {'ratio':>6s} {'10⁶ epochs/s':>13s}")
    for name, case in cases.items():
        if only in name:
            found[name] = one = measure(case, repeat)
            print(
                f"{name:32s} {one['mb']:6.1f} {one['mb_per_s']:7.1f} {one['library']:>12s} "
                f"{one['library_mb_per_s']:8.1f} {one['ratio']:6.2f} {one['million_epochs_per_s']:13.2f}"
            )
    return found


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stars", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="only formats with this word in their name")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = throughput(arguments.stars, arguments.epochs, arguments.repeat, arguments.only)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
