"""The rows of the feature table: every feature once, with its definition, reference and meaning."""

from dataclasses import dataclass
from typing import Final

FATS: Final = "Nun et al. 2015, arXiv:1506.00010"
RICHARDS: Final = "Richards et al. 2011, ApJ 733, 10"
KIM_2011: Final = "Kim et al. 2011, ApJ 735, 68"
KIM_2014: Final = "Kim et al. 2014, A&A 566, A43"
PICHARA: Final = "Pichara et al. 2012, MNRAS 427, 1284"
PROTOPAPAS: Final = "Protopapas et al. 2015, ApJS 216, 25"
SIMONETTI: Final = "Simonetti et al. 1984, ApJ 284, 126"
KELLY: Final = "Kelly et al. 2009, ApJ 698, 895"
ZU: Final = "Zu et al. 2011, ApJ 735, 80"
KOZLOWSKI: Final = "Kozłowski 2016, ApJ 826, 118"
MACLEOD: Final = "MacLeod et al. 2010, ApJ 721, 1014"
SESAR: Final = "Sesar et al. 2010, ApJ 708, 717"
SIMON_LEE: Final = "Simon & Lee 1981, ApJ 248, 291"

SINGLE_BAND: Final = 1
TWO_BANDS: Final = 2
ALL_BANDS: Final = 0  # whatever the object has: the period that its bands share, the curve that they make together

HARMONIC_FREQUENCIES: Final = (1, 2, 3)
HARMONICS: Final = (0, 1, 2, 3)


@dataclass(frozen=True)
class FeatureSpec:
    """One row of the feature table.

    Attributes
    ----------
    name
        The column's name; single-band features get the band appended.
    family
        The file that holds the kernel.
    bands_needed
        1, 2, or 0 for "all that there are".
    minimum_epochs
        With fewer gated epochs the value is NaN; in a band, or in all bands where all are needed.
    definition
        The formula, in the words of the kernel.
    reference
        Where it comes from.
    meaning
        What an astronomer reads off it, in one line.
    """

    name: str
    family: str
    bands_needed: int
    minimum_epochs: int
    definition: str
    reference: str
    meaning: str


def _single(
    name: str, family: str, minimum_epochs: int, definition: str, meaning: str, reference: str = FATS
) -> FeatureSpec:
    return FeatureSpec(name, family, SINGLE_BAND, minimum_epochs, definition, reference, meaning)


def _pair(name: str, minimum_epochs: int, definition: str, meaning: str, reference: str = FATS) -> FeatureSpec:
    return FeatureSpec(name, "two_band", TWO_BANDS, minimum_epochs, definition, reference, meaning)


def _moments() -> tuple[FeatureSpec, ...]:
    return (
        _single("Mean", "moments", 1, "Σm/N", "average brightness"),
        _single("Std", "moments", 2, "√(Σ(m−m̄)²/N)", "spread about the mean"),
        _single("Meanvariance", "moments", 2, "Std / Mean", "spread relative to brightness", KIM_2014),
        _single("Skew", "moments", 3, "Σ(m−m̄)³/N / Std³", "asymmetry: eclipses > 0, flares < 0", RICHARDS),
        _single(
            "SmallKurtosis",
            "moments",
            4,
            "N(N+1)/((N−1)(N−2)(N−3)) Σ((m−m̄)/Std)⁴ − 3(N−1)²/((N−2)(N−3))",
            "heavy tails against a Gaussian, corrected for small samples",
            RICHARDS,
        ),
        _single("LinearTrend", "moments", 2, "slope of the least-squares line m(t)", "slow drift, mag/day", RICHARDS),
        _single("MaxSlope", "moments", 2, "max |Δm/Δt| of neighbouring epochs", "steepest change, mag/day", RICHARDS),
    )


def _percentiles() -> tuple[FeatureSpec, ...]:
    ratios = tuple(
        _single(
            f"FluxPercentileRatioMid{width}",
            "percentiles",
            5,
            f"F[{50 - width / 2:g},{50 + width / 2:g}] / F[5,95], F[a,b] = sorted m at ⌈bN/100⌉ minus at ⌈aN/100⌉",
            f"how much of the range the middle {width} % of the magnitudes fill",
            RICHARDS,
        )
        for width in (20, 35, 50, 65, 80)
    )
    return (
        _single(
            "Amplitude",
            "percentiles",
            2,
            "half of median(brightest 5 %) to median(faintest 5 %)",
            "half the range, safe against outliers",
            RICHARDS,
        ),
        *ratios,
        _single(
            "Gskew",
            "percentiles",
            3,
            "median(m ≤ P3) + median(m ≥ P97) − 2 median(m)",
            "asymmetry from medians",
        ),
        _single("MedianAbsDev", "percentiles", 2, "median |m − median(m)|", "robust spread", RICHARDS),
        _single(
            "MedianBRP",
            "percentiles",
            2,
            "share of epochs within (max−min)/10 of the median",
            "how much time is spent near the median",
            RICHARDS,
        ),
        _single(
            "PercentAmplitude",
            "percentiles",
            2,
            "max |m − median| / median",
            "largest excursion relative to the median",
            RICHARDS,
        ),
        _single(
            "PercentDifferenceFluxPercentile",
            "percentiles",
            5,
            "F[5,95] / median",
            "the 5–95 % range relative to the median",
            RICHARDS,
        ),
        _single("Q31", "percentiles", 2, "P75 − P25", "interquartile range", KIM_2014),
        _single(
            "AndersonDarling",
            "percentiles",
            5,
            "1/(1+exp(−10(A²−0.3))), A² the Anderson–Darling statistic against a Gaussian",
            "near 0 for Gaussian scatter, 1 for anything else",
            KIM_2014,
        ),
    )


def _indices() -> tuple[FeatureSpec, ...]:
    return (
        _single(
            "Beyond1Std",
            "indices",
            2,
            "share of epochs farther than √(Σ(m−m̂)²/(N−1)) from m̂, the error-weighted mean",
            "about 1/3 for Gaussian scatter",
            RICHARDS,
        ),
        _single("Con", "indices", 3, "share of triples of epochs all beyond 2 Std", "sustained excursions", KIM_2011),
        _single(
            "Eta_e",
            "indices",
            3,
            "mean(w) (t_N−t_1)² Σw Δm² / (Std² Σw N²), w = 1/Δt²",
            "small when neighbours in time agree; unevenly sampled von Neumann η",
            KIM_2014,
        ),
        _single(
            "PairSlopeTrend",
            "indices",
            2,
            "(rising − not rising pairs) / 30 among the last 30 epochs",
            "recent trend",
            RICHARDS,
        ),
        _single("Rcs", "indices", 2, "range of the cumulative sum Σ(m−m̄)/(N Std)", "slow structure", KIM_2011),
        _single(
            "StetsonK",
            "indices",
            2,
            "Σ|δ|/√(N Σδ²), δ = √(N/(N−1)) (m − weighted mean)/err",
            "shape of the distribution: 0.798 Gaussian, 0.9 sinusoid",
            RICHARDS,
        ),
    )


def _time_structure() -> tuple[FeatureSpec, ...]:
    return (
        _single(
            "Autocor_length",
            "autocorrelation",
            2,
            "first lag (in epochs) at which the autocorrelation falls below 1/e",
            "memory, counted in epochs",
            KIM_2011,
        ),
        _single(
            "SlottedA_length",
            "autocorrelation",
            2,
            "first lag at which the autocorrelation in slots of one day falls below 1/e",
            "memory in days, for uneven sampling",
            PROTOPAPAS,
        ),
        _single(
            "StetsonK_AC",
            "autocorrelation",
            3,
            "StetsonK of the slotted autocorrelation of the first hundred days",
            "shape of the memory",
            KIM_2011,
        ),
        *(
            _single(
                f"StructureFunction_index_{high}{low}",
                "structure_function",
                3,
                f"slope of log SF{high} against log SF{low}, 100 interpolated points, lags 1–99",
                f"how moments {high} and {low} of the changes scale with each other",
                SIMONETTI,
            )
            for high, low in ((2, 1), (3, 1), (3, 2))
        ),
        _single(
            "CAR_sigma",
            "car",
            5,
            "σ of the first-order continuous autoregression with the greatest likelihood",
            "strength of the short-term driving noise",
            PICHARA,
        ),
        _single(
            "CAR_tau",
            "car",
            5,
            "τ (days) of the same fit, Nelder–Mead from (10, 0.5) within [0, 100]²",
            "relaxation time",
            PICHARA,
        ),
        _single("CAR_mean", "car", 5, "Mean / CAR_tau", "mean of the process over its relaxation time", PICHARA),
    )


def _periodic() -> tuple[FeatureSpec, ...]:
    grid = "Lomb–Scargle, frequencies (k+½)/(5 baseline) up to 100 average Nyquist frequencies"
    harmonics = tuple(
        spec
        for frequency in HARMONIC_FREQUENCIES
        for spec in (
            *(
                _single(
                    f"Freq{frequency}_harmonics_amplitude_{harmonic}",
                    "periodic",
                    5,
                    f"amplitude of the sinusoid at {harmonic + 1}f, f the top of the periodogram after "
                    f"{frequency - 1} whitenings by four harmonics",
                    f"strength of harmonic {harmonic + 1} of frequency {frequency}",
                    RICHARDS,
                )
                for harmonic in HARMONICS
            ),
            *(
                _single(
                    f"Freq{frequency}_harmonics_rel_phase_{harmonic}",
                    "periodic",
                    5,
                    f"arctan(b/a) of harmonic {harmonic + 1} minus that of the fundamental",
                    f"light-curve shape: phase of harmonic {harmonic + 1} of frequency {frequency}"
                    + (" (zero by definition)" if harmonic == 0 else ""),
                    RICHARDS,
                )
                for harmonic in HARMONICS
            ),
        )
    )
    return (
        _single(
            "PeriodLS", "periodic", 5, f"1/f at the top of the periodogram; {grid}", "FATS' period, days", KIM_2014
        ),
        _single(
            "Period_fit",
            "periodic",
            5,
            "1 − (1 − (1−z)^((N−3)/2))^(k·baseline), z the highest power, k its index on the grid",
            "FATS' false-alarm value of PeriodLS (it takes the grid index for the frequency)",
            KIM_2014,
        ),
        _single(
            "Psi_CS", "periodic", 5, "Rcs of the curve folded on 2·PeriodLS", "structure of the folded curve", KIM_2014
        ),
        _single(
            "Psi_eta", "periodic", 5, "von Neumann η of the curve folded on 2·PeriodLS", "small = clean fold", KIM_2014
        ),
        *harmonics,
    )


def _two_band() -> tuple[FeatureSpec, ...]:
    return (
        _pair("Color", 1, "Mean(first band) − Mean(second band)", "colour, bluer band first", KIM_2011),
        _pair("Eta_color", 3, "Eta_e of the colour curve at the common times", "colour changes in time", KIM_2014),
        _pair("Q31_color", 2, "interquartile range of the colour at the common times", "colour spread", KIM_2014),
        _pair(
            "StetsonJ",
            2,
            "mean of sign(P)√|P|, P = δ₁δ₂ at the common times",
            "do both bands vary together?",
            RICHARDS,
        ),
        _pair("StetsonL", 2, "StetsonJ × K(P) / 0.798", "StetsonJ weighted by the shape K", KIM_2011),
    )


def _period_search() -> tuple[FeatureSpec, ...]:
    def row(name: str, definition: str, meaning: str) -> FeatureSpec:
        return FeatureSpec(
            name, "period", ALL_BANDS, 5, definition, "this package, lcdvt/features/period/search.py", meaning
        )

    return (
        row(
            "Period", "best period in the survey's range; bands share it, harmonics are chosen per star", "period, days"
        ),
        row("Period_fap", "false-alarm value of Period", "near 1 for aperiodic objects"),
        row("Period_power", "share of the variance that the fit at Period explains", "strength of the periodicity"),
    )


def _fourier() -> tuple[FeatureSpec, ...]:
    fit = "m = A0 + Σ Ak cos(2πkt/Period + φk), k ≤ 4, error-weighted; bands averaged by how well they show A1"
    same = "of the fit of Period_amplitude"

    def row(name: str, minimum_epochs: int, definition: str, meaning: str) -> FeatureSpec:
        return FeatureSpec(name, "period_fourier", ALL_BANDS, minimum_epochs, definition, SIMON_LEE, meaning)

    # three epochs for each coefficient, as the period search asks for
    return (
        row("Period_amplitude", 5, f"A1; {fit}", "half range of the fundamental, mag"),
        row("Period_R21", 15, f"A2 / A1 {same}", "0 for a sine, above 1 where both halves look alike"),
        row("Period_phi21", 15, f"φ2 − 2 φ1 {same}, 0 to 2π", "which side is steep: pulsation modes, eclipses"),
        row("Period_R31", 21, f"A3 / A1 {same}", "how sharp the light curve is"),
        row("Period_phi31", 21, f"φ3 − 3 φ1 {same}, 0 to 2π", "shape in detail, metallicity of RR Lyrae"),
    )


def _all_bands() -> tuple[FeatureSpec, ...]:
    joined = "r: magnitudes minus their band's offset; offsets and damped random walk fitted together"

    def row(name: str, minimum_epochs: int, definition: str, meaning: str, reference: str) -> FeatureSpec:
        return FeatureSpec(name, "all_bands", ALL_BANDS, minimum_epochs, definition, reference, meaning)

    lags = {
        "night": (0.005, 0.1),
        "day": (0.1, 1.5),
        "week": (1.5, 10),
        "month": (10, 60),
        "season": (60, 400),
        "years": (400, 10_000),
    }
    return (
        row("Joint_spread", 4, f"½ log10(Var(r) − mean err²); {joined}", "how much it varies beyond its errors", ZU),
        row("Joint_Skew", 4, "Skew of r", "asymmetry: eclipses > 0, flares < 0", RICHARDS),
        row("Joint_SmallKurtosis", 5, "SmallKurtosis of r", "heavy tails against a Gaussian", RICHARDS),
        row("Joint_asymmetry", 5, "(P95 + P5 − 2 P50) / (P95 − P5) of r", "asymmetry, safe against outliers", RICHARDS),
        *(
            row(
                f"Joint_FluxPercentileRatioMid{width}",
                5,
                f"(P{50 + width // 2} − P{50 - width // 2}) / (P95 − P5) of r",
                f"how much of the range the middle {width} % of the magnitudes fill",
                RICHARDS,
            )
            for width in (20, 50, 80)
        ),
        row(
            "Joint_eta",
            4,
            "mean (r(i+1) − r(i))² / (2 Var(r))",
            "1 without memory between epochs",
            KIM_2014,
        ),
        *(
            row(
                f"Joint_SF_{name}",
                6,
                f"mean of (Δr² − err² − err'²) / (2 (Var(r) − mean err²)) over pairs {low:g} to {high:g} days apart",
                f"share of the variability that is there after a {name}" if name != "years" else "the same after years",
                KOZLOWSKI,
            )
            for name, (low, high) in lags.items()
        ),
        row(
            "DRW_tau",
            6,
            "log10 τ (days) of the damped random walk, mean over its likelihood",
            "how long it remembers",
            KELLY,
        ),
        row("DRW_sigma", 6, "log10 of the same walk's standard deviation (mag)", "how far it wanders", KELLY),
        row(
            "DRW_gain",
            6,
            "log-likelihood of the walk above that of uncorrelated scatter, per epoch",
            "quasars and slow variables > 0, short periods seen sparsely ≈ 0",
            KELLY,
        ),
        row(
            "SED_slope",
            4,
            "slope of the offsets against log10(λ/600 nm), bands from 430 to 1000 nm, calibrated magnitudes only",
            "colour: the more negative the redder, whatever the bands",
            SESAR,
        ),
        row(
            "SED_curvature",
            4,
            "quadratic coefficient of the offsets against log10(λ/600 nm), three bands or more",
            "stars bend, power laws do not",
            SESAR,
        ),
        row(
            "Amplitude_slope",
            4,
            "β of amplitude ∝ λ^β, mean over its likelihood and a normal prior −0.5 ± 0.6",
            "pulsators −1, quasars −0.5, eclipses of alike stars 0",
            MACLEOD,
        ),
        row(
            "Colour_change",
            10,
            "slope of (m − m')/ln(λ'/λ) against the mean residual, pairs of bands within 0.02 days",
            "positive when bluer while brighter",
            MACLEOD,
        ),
    )


FEATURES: Final[dict[str, FeatureSpec]] = {
    spec.name: spec
    for spec in (
        *_moments(),
        *_percentiles(),
        *_indices(),
        *_time_structure(),
        *_periodic(),
        *_two_band(),
        *_period_search(),
        *_fourier(),
        *_all_bands(),
    )
}
