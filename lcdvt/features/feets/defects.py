"""What the installed feets (1.0.1) does not compute as FATS defines it, and cannot be corrected from outside."""

from typing import Final

_INTERPOLATED = "feets interpolates percentiles where FATS takes the value at ⌈share·N⌉"
_ONE_PEAK = "feets takes the three highest grid samples of one peak for three frequencies, and does not whiten"
_BALUEV = "feets gives Baluev's false-alarm value where FATS gives a simple one"

REFUSED: Final[dict[str, str]] = {
    **{f"FluxPercentileRatioMid{width}": _INTERPOLATED for width in (20, 35, 50, 65, 80)},
    "PercentDifferenceFluxPercentile": _INTERPOLATED,
    "Period_fit": _BALUEV,
    **{
        f"Freq{frequency}_harmonics_{what}_{harmonic}": _ONE_PEAK
        for frequency in (1, 2, 3)
        for what in ("amplitude", "rel_phase")
        for harmonic in range(4)
    },
}


def refusal(names: tuple[str, ...]) -> str:
    """Return one sentence that names the refused features among `names`, by reason; empty if there are none."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        if name in REFUSED:
            by_reason.setdefault(REFUSED[name], []).append(name)
    return "; ".join(f"{', '.join(members)}: {reason}" for reason, members in by_reason.items())
