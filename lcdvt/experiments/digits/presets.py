"""The numbers of the digits experiment: presets for DVT, and the CNN that the paper sets beside it.

The settings were chosen on the validation part of the training images, never on the test images.
"""

from dataclasses import replace
from typing import Final, Literal

from lcdvt.dvt.config import (
    ConvolutionConfig,
    DVTConfig,
    ModelConfig,
    ObjectiveConfig,
    TrainingConfig,
    TrainingMode,
)
from lcdvt.errors import SettingsError

Augmentation = Literal["none", "shift"]
ModelName = Literal["DVT", "CNN"]
Likelihood = Literal["bernoulli", "gaussian"]

SHIFT_PIXELS: Final = 2
"""A digit stays a digit, and stays inside the image."""
# Images that are never shifted are learned by heart, and unlabelled ones go to the wrong component: noise on what the
# encoder sees prevents it, and together with shifts it does harm. Compare, on training images kept out of training,
# lcdvt experiment digits --score validation --mode semi-supervised --augment none --noise 0 (or 0.3, or 0.6).
NOISE_WITHOUT_SHIFTS: Final = 0.3
# A transfer has two phases, and a batch of multi-task has images of both domains; semi-supervised training, which no
# CNN stands beside, gets as many images as they do: worth 0.1 % of the MNIST images that were kept out of training.
SEMI_SUPERVISED_PHASES: Final = 2

_DIGITS: Final = DVTConfig(
    model=ModelConfig(
        latent=16,
        classifier="shared",
        likelihood="bernoulli",
        convolution=ConvolutionConfig(channels=(16, 32, 32), specific_channels=32),
    ),
    objective=ObjectiveConfig(unlabelled_weight=0.5, classification_weight=1e4),
    training=TrainingConfig(
        steps=2000,
        labelled_batch=50,
        unlabelled_batch=100,
        learning_rate=0.003,
        final_learning_rate=0.05,
        betas=(0.9, 0.99),
        epsilon=1e-8,
        check_every=500,
    ),
)

_PRESETS: Final[dict[str, DVTConfig]] = {
    "digits": _DIGITS,
    # the numbers of the paper's Table 1; batches, steps and channels, which it does not give, are ours
    "paper": replace(
        _DIGITS,
        objective=ObjectiveConfig(),
        training=replace(
            _DIGITS.training, learning_rate=0.005, final_learning_rate=1.0, betas=(0.5, 0.5), epsilon=1e-3
        ),
    ),
}


def digits_config(
    mode: TrainingMode,
    model: ModelName = "DVT",
    augment: Augmentation = "shift",
    preset: str = "digits",
    *,
    steps: int | None = None,
    likelihood: Likelihood = "bernoulli",
    noise: float | None = None,
) -> DVTConfig:
    """Return the numbers of one row of the table.

    The CNN is DVT's encoder and classifier without sampling. It sees as many images in a batch, for as many
    batches. For transfer its last three layers, of which the classifier is one, are trained again on the target.
    Without a given `noise` on what the encoder sees, there is some where images are not shifted.
    """
    if preset not in _PRESETS:
        raise SettingsError(f"there is no preset named {preset!r} for digits; choose from {', '.join(_PRESETS)}.")
    config = _PRESETS[preset]
    if noise is None:
        noise = 0.0 if augment == "shift" else NOISE_WITHOUT_SHIFTS
    phases = SEMI_SUPERVISED_PHASES if mode == "semi-supervised" else 1
    training = replace(
        config.training,
        mode=mode,
        steps=phases * config.training.steps if steps is None else steps,
        shift_pixels=SHIFT_PIXELS if augment == "shift" else 0,
        input_noise=noise,
    )
    if mode == "supervised" or model == "CNN":
        images = training.labelled_batch + training.unlabelled_batch
        training = replace(training, labelled_batch=images)
    config = replace(config, model=replace(config.model, likelihood=likelihood), training=training)
    if model == "DVT":
        return config
    retrained = mode == "transfer"
    return DVTConfig(
        model=replace(config.model, classifier="survey" if retrained else "shared"),
        objective=replace(config.objective, generative=False),
        training=replace(training, target_start="source" if retrained else "random"),
    )
