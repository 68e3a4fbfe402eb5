"""Words of other people's files: how they write that there is no value, and what their bands are called."""

from typing import Final

MISSING_WORDS: Final = (
    b"nan",
    b"-nan",
    b"+nan",
    b"null",
    b"none",
    b"na",
    b"n/a",
    b"--",
    b"-",
    b"\\n",
    b"inf",
    b"-inf",
    b"+inf",
    b"untrusted",
)

# Effective wavelengths in nanometres. Instruments differ by some ten nanometres from these; a survey's own TOML says
# better in [wavelengths]. A name that means different filters in different surveys (MACHO's and EROS' B and R) is here
# with its most common meaning, and those surveys' TOML files have their own numbers.
BESSELL_2005: Final = "Bessell 2005, ARA&A 43, 293, table 1"
FUKUGITA_1996: Final = "Fukugita et al. 1996, AJ 111, 1748, table 2a"
TONRY_2012: Final = "Tonry et al. 2012, ApJ 750, 99, table 4"
RIELLO_2021: Final = "Riello et al. 2021, A&A 649, A3, table 3"
TONRY_2018: Final = "Tonry et al. 2018, PASP 130, 064505 (ATLAS)"
WRIGHT_2010: Final = "Wright et al. 2010, AJ 140, 1868 (WISE)"
BELLM_2019: Final = "Bellm et al. 2019, PASP 131, 018002 (ZTF)"

BAND_WAVELENGTHS: Final[dict[str, tuple[float, str]]] = {
    "U": (366.3, BESSELL_2005),
    "B": (436.1, BESSELL_2005),
    "V": (544.8, BESSELL_2005),
    "R": (640.7, BESSELL_2005),
    "I": (798.0, BESSELL_2005),
    "J": (1220.0, BESSELL_2005),
    "H": (1630.0, BESSELL_2005),
    "K": (2190.0, BESSELL_2005),
    "Ks": (2190.0, BESSELL_2005),
    "u": (355.7, FUKUGITA_1996),
    "g": (482.5, FUKUGITA_1996),
    "r": (626.1, FUKUGITA_1996),
    "i": (767.2, FUKUGITA_1996),
    "z": (909.7, FUKUGITA_1996),
    "y": (962.0, TONRY_2012),
    "Y": (1020.0, "Hewett et al. 2006, MNRAS 367, 454 (UKIDSS)"),
    "G": (622.0, RIELLO_2021),
    "BP": (511.0, RIELLO_2021),
    "RP": (777.0, RIELLO_2021),
    "zg": (472.2, BELLM_2019),
    "zr": (634.0, BELLM_2019),
    "zi": (788.6, BELLM_2019),
    "c": (533.0, TONRY_2018),
    "o": (679.0, TONRY_2018),
    "W1": (3353.0, WRIGHT_2010),
    "W2": (4603.0, WRIGHT_2010),
    "TESS": (786.5, "Ricker et al. 2015, JATIS 1, 014003"),
    "Kp": (640.0, "Koch et al. 2010, ApJ 713, L79"),
}


def known_wavelength(band: str) -> float | None:
    """Return the wavelength (nm) that a band of this name usually has; None where the name tells nothing.

    Names such as `g_PS1`, `V_CSS` or `r'` are known by what stands before the underscore or prime.
    """
    for name in (band, band.rstrip("'").partition("_")[0]):
        if name in BAND_WAVELENGTHS:
            return BAND_WAVELENGTHS[name][0]
    return None
