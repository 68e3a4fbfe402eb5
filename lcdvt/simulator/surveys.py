"""The surveys that can be simulated, and the random numbers of their stars and fields."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from lcdvt.errors import LcdvtError, SurveyError
from lcdvt.simulator.cadence import Campaign, PlannedNights, Visits
from lcdvt.simulator.survey import SimulatedSurvey
from lcdvt.simulator.surveys_past import EROS, HITS, MACHO
from lcdvt.simulator.surveys_today import GAIA, LSST, OGLE, PS1, ZTF

# Streams of random numbers that must never meet: one per star, one per field.
_STAR_STREAM, _FIELD_STREAM = 0, 1

# A survey's place is part of its random numbers: new ones come last.
SURVEYS: Mapping[str, SimulatedSurvey] = {
    survey.name: survey for survey in (EROS, MACHO, HITS, OGLE, ZTF, GAIA, PS1, LSST)
}
YEARS_OF_LSST = (1, 10)


def simulated_survey(name: str, years: int | None = None) -> SimulatedSurvey:
    """Return the description of a survey the simulator knows, `years` long if it is one that still goes on."""
    if name not in SURVEYS:
        raise SurveyError(f"the simulator does not know the survey {name!r}: choose one of {', '.join(SURVEYS)}.")
    survey = SURVEYS[name]
    if years is None:
        return survey
    if name != LSST.name:
        raise LcdvtError(f"years={years}: only lsst can be shorter or longer; {name} lasts as long as it did.")
    if years not in YEARS_OF_LSST:
        raise LcdvtError(f"years={years}: lsst is simulated for 1 or 10 years.")
    assert isinstance(survey.campaign, PlannedNights)
    return replace(survey, campaign=survey.campaign.lasting(years))


def star_generator(name: str, seed: int, index: int) -> np.random.Generator:
    """Return the random numbers of star `index`.

    They depend on nothing else, so runs of any length agree; the survey is part of the seed, so that no
    star of one survey is also in another.
    """
    return np.random.Generator(np.random.SFC64([seed, _STAR_STREAM, _survey_number(name), index]))


def field_visits(survey: SimulatedSurvey, seed: int, field_number: int) -> Visits:
    """Return when the survey visited a field: shared by all its stars."""
    return _campaign_visits(survey.campaign, (seed, _FIELD_STREAM, _survey_number(survey.name), field_number))


@lru_cache(maxsize=256)
def _campaign_visits(campaign: Campaign, entropy: tuple[int, ...]) -> Visits:
    return campaign.visits(np.random.default_rng(entropy))


def _survey_number(name: str) -> int:
    return list(SURVEYS).index(name)
