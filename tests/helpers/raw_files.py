"""Write light curves in the surveys' raw formats, in plain Python, independent of the readers."""

import gzip
from pathlib import Path

EROS_HEADER = """\
# star:  erosid      MagR    ErrMR   XR      YR     MagB    ErrMB   XB      YB
#        {star}   15.251  0.156 896.80 1078.89  15.583  0.230 848.59 1110.42
#
#   date      MagR    ErMagR MagB    ErMagB
"""
MACHO_HEADER = """\
#Field Tile Seq RA(hour) Dec(deg) Filter mean_Mag med_Mag mean_(B-R) med_(B-R)
#{field} {tile} {seq} 5.02878 -69.171 {band} -5.578 -5.614 -0.335 -0.348
#MJD Mag Err
"""
MACHO_CSV_COLUMNS = (
    "fieldid,tileid,seqn,obsid,dateobs,exposure,airmass,rmag,rerr,rnormsky,rtype,rcrowd,rchi2,rmpix,rcosmicrf,ramp,rxpix,"
    "rypix,ravesky,rfwhm,rtobs,rcut,bmag,berr,bnormsky,btype,bcrowd,bchi2,bmpix,bcosmicrf,bamp,bxpix,bypix,bavesky,bfwhm,"
    "btobs,bcut"
).split(",")
HITS_COLUMNS = [
    "EPOCH",
    "MJD",
    "MAG_KRON",
    "MAGERR_KRON",
    *(f"{kind}_AP{i}" for i in range(1, 6) for kind in ("MAG", "MAGERR")),
]

Epoch = tuple[float, float, float]
WideEpoch = tuple[float, float, float, float, float]


def eros_text(star: str, rows: list[WideEpoch]) -> str:
    """Rows of date, red magnitude and error, blue magnitude and error."""
    lines = [f"  {date:.5f}  {r:.3f}  {re:.3f}  {b:.3f}  {be:.3f} " for date, r, re, b, be in rows]
    return EROS_HEADER.format(star=star) + "\n".join(lines) + "\n"


def write_eros(folder: Path, star: str, rows: list[WideEpoch]) -> Path:
    path = folder / star[:5] / star[:6] / star[:7] / f"{star}.time"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(eros_text(star, rows))
    return path


def macho_text(star: str, band: str, rows: list[Epoch]) -> str:
    field, tile, seq = star.split(".")
    lines = [f"{mjd:.6f} {mag:.3f} {err:.3f}" for mjd, mag, err in rows]
    return MACHO_HEADER.format(field=field, tile=tile, seq=seq, band=band) + "\n".join(lines) + "\n"


def write_macho(folder: Path, star: str, band: str, rows: list[Epoch]) -> Path:
    path = folder / f"lc_{star}.{band}.mjd"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(macho_text(star, band, rows))
    return path


def macho_csv_text(star: str, rows: list[WideEpoch]) -> str:
    """Archive CSV: rows of MJD, red magnitude and error, blue magnitude and error."""
    lines = [",".join(MACHO_CSV_COLUMNS)]
    for number, (mjd, r, re, b, be) in enumerate(rows):
        values = dict.fromkeys(MACHO_CSV_COLUMNS, "999.0")
        values |= dict(zip(("fieldid", "tileid", "seqn"), star.split("."), strict=True))
        values |= {"obsid": str(number), "dateobs": f"{mjd:.4f}", "rmag": f"{r:.3f}", "rerr": f"{re:.3f}"}
        values |= {"bmag": f"{b:.3f}", "berr": f"{be:.3f}"}
        lines.append(",".join(values.values()))
    return "\n".join(lines) + "\n"


def macho_bulk_line(star: str, row: WideEpoch) -> str:
    """One of the 39 columns' lines of the bulk dump; the first column is blank."""
    mjd, r, re, b, be = row
    columns = [""] * 39
    columns[1:4] = star.split(".")
    columns[4], columns[5] = f"{mjd:.4f}", "1096"
    columns[9], columns[10], columns[24], columns[25] = f"{r:.3f}", f"{re:.3f}", f"{b:.3f}", f"{be:.3f}"
    return ";".join(column or ("0" if i else "") for i, column in enumerate(columns))


def write_macho_bulk(folder: Path, field: int, tile: int, stars: dict[str, list[WideEpoch]]) -> Path:
    path = folder / f"F_{field}" / f"F_{field}.{tile}.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [macho_bulk_line(star, row) for star, rows in stars.items() for row in rows]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    return path


def hits_text(rows: list[Epoch]) -> str:
    lines = ["# " + "\t".join(HITS_COLUMNS)]
    for number, (mjd, mag, err) in enumerate(rows):
        lines.append("\t".join([str(number), f"{mjd:.6f}", *([f"{mag:.4f}", f"{err:.4f}"] * 6)]))
    return "\n".join(lines) + "\n"


def hits_psf_text(rows: list[Epoch]) -> str:
    head = (
        "# Worst epoch    : 05\n# Worst MJD      : 57070.1\n# Worst seeing   : 7.1\n"
        "# Aperture radii : seeing * [0.5]\n# Aperture radii : [3.2]\n"
    )
    lines = [
        ",xcenter,ycenter,aperture_flx_0,ra,dec,mjd,aperture_mag_0,aperture_mag_err_0,aperture_mag_1,aperture_mag_err_1"
    ]
    for number, (mjd, mag, err) in enumerate(rows):
        lines.append(f"{number},10.1,11.2,1234.5,150.25,2.5,{mjd:.6f},25.0,9.0,{mag:.4f},{err:.4f}")
    return head + "\n".join(lines) + "\n"
