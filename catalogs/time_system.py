"""How a survey writes dates, and what they are when they are stored."""

import math
import re
from dataclasses import dataclass, field
from typing import Final

from lcdvt.errors import SurveyError

JD_OF_MJD_ZERO: Final = 2_400_000.5
JULIAN_SYSTEMS: Final = ("JD", "HJD", "BJD")
MODIFIED_SYSTEMS: Final = ("MJD", "HMJD", "BMJD")
ANY_DAYS: Final = "days"
TIME_SCALES: Final = ("utc", "tai", "tt", "tdb", "tcb", "tcg", "ut1", "local")
CONVERTED_SCALES: Final = ("utc", "tai", "tt", "tdb", "tcb")
STORED_SCALE: Final = "tdb"
EXPOSURE_MOMENTS: Final = ("", "start", "middle")


@dataclass(frozen=True)
class TimeSystem:
    """How the file's dates become MJD.

    The file's number plus `zero_point` is a date in `system`: "HJD-2450000" is system HJD, zero point 2450000.
    System "days" is for a survey whose zero point is not known: its days are kept as they are.
    """

    system: str = "MJD"
    zero_point: float = 0.0
    scale: str = "utc"
    exposure: str = ""
    """Which moment of the exposure the date is: its start or its middle; empty where nobody says."""
    exposure_seconds: float = 0.0
    """How long an exposure is, where the date is that of its start."""
    convert: bool = False
    """Whether dates are brought to the barycentre and to TDB: only where system and scale are vouched for."""
    source: str = field(default="", compare=False)
    """Who says so."""

    def __post_init__(self) -> None:
        shorthand = re.fullmatch(r"([A-Z]+)\s*[-−]\s*([0-9.]+)", self.system)
        if shorthand:
            object.__setattr__(self, "system", shorthand[1])
            object.__setattr__(self, "zero_point", float(shorthand[2]))
        if self.scale not in TIME_SCALES:
            raise SurveyError(f"time.scale = {self.scale!r} is not known: use one of {', '.join(TIME_SCALES)}.")
        if self.exposure not in EXPOSURE_MOMENTS:
            raise SurveyError(f"time.exposure = {self.exposure!r} is not known: use start or middle.")
        known = (*JULIAN_SYSTEMS, *MODIFIED_SYSTEMS, ANY_DAYS)
        if self.system not in known:
            raise SurveyError(f"time.system = {self.system!r} is not known: use one of {', '.join(known)}.")
        if not 0 <= self.exposure_seconds < math.inf:
            raise SurveyError(f"time.exposure_seconds = {self.exposure_seconds}: zero or more seconds.")
        if self.convert and (self.system == ANY_DAYS or self.scale not in CONVERTED_SCALES):
            raise SurveyError(
                f"time.convert = true: dates in {self.system} ({self.scale}) cannot be converted; that needs a date in "
                f"one of {', '.join(CONVERTED_SCALES)}."
            )

    @property
    def observer(self) -> str:
        """Where the light is when it is this late: at the Earth, the Sun or the barycentre."""
        return {"H": "sun", "B": "barycentre"}.get(self.system[0], "earth")

    @property
    def stored_scale(self) -> str:
        """The scale of the stored dates."""
        return STORED_SCALE if self.convert else self.scale

    @property
    def stored(self) -> str:
        """Say in words what the stored dates are."""
        if not self.convert:
            return f"as in the files: {self.describe()}, as MJD"
        if self.observer == "barycentre":
            return "MJD, barycentric, TDB"
        middle = ", middle of the exposure" if self.exposure else ""
        where = "heliocentric" if self.observer == "sun" else "at the Earth"
        return f"MJD, barycentric, TDB{middle}; {where} for stars whose files give no position"

    @property
    def offset_to_mjd(self) -> float:
        """Days to add to the file's number."""
        return self.zero_point - (JD_OF_MJD_ZERO if self.system in JULIAN_SYSTEMS else 0.0)

    def describe(self) -> str:
        """Say the time system in words."""
        zero = f" − {self.zero_point:.10g}" if self.zero_point else ""
        moment = f", {self.exposure} of the exposure" if self.exposure else ""
        length = f" of {self.exposure_seconds:g} s" if self.exposure_seconds else ""
        return f"{self.system}{zero} ({self.scale}{moment}{length})"
