"""Choose one candidate frequency and its number of harmonics by penalised likelihood.

The score is the log-likelihood gain over a constant minus the Bayesian information criterion's penalty, both for
the effective number of epochs: real residuals are correlated (several exposures a night share one calibration,
long-period variables never repeat exactly), and correlated epochs counted in full let a long period with many
harmonics, or twice the true period, fit whatever is left.

Where the two minima of a binary are alike, twice the period cannot win by likelihood. What is left is geometry:
`lcdvt.features.period.shape`. Where a few narrow eclipses are all that varies, harmonics fit at many frequencies:
`lcdvt.features.period.eclipse` then has a word.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lcdvt.features.period.eclipse import MAD_TO_SIGMA, EclipseConfig, find_eclipses, median
from lcdvt.features.period.fit import (
    HIGHEST_HARMONIC,
    MODEL_HIGHEST,
    ONE_SINE,
    Bands,
    Floats,
    Sharpening,
    fill_scores,
    fit_candidates,
    fit_model,
    noise_memory,
)
from lcdvt.features.period.shape import DoubleWavePrior, double_wave_log_odds

# About halves and doubles, a matter of how minima differ, eclipses do not argue: harmonics know more of the shape.
SAME_PERIOD = np.array((0.25, 0.5, 1.0, 2.0, 4.0))


@dataclass(frozen=True)
class ChoiceConfig:
    """How candidates are compared.

    Attributes
    ----------
    cycles_per_harmonic
        Highest harmonic a model may have is the number of observed cycles over this: a Fourier series over few
        cycles is a smooth curve through the points, not a repetition.
    first_points, final_points
        Frequencies fitted around each candidate, first around all, then around the finalists.
    first_harmonics
        Highest harmonic of the first, quick comparison.
    finalists
        Candidates compared again with all harmonics, and with outliers weighed down.
    sharpened, sharpenings
        How many of them are fitted again at closer frequencies, and how often.
    outlier_sigma
        Beyond this many robust standard deviations a residual's weight falls with its square.
    window_penalty
        Log-likelihood taken from a candidate where the spectral window is 1, less where it is lower: at a period
        of one day or one year the sampling itself imitates periodicity.
    double_wave
        The prior for waves that are half a binary's orbit.
    eclipses
        When eclipses may overrule the harmonics.
    """

    cycles_per_harmonic: float = 3.0
    first_points: int = 5
    first_harmonics: int = 4
    final_points: int = 7
    finalists: int = 12
    sharpened: int = 6
    sharpenings: int = 2
    outlier_sigma: float = 3.0
    window_penalty: float = 2.0
    double_wave: DoubleWavePrior = field(default_factory=DoubleWavePrior)
    eclipses: EclipseConfig = field(default_factory=EclipseConfig)


class Choice(NamedTuple):
    """The chosen frequency, its model, and the (robustly reweighted) bands it was fitted to."""

    frequency: float
    model: int
    bands: Bands


def choose_frequency(
    bands: Bands,
    candidates: Floats,
    reaches: Floats,
    baseline: float,
    limits: tuple[float, float],
    config: ChoiceConfig,
) -> Choice | None:
    """Compare all candidates, then the best again without their outliers; None when nothing can be fitted.

    Parameters
    ----------
    bands
        The light curves.
    candidates, reaches
        Frequencies, and how far to each side the best one may lie.
    baseline
        Days from the first to the last epoch.
    limits
        Lowest and highest frequency that may be chosen.
    config
        How candidates are compared.
    """
    original, every, every_reach = bands, candidates, reaches
    frequencies, gains, window = fit_candidates(bands, candidates, reaches, config.first_points, config.first_harmonics)
    scores = _scores(bands, frequencies, gains, window, baseline, config)
    if not np.isfinite(scores).any():
        return None
    best = np.argsort(-scores.max(axis=1), kind="stable")[: config.finalists]
    # The best sine stays in: its residuals measure the noise's memory.
    finalists = np.array(sorted({*best.tolist(), int(np.argmax(gains[:, ONE_SINE]))}))
    candidates, reaches = candidates[finalists], reaches[finalists]

    frequencies, gains, window = fit_candidates(bands, candidates, reaches, config.first_points, HIGHEST_HARMONIC)
    scores = _white_scores(bands, frequencies, gains, baseline, config)
    place, model = _highest(scores)
    bands = _reweighted(bands, frequencies[place, model], model, config.outlier_sigma)

    frequencies, gains, window = _sharp_fit(bands, candidates, reaches, baseline, config)
    memory = _noise_memory(bands, frequencies, gains)
    scores = _penalised(bands, frequencies, gains, window, memory, baseline, config)
    place, model = _highest(scores)
    frequency, model = _half_or_double(
        bands, float(frequencies[place, model]), model, scores[place, model], memory, baseline, limits, config
    )
    frequency = _polished(bands, frequency, model, baseline, config.final_points)
    # A candidate at the range's edge may have its top beyond it.
    chosen = Choice(min(max(frequency, limits[0]), limits[1]), model, bands)
    found = find_eclipses(original, every, every_reach, baseline, limits, memory, chosen.frequency, config.eclipses)
    if found is None or np.any(np.abs(found.frequency / chosen.frequency * SAME_PERIOD - 1.0) < 0.01):
        return chosen
    rivals = np.array((chosen.frequency, found.frequency))
    frequencies, gains, window = _sharp_fit(original, rivals, np.full(2, 0.05 / baseline), baseline, config)
    scores = _penalised(original, frequencies, gains, window, memory, baseline, config)
    if found.score < scores[0].max() + config.eclipses.margin:
        return chosen
    return Choice(found.frequency, int(scores[1].argmax()), original)


def _highest(scores: Floats) -> tuple[int, int]:
    place, model = np.unravel_index(np.argmax(scores), scores.shape)
    return int(place), int(model)


def _half_or_double(
    bands: Bands,
    frequency: float,
    model: int,
    score: float,
    memory: float,
    baseline: float,
    limits: tuple[float, float],
    config: ChoiceConfig,
) -> tuple[float, int]:
    """Weigh the winner against twice and half its period, with the prior of the wave's shape."""
    others = np.array((frequency / 2.0, 2.0 * frequency))
    reaches = np.array((0.1, 0.2)) / baseline
    frequencies, gains, window = _sharp_fit(bands, others, reaches, baseline, config)
    scores = _penalised(bands, frequencies, gains, window, memory, baseline, config)
    best = scores.argmax(axis=1)
    if others[0] >= limits[0] and np.isfinite(scores[0, best[0]]):
        log_odds = double_wave_log_odds(bands, frequency, config.double_wave)
        if log_odds is not None and scores[0, best[0]] + log_odds > score:
            return float(frequencies[0, best[0]]), int(best[0])
    if others[1] <= limits[1] and np.isfinite(scores[1, best[1]]):
        log_odds = double_wave_log_odds(bands, float(frequencies[1, best[1]]), config.double_wave)
        if log_odds is not None and score + log_odds < scores[1, best[1]]:
            return float(frequencies[1, best[1]]), int(best[1])
    return frequency, model


def _sharp_fit(
    bands: Bands, candidates: Floats, reaches: Floats, baseline: float, config: ChoiceConfig
) -> tuple[Floats, Floats, Floats]:
    """Fit all models around the candidates, and the best candidates again ever closer to their tops.

    Strong signals with many harmonics have tops much narrower than a peak of the scan: without this, chance on the
    grid would decide between them.
    """
    sharpening = Sharpening(
        config.sharpenings, config.sharpened, baseline, config.cycles_per_harmonic, config.window_penalty
    )
    return fit_candidates(bands, candidates, reaches, config.final_points, HIGHEST_HARMONIC, sharpening)


def _polished(bands: Bands, frequency: float, model: int, baseline: float, n_points: int) -> float:
    """Return the frequency at the top of the chosen model's likelihood."""
    reach = 0.05 / baseline
    for _ in range(2):
        frequencies, _, _ = fit_candidates(
            bands, np.array((frequency,)), np.array((reach,)), n_points, int(MODEL_HIGHEST[model])
        )
        frequency = float(frequencies[0, model])
        reach *= 2.0 / (n_points - 1)
    return frequency


def _scores(
    bands: Bands, frequencies: Floats, gains: Floats, window: Floats, baseline: float, config: ChoiceConfig
) -> Floats:
    return _penalised(bands, frequencies, gains, window, _noise_memory(bands, frequencies, gains), baseline, config)


def _white_scores(bands: Bands, frequencies: Floats, gains: Floats, baseline: float, config: ChoiceConfig) -> Floats:
    """Return scores as if residuals were independent: the best of them leaves the least signal in its residuals."""
    return _penalised(bands, frequencies, gains, np.zeros(len(gains)), 1.0, baseline, config)


def _penalised(
    bands: Bands,
    frequencies: Floats,
    gains: Floats,
    window: Floats,
    memory: float,
    baseline: float,
    config: ChoiceConfig,
) -> Floats:
    scores = np.empty_like(gains)
    fill_scores(
        bands.bounds, bands.max_harmonics, frequencies, gains, window, memory, baseline, config.cycles_per_harmonic,
        config.window_penalty, scores,
    )  # fmt: skip
    return scores


def _noise_memory(bands: Bands, frequencies: Floats, gains: Floats) -> float:
    """Return how many epochs tell as much as one independent epoch: 1 + 2 Σ autocorrelation of the residuals.

    They are the residuals of the best single sine: richer models would have fitted the correlation away.
    """
    return noise_memory(bands, float(frequencies[np.argmax(gains[:, ONE_SINE]), ONE_SINE]))


def _reweighted(bands: Bands, frequency: float, model: int, outlier_sigma: float) -> Bands:
    """Return the bands with residuals far outside weighed down, so that one bad night decides nothing."""
    residuals, _ = fit_model(bands, frequency, model)
    w, y = bands.w.copy(), bands.y.copy()
    for start, stop in pairwise(bands.bounds.tolist()):
        part = slice(start, stop)
        standardised = residuals[part] * np.sqrt(w[part])
        limit = outlier_sigma * MAD_TO_SIGMA * float(median(np.abs(standardised - median(standardised))))
        if stop - start < 20 or limit == 0.0:
            continue
        excess = np.maximum(np.abs(standardised) / limit, 1.0)
        w[part] /= excess * excess
        w[part] /= w[part].sum()
        y[part] -= w[part] @ y[part]
    return bands._replace(w=w, y=y)
