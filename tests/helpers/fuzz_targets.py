"""Everything of ours that reads what others wrote, each with good examples to spoil.

A target takes the spoilt bytes and either works or refuses with an LcdvtError: any other exception is a crash.
"""

import bz2
import gzip
import io
import lzma
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import lcdvt
from helpers import today_files
from helpers.raw_files import eros_text, hits_psf_text, hits_text, macho_bulk_line, macho_csv_text, macho_text
from lcdvt.catalogs.describing.describe import describe
from lcdvt.catalogs.describing.look import look_at
from lcdvt.catalogs.guess_survey import guess_survey
from lcdvt.catalogs.reading.files import archive_members, decompressed, list_files
from lcdvt.catalogs.reading.hats_folder import hats_partitions
from lcdvt.catalogs.reading.reader import read_file
from lcdvt.catalogs.registry import builtin_toml, find_survey
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.epochs.block import block_from_raw, check_epochs, epochs_schema
from lcdvt.epochs.clean import clean, find_rule
from lcdvt.epochs.limits import check_limits
from lcdvt.errors import LcdvtError
from lcdvt.ingestion.labels import load_catalogue

RUN = Path(__file__).parents[1] / "data" / "run-0.1"
WIDE = [(300.0 + day, 15.0 + day % 7 / 10, 0.02, 16.0 + day % 5 / 10, 0.03) for day in range(40)]
LONG = [(57070.0 + day / 5, 20.0 + day % 7 / 10, 0.05) for day in range(40)]
TABLE_TOML = """
name = "mine"
bands = ["g", "r"]
[[formats]]
type = "{type}"
id = "{{star}}"
band_column = "{prefix}band"
time = "{prefix}mjd"
mag = "{prefix}mag"
err = "{prefix}err"
"""


@dataclass(frozen=True)
class Target:
    """Something that reads files: good examples, and what is done with a spoilt one."""

    name: str
    examples: tuple[bytes, ...]
    read: Callable[[bytes], object]

    def feed(self, content: bytes) -> None:
        """Read the content; a refusal in a sentence is as good as success."""
        try:
            self.read(content)
        except LcdvtError as error:
            assert str(error).strip(), "a refusal without a word"


def _to_epochs(survey: Survey, content: bytes, name: str) -> None:
    """Read, arrange and clean as an ingest does; whatever comes out is a proper table."""
    curves = read_file(survey, decompressed(content, name), name)
    block = block_from_raw(survey, curves)
    clean(block, find_rule(survey.clean, "fuzz"))
    table = block.to_arrow()
    check_epochs(table.cast(pa.schema([pa.field(f.name, _plain(f.type)) for f in table.schema])), name)
    assert table.column_names == epochs_schema(survey).names
    check_limits(block.limits.to_arrow([found.object_id for found in block.objects], block.bands), name)


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_dictionary(kind) else kind


def _long_csv() -> bytes:
    rows = [f"s{star},V,{2450000 + day}.5,{15 + day % 7 / 10},0.02" for star in range(3) for day in range(20)]
    return "\n".join(["id,band,time,mag,err", *rows, ""]).encode()


def _text_targets() -> Iterator[Target]:
    bulk = "\n".join(macho_bulk_line(f"1.2.{star}", row) for star in range(3) for row in WIDE[:10]) + "\n"
    examples = {
        "eros .time": ("eros", "lm0010k1.time", eros_text("lm0010k1", WIDE)),
        "macho .mjd": ("macho", "lc_1.2.3.B.mjd", macho_text("1.2.3", "B", LONG)),
        "macho archive csv": ("macho", "LC_1.2.3.csv", macho_csv_text("1.2.3", WIDE)),
        "macho bulk dump": ("macho", "F_1.2", bulk),
        "hits .dat": ("hits", "Blind15A_01_N1_0001_0002_g.dat", hits_text(LONG)),
        "hits psf csv": ("hits", "Blind15A_01_N1_0001_0002_psf_ff.csv", hits_psf_text(LONG)),
        "catalina csv": ("catalina-csv", "catalina.csv", _long_csv().decode()),
    }
    for name, (survey, file, text) in examples.items():
        read = partial(_to_epochs, find_survey(survey), name=file)
        yield Target(f"reader: {name}", (text.encode(),), read)
    packed = tuple(press(examples["eros .time"][2].encode()) for press in (gzip.compress, bz2.compress, lzma.compress))
    yield Target("reader: compressed", packed, partial(_to_epochs, find_survey("eros"), name="lm0010k1.time.gz"))


def _today_targets() -> Iterator[Target]:
    """The formats of today's surveys: blocks, flags, limits, fluxes, bars, commas in the header only, JSON."""
    flux = [(57070.0 + day / 5, 100.0 - 5 * day, 3.0) for day in range(40)]
    examples = {
        "ogle .dat": ("ogle", "phot/I/OGLE-LMC-CEP-0227.dat", today_files.ogle_text(LONG)),
        "ztf csv": ("ztf", "x.csv", today_files.ztf_csv_text(LONG, [0, 32768] * 20)),
        "sky patrol csv": ("asassn", "x.csv", today_files.sky_patrol_text(LONG, [14.5, 15.5])),
        "asas blocks": ("asas", "x.lc", today_files.asas_text([LONG[:20], LONG[20:]])),
        "gaia wide csv": ("gaia", "x.csv", today_files.gaia_wide_text(LONG)),
        "gaia long csv": ("gaia", "x.csv", today_files.gaia_long_text(LONG, [False, True] * 20)),
        "mast csv": ("ps1", "x.csv", today_files.mast_text(flux)),
        "ipac table": ("neowise", "x.tbl", today_files.neowise_text(LONG)),
        "ztf forced": ("ztf-forced", "x.txt", today_files.forced_text(flux)),
        "lasair json": ("lsst", "x.json", today_files.lasair_text(flux)),
        "atlas text": ("atlas", "x.txt", today_files.atlas_text(flux)),
        "crts csv": ("catalina", "x.csv", today_files.catalina_text(LONG)),
        "ptf csv": ("ptf", "x.csv", today_files.ptf_text(LONG)),
        "stripe 82": ("sdss-s82", "4099.dat", today_files.sdss_text(LONG)),
        "sky patrol 2 csv": ("asassn", "1-light-curves.csv", today_files.sky_patrol_2_text(LONG)),
        "gaia alert csv": ("gaia-alerts", "x.csv", today_files.gaia_alert_text(LONG)),
        "alerce csv": ("ztf-alerts", "x.csv", today_files.alerce_text(LONG)),
        "ztf votable": ("ztf", "x.xml", today_files.ztf_votable_text(LONG)),
        "fink csv": ("ztf-alerts", "x.csv", today_files.fink_text([(*row, 16.0, 0.01, "f") for row in LONG])),
    }
    for name, (survey, file, text) in examples.items():
        yield Target(f"reader: {name}", (text.encode(),), partial(_to_epochs, find_survey(survey), name=file))


def _list_parquet() -> bytes:
    """ZTF's bulk files: lists side by side in the row of an oid."""
    content = io.BytesIO()
    columns: dict[str, object] = {"objectid": [1, 2], "filterid": [1, 2], "objra": [1.0, 2.0], "objdec": [3.0, 4.0]}
    columns |= {"hmjd": [[58000.5, 58001.5]] * 2, "mag": [[15.0, 15.5]] * 2, "magerr": [[0.1, 0.1]] * 2}
    columns |= {"catflags": [[0, 32768]] * 2}
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


def _kepler_fits() -> bytes:
    """A light curve of Kepler: keywords in the primary header, fluxes below."""
    from astropy.io import fits

    day = np.arange(50.0)
    columns = [
        fits.Column("TIME", "D", array=2306.0 + day),
        fits.Column("PDCSAP_FLUX", "E", array=1000.0 + day),
        fits.Column("PDCSAP_FLUX_ERR", "E", array=np.ones(50)),
        fits.Column("SAP_QUALITY", "J", array=np.zeros(50, dtype=int)),
    ]
    table = fits.BinTableHDU.from_columns(columns)
    table.header["BJDREFI"] = 2454833
    primary = fits.PrimaryHDU()
    primary.header["OBJECT"] = "EPIC 1"
    content = io.BytesIO()
    fits.HDUList([primary, table]).writeto(content)
    return content.getvalue()


def _frame() -> pd.DataFrame:
    star = np.repeat(["a", "b", "c"], 20)
    day = np.tile(np.arange(20.0), 3)
    return pd.DataFrame(
        {"star": star, "band": np.tile(["g", "r"], 30), "mjd": 57000 + day, "mag": 15 + day % 7 / 10, "err": 0.02}
    )


def _table_bytes(frame: pd.DataFrame, kind: str) -> bytes:
    from astropy.table import Table

    content = io.BytesIO()
    if kind == "parquet":
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), content)
    else:
        columns = {name: np.asarray(frame[name].tolist()) for name in frame.columns}
        Table(columns).write(content, format="fits" if kind == "fits" else "votable")
    return content.getvalue()


def _nested_parquet() -> bytes:
    frame = _frame()
    fields = ["band", "mjd", "mag", "err"]
    lists = [pa.array([group[name].tolist() for _, group in frame.groupby("star")]) for name in fields]
    content = io.BytesIO()
    pq.write_table(pa.table({"star": ["a", "b", "c"], "lc": pa.StructArray.from_arrays(lists, fields)}), content)
    return content.getvalue()


def _table_targets() -> Iterator[Target]:
    for kind in ("parquet", "fits", "votable"):
        survey = survey_from_toml(TABLE_TOML.format(type=kind, prefix=""), "fuzz.toml")
        yield Target(f"reader: {kind}", (_table_bytes(_frame(), kind),), partial(_to_epochs, survey, name=f"x.{kind}"))
    packet = today_files.alert_packet([(61000.0 + day, 100.0 - 5 * day, 3.0) for day in range(20)])
    yield Target("reader: alert packet", (packet,), partial(_to_epochs, find_survey("lsst"), name="x.avro"))
    yield Target("reader: bulk parquet", (_list_parquet(),), partial(_to_epochs, find_survey("ztf"), name="x.parquet"))
    yield Target("reader: kepler fits", (_kepler_fits(),), partial(_to_epochs, find_survey("kepler"), name="x.fits"))
    survey = survey_from_toml(TABLE_TOML.format(type="parquet", prefix="lc."), "fuzz.toml")
    yield Target("reader: nested parquet", (_nested_parquet(),), partial(_to_epochs, survey, name="Npix=1.parquet"))


def _archive(kind: str) -> bytes:
    content = io.BytesIO()
    text = eros_text("lm0010k1", WIDE[:10]).encode()
    if kind == "zip":
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for star in range(5):
                archive.writestr(f"a/lm0010k{star}.time", text)
    else:
        with tarfile.open(fileobj=content, mode=f"w:{kind}") as tar:
            for star in range(5):
                info = tarfile.TarInfo(f"a/lm0010k{star}.time")
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text))
    return content.getvalue()


def _file_targets(folder: Path) -> Iterator[Target]:
    """Targets that read a file on disk, whose name says what it should be."""

    def written(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
        def run(content: bytes) -> object:
            path = folder / name
            path.write_bytes(content)
            return read(path)

        return run

    for name, kind in (("a.tar", ""), ("a.tar.gz", "gz"), ("a.zip", "zip")):
        read = written(name, lambda path: sum(len(member.content) for member in archive_members(path)))
        yield Target(f"archive: {name}", (_archive(kind),), read)
    texts = (eros_text("lm0010k1", WIDE).encode(), _long_csv(), _table_bytes(_frame(), "parquet"))
    flux = [(57070.0 + day / 5, 100.0 - 5 * day, 3.0) for day in range(40)]
    others = (today_files.neowise_text(LONG), today_files.gaia_alert_text(LONG), today_files.lasair_text(flux))
    samples = (*texts, *(text.encode() for text in others))
    yield Target("surveys new", samples, written("light_curve", lambda path: describe("mine", look_at(path))))
    yield Target("which survey", texts[:1], written("guessed", lambda path: guess_survey(list_files([path], set()))))
    objects = pd.DataFrame({"object_id": ["a", "b"], "ra": [1.0, 2.0], "dec": [3.0, 4.0]})
    labels = pd.DataFrame({"id": ["a", "b"], "class": ["RRL", "EB"], "ra": [1.0, 2.0], "dec": [3.0, 4.0]})

    def join(path: Path) -> None:
        load_catalogue(path).join(objects)
        load_catalogue(path, match_radius="2arcsec").join(objects)

    catalogues = {"csv": labels.to_csv(index=False).encode()}
    catalogues |= {suffix: _table_bytes(labels, kind) for suffix, kind in
                   (("parquet", "parquet"), ("fits", "fits"), ("vot", "votable"))}  # fmt: skip
    for suffix, content in catalogues.items():
        yield Target(f"labels: {suffix}", (content,), written(f"labels.{suffix}", join))
    hats = folder / "hats"
    (hats / "dataset" / "Norder=0").mkdir(parents=True)
    (hats / "dataset" / "Norder=0" / "Npix=1.parquet").write_bytes(_nested_parquet())
    properties = b"#HATS\nobs_collection=x\ndataproduct_type=object\nhats_primary_table_url=.\n"
    for name in ("hats.properties", "collection.properties"):
        yield Target(f"hats: {name}", (properties,), written(f"hats/{name}", lambda path: hats_partitions(path.parent)))


def _toml_targets() -> Iterator[Target]:
    content = eros_text("lm0010k1", WIDE).encode()

    def read(toml: bytes) -> None:
        survey = survey_from_toml(toml.decode("utf-8", errors="replace"), "fuzz.toml")
        find_rule(survey.clean, "fuzz.toml")
        block_from_raw(survey, read_file(survey, content, "lm0010k1.time"))

    names = ("eros", "macho", "hits", "ztf", "gaia", "atlas", "asassn")
    yield Target("survey toml", tuple(builtin_toml(name).encode() for name in names), read)


def _spoilt(good: Path, name: str, folder: Path, read: Callable[[Path], object]) -> Target:
    """Open a whole folder of which one file is spoilt."""
    copy = folder / f"{good.name}-{name.replace('/', '-')}"
    shutil.copytree(good, copy)

    def run(content: bytes) -> object:
        (copy / name).write_bytes(content)
        return read(copy)

    return Target(f"{good.name}: {name}", ((good / name).read_bytes(),), run)


def _run_targets(folder: Path) -> Iterator[Target]:
    from lcdvt.checks.run import check_run
    from lcdvt.results.folder import describe_runs
    from lcdvt.results.saved import load_run

    def open_run(path: Path) -> None:
        describe_runs(path.parent)
        check_run(path)
        load_run(path)

    for name in ("config.toml", "weights.safetensors", "scaler.json", "metrics.json", "history.parquet"):
        yield _spoilt(RUN, name, folder, open_run)


def _survey_targets(folder: Path) -> Iterator[Target]:
    raw = folder / "raw"
    raw.mkdir()
    for star in range(20):
        (raw / f"lm0010k{star}.time").write_text(eros_text(f"lm0010k{star}", WIDE[:12]))
    lcdvt.ingest(raw, survey="eros", data=folder / "data", features=["Mean"], jobs=1)

    def open_survey(path: Path) -> None:
        lcdvt.verify(path)
        survey = lcdvt.open_survey(path.name, path.parent)
        survey.features()
        survey.objects()
        for _ in survey.iter_epochs():
            pass

    def open_limits(path: Path) -> None:
        lcdvt.verify(path)
        lcdvt.open_survey(path.name, path.parent).light_curve("star")

    part = "part-00000.parquet"
    for name in (
        "survey.toml",
        "ingest.json",
        ".ingest/journal.jsonl",
        "objects.parquet",
        f"epochs/{part}",
        f"features/{part}",
    ):
        yield _spoilt(folder / "data" / "eros", name, folder, open_survey)
    (folder / "star.csv").write_text(today_files.sky_patrol_text(LONG, [16.5, 17.5]))
    lcdvt.ingest(folder / "star.csv", survey="asassn", data=folder / "data", features=["Mean"], jobs=1)
    yield _spoilt(folder / "data" / "asassn", f"limits/{part}", folder, open_limits)


def targets(folder: Path) -> Iterator[Target]:
    """Yield every target, the cheap ones first; those that need files have them in `folder`, which must be empty."""
    yield from _text_targets()
    yield from _today_targets()
    yield from _table_targets()
    yield from _toml_targets()
    yield from _file_targets(folder)
    yield from _run_targets(folder)
    yield from _survey_targets(folder)
