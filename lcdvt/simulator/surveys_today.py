"""OGLE-IV, ZTF, Gaia, the Pan-STARRS1 3π survey and Rubin's LSST: class mix, campaign, filters.

Wavelengths of the filters are those of the surveys' TOML files; depths are of five sigma in one exposure.
"""

import numpy as np

from lcdvt.simulator.cadence import LongCampaign, PlannedNights, ScanningLaw
from lcdvt.simulator.photometry import CalibratedBand
from lcdvt.simulator.spectra import WAVELENGTH_I, WAVELENGTH_V
from lcdvt.simulator.star import HaloField, MagellanicCloud
from lcdvt.simulator.survey import Region, SimulatedSurvey

# Udalski et al. 2015, AcA 65, 1: nearly all exposures in I, one in ten or so in V; saturation near I = 13.
OGLE = SimulatedSurvey(
    name="ogle",
    class_mix={"CEP": 8.0, "EB": 27.0, "LPV": 25.0, "QSO": 6.0, "RRLYR": 34.0},
    sky=MagellanicCloud(),
    campaign=PlannedNights(
        LongCampaign(
            first_mjd=55260.0,
            last_mjd=58900.0,
            longitude=-70.69,
            latitude=-29.01,
            right_ascension=5.35,
            declination=-69.5,
            hours_from_transit=6.0,
            visit_chance=(0.28, 0.5),
            late_decline=0.2,
            second_visit_chance=0.0,
            instrument_gaps=2,
            longest_gap=60.0,
            error_spread=(0.15, 0.35),
        ),
        plans=((0.89, ("I",)), (0.08, ("V",)), (0.03, ("V", "I"))),
        minutes_apart=4.0,
    ),
    bands=(
        CalibratedBand(
            "V", WAVELENGTH_V, depth=21.4, saturated_above=12.8, floor=0.004, is_ab=False, error_floor=0.004,
            detected_above=4.0,
        ),
        CalibratedBand(
            "I", WAVELENGTH_I, depth=20.8, saturated_above=12.4, floor=0.005, is_ab=False, error_floor=0.004,
            detected_above=4.0,
        ),
    ),
    contact_share=0.2,
    blended=0.1,
    one_band_lost=0.0,
    survey_labels={"EB": "ECL"},
    crowding=0.25,
    smallest_amplitude=0.015,
)  # fmt: skip

# Bellm et al. 2019, PASP 131, 018002: the public survey, g and r on the same night every two or three nights; i is of
# the partnership, rarer and shallower.
ZTF = SimulatedSurvey(
    name="ztf",
    class_mix={"CEP": 6.0, "EB": 34.0, "LPV": 14.0, "QSO": 14.0, "RRLYR": 32.0},
    sky=HaloField(
        magnitudes=(
            ("RRLYR", 13.5, 6.5, 1.1, 1.4),
            ("EB", 13.2, 6.6, 1.6, 1.3),
            ("QSO", 16.5, 4.0, 2.5, 1.2),
            ("CEP", 13.2, 5.0, 1.2, 1.5),
            ("LPV", 14.5, 5.5, 1.2, 1.5),
        )
    ),
    campaign=PlannedNights(
        LongCampaign(
            first_mjd=58194.0,
            last_mjd=60400.0,
            longitude=-116.86,
            latitude=33.36,
            right_ascension=13.5,
            declination=32.0,
            hours_from_transit=4.5,
            visit_chance=(0.5, 0.7),
            late_decline=0.0,
            second_visit_chance=0.0,
            instrument_gaps=2,
            longest_gap=40.0,
            error_spread=(0.2, 0.45),
        ),
        plans=((0.62, ("g", "r")), (0.14, ("g",)), (0.16, ("r",)), (0.08, ("i",))),
        minutes_apart=50.0,
    ),
    bands=(
        CalibratedBand("g", 0.4723, depth=20.8, saturated_above=12.9, floor=0.012, error_floor=0.006),
        CalibratedBand("r", 0.6340, depth=20.6, saturated_above=12.8, floor=0.011, error_floor=0.006),
        CalibratedBand("i", 0.7886, depth=19.9, saturated_above=12.6, floor=0.012, error_floor=0.006),
    ),
    contact_share=0.6,
    blended=0.02,
    one_band_lost=0.0,
    survey_labels={"CEP": "ceph", "EB": "ea", "LPV": "lpv", "QSO": "agn", "RRLYR": "rrlyr"},
    region=Region(190.0, 25.0, 26.0, 12.0),
    crowding=0.1,
    smallest_amplitude=0.05,
)

# Gaia Collaboration 2016, A&A 595, A1 and Eyer et al. 2023, A&A 674, A13: 34 months of the third data release.
GAIA = SimulatedSurvey(
    name="gaia",
    class_mix={"CEP": 8.0, "EB": 32.0, "LPV": 22.0, "QSO": 10.0, "RRLYR": 28.0},
    sky=HaloField(
        magnitudes=(
            ("RRLYR", 11.0, 8.8, 1.3, 1.3),
            ("EB", 10.0, 9.5, 1.6, 1.3),
            ("QSO", 15.5, 4.8, 2.5, 1.2),
            ("CEP", 9.0, 9.0, 1.2, 1.4),
            ("LPV", 10.0, 9.0, 1.2, 1.4),
        )
    ),
    campaign=ScanningLaw(
        first_mjd=56863.0,
        last_mjd=57901.0,
        days_between_crossings=(18.0, 13.0),
        transits_a_crossing=1.75,
    ),
    bands=(
        CalibratedBand(
            "G", 0.6218, depth=22.3, saturated_above=3.0, floor=0.002, is_ab=False, sky_share=0.03, calibration=0.003,
        ),
        CalibratedBand(
            "BP", 0.5110, depth=19.9, saturated_above=3.0, floor=0.004, is_ab=False, sky_share=0.035,
            calibration=0.003, missing=(0.0, 0.12), detected_above=3.0,
        ),
        CalibratedBand(
            "RP", 0.7769, depth=19.7, saturated_above=3.0, floor=0.004, is_ab=False, sky_share=0.035,
            calibration=0.003, missing=(0.0, 0.12), detected_above=3.0,
        ),
    ),
    contact_share=0.5,
    blended=0.0,
    one_band_lost=0.0,
    survey_labels={"EB": "ECL", "QSO": "AGN", "RRLYR": "RR"},
    region=Region(240.0, 40.0, 20.0, 30.0),
    crowding=0.08,
    smallest_amplitude=0.02,
)  # fmt: skip

# Chambers et al. 2016, arXiv:1612.05560: two exposures a quarter of an hour apart, in one filter, a few nights a filter
# in four years. The errors in its tables are too small (Hernitschek et al. 2016, ApJ 817, 73), as its TOML says.
PS1 = SimulatedSurvey(
    name="ps1",
    class_mix={"CEP": 5.0, "EB": 30.0, "LPV": 9.0, "QSO": 18.0, "RRLYR": 38.0},
    sky=HaloField(
        magnitudes=(
            ("RRLYR", 14.8, 5.8, 1.1, 1.4),
            ("EB", 15.0, 5.6, 1.4, 1.4),
            ("QSO", 16.8, 4.0, 2.5, 1.2),
            ("CEP", 15.0, 4.5, 1.2, 1.4),
            ("LPV", 16.5, 4.5, 1.2, 1.4),
        )
    ),
    campaign=PlannedNights(
        LongCampaign(
            first_mjd=55300.0,
            last_mjd=56760.0,
            longitude=-156.26,
            latitude=20.71,
            right_ascension=22.5,
            declination=5.0,
            hours_from_transit=4.0,
            visit_chance=(0.022, 0.032),
            late_decline=0.0,
            second_visit_chance=0.0,
            instrument_gaps=1,
            longest_gap=30.0,
            error_spread=(0.15, 0.35),
        ),
        plans=tuple((0.2, (band, band)) for band in "grizy"),
        minutes_apart=13.0,
        in_turn=True,
    ),
    bands=tuple(
        CalibratedBand(
            name, wavelength, depth, saturated, floor=0.003, error_scale=1.3, error_floor=0.015, calibration=0.005,
            missing=(0.0, 0.2), spoiled_chance=0.008,
        )
        for name, wavelength, depth, saturated in (
            ("g", 0.481, 22.0, 14.5),
            ("r", 0.617, 21.8, 14.5),
            ("i", 0.752, 21.5, 14.5),
            ("z", 0.866, 20.9, 13.8),
            ("y", 0.962, 19.7, 13.0),
        )
    ),
    contact_share=0.6,
    blended=0.01,
    one_band_lost=0.02,
    survey_labels={"CEP": "DCEP", "EB": "E", "RRLYR": "RR"},
    region=Region(325.0, 25.0, -2.0, 14.0),
    crowding=0.1,
    smallest_amplitude=0.06,
    fewest_epochs=4,
)  # fmt: skip

# Ivezic et al. 2019, ApJ 873, 111 and Bianco et al. 2022, ApJS 258, 1: the wide-fast-deep survey visits a field some
# eighty times a year, in pairs of neighbouring filters half an hour apart: 7, 10, 22, 22, 19 and 19 % in u g r i z y.
# Cepheids and long-period variables are those of nearby galaxies; the Milky Way's saturate.
LSST = SimulatedSurvey(
    name="lsst",
    class_mix={"CEP": 6.0, "EB": 30.0, "LPV": 12.0, "QSO": 16.0, "RRLYR": 36.0},
    sky=HaloField(
        magnitudes=(
            ("RRLYR", 16.6, 6.8, 1.2, 1.4),
            ("EB", 16.6, 6.6, 1.6, 1.4),
            ("QSO", 17.3, 5.6, 2.5, 1.3),
            ("CEP", 17.0, 5.5, 1.3, 1.4),
            ("LPV", 18.5, 5.5, 1.3, 1.4),
        )
    ),
    campaign=PlannedNights(
        LongCampaign(
            first_mjd=61100.0,
            last_mjd=61465.0,
            longitude=-70.75,
            latitude=-30.24,
            right_ascension=4.0,
            declination=-30.0,
            hours_from_transit=4.5,
            visit_chance=(0.26, 0.35),
            late_decline=0.0,
            second_visit_chance=0.0,
            instrument_gaps=1,
            longest_gap=25.0,
            error_spread=(0.15, 0.3),
        ),
        plans=(
            (0.068, ("u", "g")),
            (0.068, ("u", "r")),
            (0.126, ("g", "r")),
            (0.252, ("r", "i")),
            (0.194, ("i", "z")),
            (0.194, ("z", "y")),
            (0.097, ("y", "y")),
        ),
        minutes_apart=33.0,
    ),
    bands=tuple(
        CalibratedBand(
            name, wavelength, depth, saturated, floor=0.005, sky_share=share, calibration=0.005, spoiled_chance=0.006,
            detected_above=-np.inf,
        )
        for name, wavelength, depth, saturated, share in (
            ("u", 0.3709, 23.9, 14.7, 0.038),
            ("g", 0.4767, 25.0, 15.7, 0.039),
            ("r", 0.6194, 24.7, 15.8, 0.039),
            ("i", 0.7539, 24.0, 15.8, 0.039),
            ("z", 0.8668, 23.3, 15.3, 0.039),
            ("y", 0.9739, 22.1, 13.9, 0.039),
        )
    ),
    contact_share=0.6,
    blended=0.01,
    one_band_lost=0.0,
    survey_labels={"CEP": "DCEP", "EB": "E", "RRLYR": "RR"},
    region=Region(48.0, 24.0, -36.0, 10.0),
    crowding=0.05,
    smallest_amplitude=0.04,
    fewest_epochs=6,
)  # fmt: skip
