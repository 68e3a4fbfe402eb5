"""EROS-2, MACHO and HiTS as they were: class mix, campaign, filters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from lcdvt.errors import SurveyError
from lcdvt.simulator.binaries import eclipsing_binary
from lcdvt.simulator.cadence import Campaign, LongCampaign, ShortCampaign, Visits
from lcdvt.simulator.noise import Band
from lcdvt.simulator.pulsators import cepheid, rr_lyrae
from lcdvt.simulator.quasars import quasar
from lcdvt.simulator.red_giants import long_period_variable
from lcdvt.simulator.star import HaloField, MagellanicCloud, Sky, Star

# Streams of random numbers that must never meet: one per star, one per field.
_STAR_STREAM, _FIELD_STREAM = 0, 1


@dataclass(frozen=True)
class SimulatedSurvey:
    """Everything the simulator knows of a survey but its file formats.

    `class_mix` holds percentages from the table of class distributions in Belhaj et al. (2018).
    """

    name: str
    class_mix: Mapping[str, float]
    sky: Sky
    campaign: Campaign
    bands: tuple[Band, ...]
    contact_share: float
    blended: float  # share of stars with an unresolved neighbour
    one_band_lost: float  # share of stars measured in one band only
    survey_labels: Mapping[str, str] = field(default_factory=lambda: {"CEP": "CEPH", "RRLYR": "RRL"})

    def survey_label(self, label: str) -> str:
        """Return the survey's own name of a canonical class."""
        return self.survey_labels.get(label, label)

    def draw_label(self, rng: np.random.Generator) -> str:
        """Draw a class from the mix."""
        labels, shares = tuple(self.class_mix), np.cumsum(list(self.class_mix.values()))
        return labels[int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))]

    def draw_star(self, rng: np.random.Generator, label: str) -> Star:
        """Draw an object of a class."""
        if label == "RRLYR":
            return rr_lyrae(rng, self.sky)
        if label == "CEP":
            return cepheid(rng, self.sky)
        if label == "EB":
            return eclipsing_binary(rng, self.sky, self.contact_share)
        if label == "LPV":
            return long_period_variable(rng, self.sky)
        return quasar(rng, self.sky)


EROS = SimulatedSurvey(
    name="eros",
    class_mix={"CEP": 1.82, "EB": 46.37, "LPV": 5.65, "QSO": 0.83, "RRLYR": 45.33},
    sky=MagellanicCloud(),
    campaign=LongCampaign(
        first_mjd=50294.0,
        last_mjd=52697.0,
        longitude=-70.73,
        latitude=-29.25,
        right_ascension=5.35,
        declination=-69.5,
        hours_from_transit=6.2,
        visit_chance=(0.36, 0.60),
        late_decline=0.1,
        second_visit_chance=0.05,
        instrument_gaps=3,
        longest_gap=60.0,
        error_spread=(0.15, 0.35),
    ),
    bands=(
        Band(
            "R",
            redness=1.0,
            zero_point=0.0,
            sky_magnitude=18.8,
            sky_error=0.11,
            floor=0.014,
            unquoted_scatter=0.012,
            missing=(0.12, 0.45),
            saturated_above=12.6,
            calibration=0.07,
            seeing_bias=0.03,
            largest_error=115.0,
        ),
        Band(
            "B",
            redness=0.4,
            zero_point=0.0,
            sky_magnitude=19.4,
            sky_error=0.11,
            floor=0.019,
            unquoted_scatter=0.014,
            missing=(0.02, 0.2),
            saturated_above=13.0,
            calibration=0.07,
            seeing_bias=0.03,
            largest_error=115.0,
        ),
    ),
    contact_share=0.2,
    blended=0.25,
    one_band_lost=0.01,
)

MACHO = SimulatedSurvey(
    name="macho",
    class_mix={"CEP": 1.27, "EB": 18.75, "LPV": 19.66, "QSO": 4.98, "RRLYR": 55.34},
    sky=MagellanicCloud(),
    campaign=LongCampaign(
        first_mjd=48823.0,
        last_mjd=51546.0,
        longitude=149.01,
        latitude=-35.32,
        right_ascension=5.35,
        declination=-69.5,
        hours_from_transit=9.0,
        visit_chance=(0.08, 1.0),
        late_decline=0.55,
        second_visit_chance=0.2,
        instrument_gaps=2,
        longest_gap=216.0,
        error_spread=(0.42, 0.72),
    ),
    bands=(
        Band(
            "B",
            redness=0.0,
            zero_point=-24.2,
            sky_magnitude=-4.9,
            sky_error=0.1,
            floor=0.0015,
            unquoted_scatter=0.014,
            missing=(0.015, 0.06),
            saturated_above=-12.5,
            calibration=0.05,
            seeing_bias=0.03,
        ),
        Band(
            "R",
            redness=0.7,
            zero_point=-23.95,
            sky_magnitude=-4.9,
            sky_error=0.1,
            floor=0.0015,
            unquoted_scatter=0.014,
            missing=(0.02, 0.5),
            saturated_above=-12.5,
            calibration=0.05,
            seeing_bias=0.03,
        ),
    ),
    contact_share=0.2,
    blended=0.2,
    one_band_lost=0.08,
)

HITS = SimulatedSurvey(
    name="hits",
    class_mix={"EB": 27.60, "QSO": 6.39, "RRLYR": 66.01},
    sky=HaloField(),
    campaign=ShortCampaign(
        first_mjd=57070.0,
        nights=6,
        visits_a_night=5,
        longitude=-70.81,
        hours_between_visits=1.6,
        lost_chance=0.05,
        error_spread=(0.12, 0.3),
    ),
    # DECam g from V and I; saturated detections near 15 mag do get into the files.
    bands=(
        Band(
            "g",
            redness=-0.25,
            zero_point=0.0,
            sky_magnitude=22.0,
            sky_error=0.03,
            floor=0.0025,
            unquoted_scatter=0.008,
            missing=(0.0, 0.08),
            saturated_above=14.0,
            calibration=0.01,
            seeing_bias=0.005,
            outlier_chance=0.012,
            wild_error_chance=0.0,
            largest_error=1.0,
            decimals=4,
        ),
    ),
    contact_share=0.6,
    blended=0.01,
    one_band_lost=0.0,
)

SURVEYS: Mapping[str, SimulatedSurvey] = {survey.name: survey for survey in (EROS, MACHO, HITS)}


def simulated_survey(name: str) -> SimulatedSurvey:
    """Return the description of a survey the simulator knows."""
    if name not in SURVEYS:
        raise SurveyError(f"the simulator does not know the survey {name!r}: choose one of {', '.join(SURVEYS)}.")
    return SURVEYS[name]


def star_generator(name: str, seed: int, index: int) -> np.random.Generator:
    """Return the random numbers of star `index`.

    They depend on nothing else, so runs of any length agree; the survey is part of the seed, so that no
    star of one survey is also in another.
    """
    return np.random.Generator(np.random.SFC64([seed, _STAR_STREAM, _survey_number(name), index]))


@lru_cache(maxsize=256)
def field_visits(name: str, seed: int, field_number: int) -> Visits:
    """Return when the survey visited a field: shared by all its stars."""
    return SURVEYS[name].campaign.visits(
        np.random.default_rng([seed, _FIELD_STREAM, _survey_number(name), field_number])
    )


def _survey_number(name: str) -> int:
    return list(SURVEYS).index(name)
