"""Write light curves in the formats of today's surveys, in plain Python, independent of the readers."""

import json

Epoch = tuple[float, float, float]
"""MJD, magnitude and error; or MJD, flux and error for the formats of fluxes."""

ZTF_COLUMNS = (
    "oid,expid,hjd,mjd,mag,magerr,catflags,filtercode,ra,dec,chi,sharp,filefracday,field,ccdid,qid,limitmag,magzp,"
    "magzprms,clrcoeff,clrcounc,exptime,airmass,programid"
)
GAIA_WIDE_COLUMNS = (
    "solution_id,source_id,transit_id,g_transit_time,g_transit_flux,g_transit_flux_error,g_transit_flux_over_error,"
    "g_transit_mag,bp_obs_time,bp_flux,bp_flux_error,bp_flux_over_error,bp_mag,rp_obs_time,rp_flux,rp_flux_error,"
    "rp_flux_over_error,rp_mag,variability_flag_g_reject,variability_flag_bp_reject,variability_flag_rp_reject,"
    "g_other_flags,bp_other_flags,rp_other_flags,rejected_by_photometry"
)
GAIA_LONG_COLUMNS = (
    "source_id,transit_id,band,time,mag,flux,flux_error,flux_over_error,rejected_by_photometry,"
    "rejected_by_variability,other_flags,solution_id"
)
FORCED_COLUMNS = "index field filter infobitssci zpdiff jd forcediffimflux forcediffimfluxunc procstatus".split()


def ogle_text(rows: list[Epoch]) -> str:
    """OGLE-III and -IV: HJD - 2450000."""
    return "".join(f"{mjd - 49999.5:.5f} {mag:.3f} {err:.3f}\n" for mjd, mag, err in rows)


def ztf_csv_text(rows: list[Epoch], flags: list[int]) -> str:
    lines = [
        f"657105200011802,1,{mjd + 2400000.5!r},{mjd - 0.001!r},{mag},{err},{flag},zr,73.5,32.9,"
        "1,0,1,657,5,2,20,26,0,0,0,30,1,1"
        for (mjd, mag, err), flag in zip(rows, flags, strict=True)
    ]
    return "\n".join([ZTF_COLUMNS, *lines]) + "\n"


def sky_patrol_text(rows: list[Epoch], limits: list[float]) -> str:
    lines = [f"{mjd + 2400000.5!r},2019-11-30.3,bi,1.42,16.827,{mag},{err},6.204,0.135,g" for mjd, mag, err in rows]
    lines += [f"2458817.5,2019-11-30.3,bi,1.4,{limit},>{limit},99.990,1.0,2.0,g" for limit in limits]
    lines += ["2458818.5,2019-12-01.3,ba,1.4,99.990,99.990,99.990,99.990,99.990,V"]
    return "\n".join(["HJD,UT Date,Camera,FWHM,Limit,mag,mag_err,flux(mJy),flux_err,Filter", *lines]) + "\n"


def asas_text(blocks: list[list[Epoch]], grade: str = "A") -> str:
    """Each block is a dataset, whose first aperture has another name than that of the block before."""
    lines = []
    for number, rows in enumerate(blocks):
        first = number % 5
        order = [first, *(aperture for aperture in range(5) if aperture != first)]
        lines += [f"#ndata= {len(rows)}", f"#dataset= {number + 1} ; 1 F1", "#desig= 171129+0042.6"]
        lines += ["#cra=   17.191277  17:11:28.6", "#cdec=   0.709952 00:42:35.8", "#class= 0"]
        heads = [f"MAG_{aperture}" for aperture in order] + [f"MER_{aperture}" for aperture in order]
        lines += [f"#     HJD      {' '.join(heads)} GRADE FRAME"]
        for mjd, mag, err in rows:
            lines.append(f" {mjd - 49999.5!r} {mag} 11.1 11.2 11.3 11.4 {err} 0.9 0.8 0.7 0.6 {grade} 9127")
        lines.append("   1979.86380 29.999 29.999 29.999 29.999 29.999    0.027 0.042 0.017 0.018 0.016  C 12324")
    return "\n".join(lines) + "\n"


def gaia_wide_text(rows: list[Epoch]) -> str:
    """G only, BP and RP empty; the magnitude's error is given as that of a flux of 1000."""
    lines = [
        f"1,2328619740476096384,{number},{mjd - 55197.0!r},1000.0,{err * 1000 / 1.0857362047581294!r},1,{mag},"
        ",,,,,,,,,,false,false,false,5,0,0,false"
        for number, (mjd, mag, err) in enumerate(rows)
    ]
    return "\n".join([GAIA_WIDE_COLUMNS, *lines]) + "\n"


def gaia_long_text(rows: list[Epoch], rejected: list[bool]) -> str:
    lines = [
        f"2328619740476096384,1,BP,{mjd - 55197.0!r},{mag},1000.0,{err * 1000 / 1.0857362047581294!r},1,"
        f"false,{str(bad).lower()},0,1"
        for (mjd, mag, err), bad in zip(rows, rejected, strict=True)
    ]
    return "\n".join([GAIA_LONG_COLUMNS, *lines]) + "\n"


def mast_text(rows: list[Epoch]) -> str:
    """Pan-STARRS1: fluxes in jansky."""
    lines = [f"124730826144485622,1,3,{mjd!r},82.6,13.9,{flux!r},{err!r},1,1,1,1,1,0,0,0" for mjd, flux, err in rows]
    header = (
        "objID,detectID,filterID,obsTime,ra,dec,psfFlux,psfFluxErr,psfMajorFWHM,psfMinorFWHM,psfQfPerfect,apFlux,"
        "apFluxErr,infoFlag,infoFlag2,infoFlag3"
    )
    return "\n".join([header, *lines]) + "\n"


def neowise_text(rows: list[Epoch]) -> str:
    """The second band has no error: upper limits."""
    names = "ra dec w1mpro w1sigmpro w2mpro w2sigmpro cc_flags qual_frame mjd allwise_cntr".split()
    width = 22
    head = [r"\fixlen = T", r"\ comment"]
    for line in (names, ["double"] * 10, ["deg"] * 10, ["null"] * 10):
        head.append("|" + "|".join(value.ljust(width) for value in line) + "|")
    body = [
        " "
        + " ".join(str(value).rjust(width) for value in (1.5, 2.5, mag, err, 15.1, "null", "0000", 5, repr(mjd), 77))
        for mjd, mag, err in rows
    ]
    return "\n".join([*head, *body]) + "\n"


def forced_text(rows: list[Epoch]) -> str:
    """ZTF's forced photometry: fluxes in DN, each row with a zero point of its own, here 26."""
    head = [
        "# Generated by forcedphotometry_trim.pl, v3.4",
        "# Requested input R.A. = 169.5 degrees",
        "# Requested input Dec. = -18.7 degrees",
        "# Order of columns below:",
        " " + ", ".join(FORCED_COLUMNS),
        "#",
    ]
    body = [
        f" {number} 574 ZTF_g 0 26.0 {mjd + 2400000.5!r} {flux!r} {err!r} 0"
        for number, (mjd, flux, err) in enumerate(rows)
    ]
    return "\n".join([*head, *body, "# ---END---"]) + "\n"


def lasair_text(rows: list[Epoch]) -> str:
    sources = [
        {"midpointMjdTai": mjd, "band": "i", "scienceFlux": flux, "scienceFluxErr": err, "snr": float("nan")}
        for mjd, flux, err in rows
    ]
    found = {"diaObject": {"diaObjectId": 313637921267122191, "ra": 9.0, "decl": -44.0}, "diaSourcesList": sources}
    return json.dumps(found)


def fink_text(rows: list[tuple[float, float, float, float, float, str]]) -> str:
    """Rows of MJD, magnitude of the difference and its error, reference magnitude and its error, sign."""
    lines = [
        f"ZTF21aaxtctv,{mjd + 2400000.5!r},2,{mag},{err},20.5,{sign},{ref},{ref_err},10.1,-5.5"
        for mjd, mag, err, ref, ref_err, sign in rows
    ]
    header = "i:objectId,i:jd,i:fid,i:magpsf,i:sigmapsf,i:diffmaglim,i:isdiffpos,i:magnr,i:sigmagnr,i:ra,i:dec"
    return "\n".join([header, *lines, "ZTF21aaxtctv,2459000.5,2,,,19.5,,,,,"]) + "\n"


def atlas_text(rows: list[Epoch]) -> str:
    """ATLAS forced photometry: microjansky."""
    lines = [
        f"{mjd!r} 18.0 0.1 {flux!r} {err!r} o 0 1.0 10.5 -20.25 0 0 2 2 0 0.4 19.5 20 x" for mjd, flux, err in rows
    ]
    header = "###MJD m dm uJy duJy F err chi/N RA Dec x y maj min phi apfit mag5sig Sky Obs"
    return "\n".join([header, *lines]) + "\n"


def catalina_text(rows: list[Epoch]) -> str:
    lines = [f"1132023090438, {mag},{err},73.5,32.9,{mjd!r},0" for mjd, mag, err in rows]
    blended = "1132023090438, 15.0,0.1,73.5,32.9,55000.5,1"
    return "\n".join(["MasterID,Mag,Magerr,RA,Dec,MJD,Blend", *lines, blended]) + "\n"


def bare_text(rows: list[Epoch]) -> str:
    """Three columns without a header, as of the Catalina southern survey."""
    return "".join(f"{mjd:.5f} {mag:.3f} {err:.3f}\n" for mjd, mag, err in rows)


def ptf_text(rows: list[Epoch]) -> str:
    lines = [f"{mjd!r},{mag},{err},20832040004119,48.1,-8.1,2,{mjd + 0.003!r},null,1" for mjd, mag, err in rows]
    bad = "55000.5,15.0,0.1,20832040004119,48.1,-8.1,2,55000.5,null,0"
    return "\n".join(["obsmjd,mag_autocorr,magerr_auto,oid,ra,dec,fid,hmjd,limitmag,goodflag", *lines, bad]) + "\n"


def sdss_text(rows: list[Epoch]) -> str:
    """Stripe 82: u is never there, the other bands are a minute apart and a magnitude brighter each."""
    lines = []
    for mjd, mag, err in rows:
        bands = [f"{mjd + band * 0.001:.5f} {mag - band if band else -99.99:.3f} {err:.3f}" for band in range(5)]
        lines.append(f"10.500000 -0.250000 {' '.join(bands)}")
    return "\n".join(lines) + "\n"


def sky_patrol_2_text(rows: list[Epoch]) -> str:
    lines = [f"{mjd + 2400000.5!r},1.0,0.1,{mag},{err},17.0,1.5,g,G,bE" for mjd, mag, err in rows]
    lines += ["2458000.5,1.0,99.99,15.0,99.9900,99.9900,1.5,g,G,bE", "2458001.5,1.0,0.1,15.0,0.1,17.0,1.5,g,B,bE"]
    head = ["# ASAS-SN SkyPatrol ID: 455267102087", "# Gaia DR2 ID: 1", "", ""]
    columns = "JD,Flux,Flux Error,Mag,Mag Error,Limit,FWHM,Filter,Quality,Camera"
    return "\n".join([*head, columns, *lines]) + "\n"


def gaia_alert_text(rows: list[Epoch]) -> str:
    lines = [f"2014-07-26 15:28:53,{mjd + 2400000.5!r},{mag}" for mjd, mag, _ in rows]
    return (
        "\n".join(["Gaia16ams", "#Date,JD(TCB),averagemag", *lines, "2016-01-01 00:00:00,2457388.5,untrusted"]) + "\n"
    )


def alerce_text(rows: list[Epoch]) -> str:
    lines = [f'ZTF18aayusna,{mjd!r},"1",2,17.5,{mag},100.0,{err},10.5,-20.25' for mjd, mag, err in rows]
    lines += ['ZTF18aayusna,58000.5,"1",2,17.5,100.0,100.0,100.0,10.5,-20.25']
    return "\n".join(["oid,mjd,candid,fid,magpsf,magpsf_corr,sigmapsf_corr,sigmapsf_corr_ext,ra,dec", *lines]) + "\n"


def antares_text(rows: list[Epoch]) -> str:
    lines = [f"{mjd!r},{mag},{err},R" for mjd, mag, err in rows]
    return "\n".join(["time,mag,magerr,band", *lines]) + "\n"


def ztf_votable_text(rows: list[Epoch]) -> str:
    """IRSA's VOTable, of which the wanted columns are here; written by hand, because astropy's text writer crashes."""
    kinds = {"oid": "long", "hjd": "double", "mag": "double", "magerr": "double", "catflags": "int"}
    kinds |= {"filtercode": 'char" arraysize="*', "ra": "double", "dec": "double"}
    fields = "".join(f'<FIELD name="{name}" datatype="{kind}"/>' for name, kind in kinds.items())
    cells = [
        (657105200011802, repr(mjd + 2400000.5), mag, err, flag, "zr", 73.5, 32.9)
        for (mjd, mag, err), flag in [*((row, 0) for row in rows), ((58000.5, 15.0, 0.1), 32768)]
    ]
    table = "".join(f"<TR>{''.join(f'<TD>{cell}</TD>' for cell in row)}</TR>" for row in cells)
    return (
        '<?xml version="1.0"?><VOTABLE version="1.3" xmlns="http://www.ivoa.net/xml/VOTable/v1.3"><RESOURCE><TABLE>'
        f"{fields}<DATA><TABLEDATA>{table}</TABLEDATA></DATA></TABLE></RESOURCE></VOTABLE>"
    )
