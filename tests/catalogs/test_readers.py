"""What is written in a raw format is read back equal, format by format."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.raw_files import (
    eros_text,
    hits_psf_text,
    hits_text,
    macho_bulk_line,
    macho_csv_text,
    macho_text,
)
from hypothesis import given
from hypothesis import strategies as st

from lcdvt.catalogs.reading.curves import RawCurves, join_curves
from lcdvt.catalogs.reading.reader import Piece, read_file, read_pieces
from lcdvt.catalogs.registry import find_survey
from lcdvt.catalogs.survey import Survey
from lcdvt.catalogs.survey_toml import survey_from_toml
from lcdvt.epochs.block import block_from_raw


def decimals(low: float, high: float, places: int) -> st.SearchStrategy[float]:
    scale = 10**places
    return st.integers(int(low * scale), int(high * scale)).map(lambda number: number / scale)


MAGS, ERRS = decimals(10, 22, 3), decimals(0.001, 2, 3)
wide_rows = st.lists(st.tuples(decimals(100, 9000, 5), MAGS, ERRS, MAGS, ERRS), min_size=1, max_size=40)
long_rows = st.lists(st.tuples(decimals(48000, 60000, 6), MAGS, ERRS), min_size=1, max_size=40)


def read(survey: str | Survey, text: str | bytes, name: str) -> RawCurves:
    described = find_survey(survey) if isinstance(survey, str) else survey
    return read_file(described, text.encode() if isinstance(text, str) else text, name)


def columns_of(curves: RawCurves, band: int) -> list[tuple[float, float, float]]:
    chosen = curves.epochs.band_index == band
    parts = (curves.epochs.time[chosen], curves.epochs.mag[chosen], curves.epochs.err[chosen])
    return list(zip(*(part.tolist() for part in parts), strict=True))


@given(wide_rows)
def test_eros_time_files_read_back_equal(rows):
    curves = read("eros", eros_text("lm0023l14626", rows), "x/lm0023l14626.time")
    assert [found.object_id for found in curves.objects] == ["lm0023l14626"]
    assert columns_of(curves, band=1) == [(t, r, re) for t, r, re, _, _ in rows]
    assert columns_of(curves, band=0) == [(t, b, be) for t, _, _, b, be in rows]


@given(long_rows, st.sampled_from("BR"))
def test_macho_mjd_files_read_back_equal(rows, band):
    curves = read("macho", macho_text("1.3444.614", band, rows), f"lc_1.3444.614.{band}.mjd")
    assert curves.objects[0].object_id == "1.3444.614"
    assert curves.objects[0].ra == pytest.approx(5.02878 * 15)
    read_back = np.array(columns_of(curves, band="BR".index(band)))
    written = np.array(rows)
    assert np.array_equal(read_back[:, 1:], written[:, 1:])
    hours_later = (read_back[:, 0] - written[:, 0]) * 24  # the files' clocks are those of the eastern United States
    assert all(any(abs(hours - wanted) < 1e-6 for wanted in (4, 5)) for hours in hours_later)


@given(wide_rows)
def test_macho_archive_csv_reads_back_equal(rows):
    rows = [(round(t, 4), *rest) for t, *rest in rows]
    curves = read("macho", macho_csv_text("1.3319.10", rows), "LC_1.3319.10.csv")
    assert [found.object_id for found in curves.objects] == ["1.3319.10"]
    assert columns_of(curves, band=1) == [(t, r, re) for t, r, re, _, _ in rows]
    assert columns_of(curves, band=0) == [(t, b, be) for t, _, _, b, be in rows]


@given(st.lists(wide_rows, min_size=1, max_size=4))
def test_macho_bulk_tiles_read_back_equal(stars):
    stars = [[(round(t, 4), *rest) for t, *rest in rows] for rows in stars]
    lines = [macho_bulk_line(f"1.3319.{star}", row) for star, rows in enumerate(stars) for row in rows]
    curves = read("macho", "\n".join(lines) + "\n", "F_1.3319")
    assert [found.object_id for found in curves.objects] == [f"1.3319.{star}" for star in range(len(stars))]
    assert columns_of(curves, band=1) == [(t, r, re) for rows in stars for t, r, re, _, _ in rows]
    assert curves.epochs.object_index[: curves.epochs.time.size // 2].tolist() == [
        star for star, rows in enumerate(stars) for _ in rows
    ]


@given(long_rows)
def test_hits_files_read_back_equal(rows):
    dat = read("hits", hits_text(rows), "Blind15A_01_N1_0100_0200_g.dat")
    psf = read("hits", hits_psf_text(rows), "Blind15A_01_N1_0100_0200_g_psf_ff.csv")
    for curves in (dat, psf):
        assert [found.object_id for found in curves.objects] == ["Blind15A_01_N1_0100_0200"]
        assert columns_of(curves, band=0) == rows
    assert (psf.objects[0].ra, psf.objects[0].dec) == (150.25, 2.5)


LONG_TOML = """
name = "mine"
bands = ["g", "r"]
[time]
system = "{system}"
zero_point = {zero_point}
[[formats]]
{format}
"""


@pytest.mark.parametrize(
    ("system", "zero_point", "number", "mjd"),
    [
        ("MJD", 0, 53000.25, 53000.25),
        ("JD", 0, 2453000.75, 53000.25),
        ("HJD", 2450000, 3000.75, 53000.25),
        ("HJD-2450000", 0, 3000.75, 53000.25),
        ("BJD", 2457000, 0.5, 57000.0),
        ("days", 12.5, 100.0, 112.5),
    ],
)
def test_dates_become_mjd(system, zero_point, number, mjd):
    toml = LONG_TOML.format(
        system=system,
        zero_point=zero_point,
        format='band = "g"\nid = "{star}"\nfile_name = "(?P<star>.+)"\nmag = 2\nerr = 3',
    )
    survey = survey_from_toml(toml, "mine.toml")
    block = block_from_raw(survey, read(survey, f"{number} 15.5 0.02\n", "a.txt"))
    assert block.mjd.tolist() == pytest.approx([mjd], abs=1e-9)


@given(
    st.sampled_from([",", ";", "\t", "|", "whitespace"]),
    st.lists(
        st.tuples(
            st.sampled_from(["007", "star_1", "a-b"]), decimals(50000, 60000, 5), MAGS, ERRS, st.sampled_from("gr")
        ),
        min_size=1,
    ),
)
def test_any_separator_and_many_objects_in_any_order(separator, rows):
    spoken = {"\t": "tab"}.get(separator, separator)
    format_lines = (
        f'separator = "{spoken}"\nheader = true\nid = "{{id}}"\ntime = "t"\nmag = "m"\nerr = "e"\nband_column = "b"'
    )
    survey = survey_from_toml(LONG_TOML.format(system="MJD", zero_point=0, format=format_lines), "mine.toml")
    character = "  " if separator == "whitespace" else separator
    lines = [character.join(["id", "t", "m", "e", "b"]), *(character.join(map(str, row)) for row in rows)]
    curves = read(survey, "\n".join(lines), "all.txt")
    names = [curves.objects[index].object_id for index in curves.epochs.object_index]
    bands = ["gr"[index] for index in curves.epochs.band_index]
    assert list(zip(names, curves.epochs.time, curves.epochs.mag, curves.epochs.err, bands, strict=True)) == rows


@pytest.mark.parametrize("kind", ["parquet", "fits", "votable"])
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_binary_tables_read_like_text(kind, layout, tmp_path):
    from astropy.table import Table

    columns: dict[str, object] = {"star": ["007", "007", "x 2"], "when": [53000.5, 53001.5, 53000.75]}
    if layout == "long":
        columns |= {"m": [15.0, 15.25, 16.5], "e": [0.01, 0.02, 0.03], "f": ["g", "r", "g"]}
        described = 'mag = "m"\nerr = "e"\nband_column = "f"'
    else:
        columns |= {
            "gm": [15.0, 15.25, 16.5],
            "ge": [0.01, 0.02, 0.03],
            "rm": [14.0, 14.25, 99.0],
            "re": [0.1, 0.2, 0.3],
        }
        described = 'wide.g = { mag = "gm", err = "ge" }\nwide.r = { mag = "rm", err = "re" }'
    toml = LONG_TOML.format(
        system="MJD", zero_point=0, format=f'type = "{kind}"\nid = "{{star}}"\ntime = "when"\n{described}'
    )
    survey = survey_from_toml(toml + "\n[sentinels]\nmag = [99.0]\n", "mine.toml")
    path = tmp_path / f"curves.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        Table(columns).write(path, format=kind)
    block = block_from_raw(survey, read(survey, path.read_bytes(), str(path)))
    assert [found.object_id for found in block.objects] == ["007", "x 2"]
    found = {
        (block.objects[o].object_id, block.bands[b]): block.mag[s:e].tolist()
        for o, b, s, e in zip(block.segment_object, block.segment_band, block.start[:-1], block.start[1:], strict=True)
    }
    if layout == "long":
        assert found == {("007", "g"): [15.0], ("007", "r"): [15.25], ("x 2", "g"): [16.5]}
    else:
        assert found == {("007", "g"): [15.0, 15.25], ("007", "r"): [14.0, 14.25], ("x 2", "g"): [16.5]}


def test_flux_becomes_magnitudes_with_their_errors():
    toml = LONG_TOML.format(
        system="MJD", zero_point=0, format='band = "g"\nid = "{s}"\nfile_name = "(?P<s>.+)"\nmag = 2\nerr = 3'
    )
    survey = survey_from_toml(
        toml.replace("[time]", '[magnitude]\nkind = "flux"\nflux_zero_point = 23.9\n[time]'), "mine.toml"
    )
    block = block_from_raw(survey, read(survey, "1 100.0 5.0\n2 -3.0 5.0\n", "a"))
    assert block.mag == pytest.approx([18.9, 23.9 - 1.085736 * (np.arcsinh(-0.3) + np.log(5.0))], abs=0.003)
    assert block.err[0] == pytest.approx(2.5 / np.log(10) * 0.05, rel=0.01)
    assert block.fluxes()[0] == pytest.approx([100.0, -3.0])
    assert sum(block.dropped_epochs.values()) == 0


def test_a_file_without_errors_takes_the_surveys_constant_one():
    toml = LONG_TOML.format(
        system="MJD", zero_point=0, format='band = "g"\nid = "{s}"\nfile_name = "(?P<s>.+)"\nmag = 2'
    )
    survey = survey_from_toml(toml.replace("[time]", "[magnitude]\nconstant_error = 0.03\n[time]"), "mine.toml")
    block = block_from_raw(survey, read(survey, "1 15.0\n2 15.5\n", "a"))
    assert block.err.tolist() == [0.03, 0.03]


def eros_content(kind: str, rows: list[tuple[float, ...]]) -> bytes:
    text = eros_text("lm0023l14626", rows)
    return {
        "whole": text,
        "no newline at the end": text.rstrip(),
        "half a line": text.rstrip()[:-8],
        "a word": text + "   900.5  abc  0.1  18.0  0.1\n",
        "no data": eros_text("lm0023l14626", []),
        "empty": "",
        "not ours": "time,mag\n1,2\n",
        "more comments": "# star:  erosid  again\n" + text,
    }[kind].encode()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "whole",
                    "no newline at the end",
                    "half a line",
                    "a word",
                    "no data",
                    "empty",
                    "not ours",
                    "more comments",
                ]
            ),
            wide_rows,
        ),
        max_size=6,
    )
)
def test_files_read_together_give_what_each_gives_alone(described):
    survey = find_survey("eros")
    pieces = [Piece(f"star{place}.time", content=eros_content(*file)) for place, file in enumerate(described)]
    together = read_pieces(survey, pieces)
    alone = join_curves(read_file(survey, piece.content, piece.name) for piece in pieces)
    assert [found.object_id for found in together.objects] == [found.object_id for found in alone.objects]
    assert together.problems == alone.problems
    assert together.dropped_objects == alone.dropped_objects
    rows = [sorted(zip(*(column.tolist() for column in read.epochs), strict=True)) for read in (together, alone)]
    assert rows[0] == rows[1]


def test_many_object_files_read_together_keep_their_objects_apart():
    survey = survey_from_toml(
        """
name = "tiles"
bands = ["V"]
[[formats]]
name = "tile"
separator = "comma"
header = true
id = "{star}"
time = "mjd"
mag = "mag"
err = "err"
band = "V"
""",
        "tiles.toml",
    )
    header = "star,mjd,mag,err\n"
    pieces = [
        Piece("one.csv", content=f"{header}a,50000,15,0.1\nb,50001,16,0.1\na,50002,15.5,0.1\n".encode()),
        Piece("two.csv", content=f"{header}".encode()),
        Piece("three.csv", content=f"{header}b,50003,17,0.1\n,50004,17,0.1\nc,50005,x,0.1\n".encode()),
    ]
    curves = read_pieces(survey, pieces)
    assert [(found.object_id, found.source) for found in curves.objects] == [
        ("a", "one.csv"),
        ("b", "one.csv"),
        ("b", "three.csv"),
    ]
    assert curves.epochs.object_index.tolist() == [0, 1, 0, 2]
    assert [problem.split(";")[0] for problem in curves.problems] == [
        "two.csv holds no epochs.",
        "three.csv:4: a value that is not a number",
        "three.csv: some rows have no id",
    ]
