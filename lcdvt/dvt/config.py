"""The numbers of a DVT run: frozen dataclasses, and the presets `paper`, `tied`, `taught` and `robust`.

The paper's Table 1 calls the weight of the unlabelled term λ where the text calls it γ, and uses η for
the learning rate where the text uses it for the weight of the source's task; here each has one name.
"""

import math
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Literal, get_args

from lcdvt.disk.toml_config import from_table, read_table
from lcdvt.errors import SettingsError

PresetName = Literal["paper", "tied", "taught", "robust"]
TrainingMode = Literal["supervised", "semi-supervised", "transfer", "multi-task"]
DoubtfulLabels = Literal["keep", "leave-out"]


@dataclass(frozen=True)
class ConvolutionConfig:
    """Convolutional networks for square images with one channel (the paper's digits).

    The encoder has three convolutions that all surveys share, two of which halve the image, and then two
    of each survey's own; the second of these covers what is left of the image and gives the latent.
    """

    channels: tuple[int, int, int] = (16, 32, 32)
    specific_channels: int = 32


@dataclass(frozen=True)
class EyesConfig:
    """How the encoder sees each feature: as ramps at the values where trees would cut it (`lcdvt.dvt.eyes`).

    Parameters
    ----------
    thresholds
        Ramps of a feature, at most.
    half_width
        How far from its threshold a ramp ends, in units of the scaled feature.
    smallest_leaf
        Least number of labelled objects on each side of a threshold.
    """

    thresholds: int = 7
    half_width: float = 0.05
    smallest_leaf: int = 10

    def __post_init__(self) -> None:
        if self.thresholds < 1 or self.smallest_leaf < 1 or self.half_width <= 0:
            raise SettingsError("model.eyes: give at least one threshold, one object in a leaf, and a width above 0.")


@dataclass(frozen=True)
class ModelConfig:
    """The networks and the latent mixture.

    Parameters
    ----------
    shared
        Widths of the encoder's hidden layers that all surveys share; the decoder mirrors them.
    specific
        Widths of further hidden layers of each survey's own, between the shared ones and the latent.
    latent
        J, the dimension of z; at least the number of classes, because each component has an axis of its own.
    heads
        Whether a survey's own layers are independent of the other surveys' (the paper), or tied to the
        first survey's by a penalised correction that starts at zero.
    classifier
        One classifier for each survey (different class mixes), or one for all.
    classifier_start
        Where it starts: at random like any layer (the paper), or saying which component is the nearest. A classifier
        that has to learn where the classes lie lets the encoder put them where it likes, against the mixture.
    input_layer
        Whether the first layer (and the decoder's last) is shared or each survey's own; surveys with
        different features need their own.
    component_distance, component_sigma
        μ and σ of p(z|y) = N(μ e_y, σ² I).
    scaled_latent
        Whether decoder and classifier see z / μ, which keeps their inputs near one.
    logvar_x, logvar_z
        Limits of the log variances of p(x|z) and q(z|x): without them a feature that is constant in a
        survey gives an unbounded likelihood.
    eyes
        How the encoder sees each feature; None shows it the scaled number.
    """

    shared: tuple[int, ...] = (32, 32)
    specific: tuple[int, ...] = ()
    latent: int = 10
    heads: Literal["independent", "tied"] = "independent"
    classifier: Literal["survey", "shared"] = "survey"
    classifier_start: Literal["random", "components"] = "random"
    input_layer: Literal["shared", "survey"] = "shared"
    likelihood: Literal["gaussian", "bernoulli"] = "gaussian"
    component_distance: float = 10.0
    component_sigma: float = 0.1
    scaled_latent: bool = False
    logvar_x: tuple[float, float] = (-6.0, 2.0)
    logvar_z: tuple[float, float] = (-14.0, 4.0)
    convolution: ConvolutionConfig | None = None
    eyes: EyesConfig | None = None

    def __post_init__(self) -> None:
        if self.latent < 1 or any(width < 1 for width in (*self.shared, *self.specific)):
            raise SettingsError("model: every layer needs a width of at least 1; correct shared, specific or latent.")
        if not self.shared:
            raise SettingsError("model.shared is empty: without shared layers nothing is transferred; give widths.")
        if self.component_sigma <= 0:
            raise SettingsError(f"model.component_sigma = {self.component_sigma}: give a value above 0.")
        if self.eyes and self.convolution:
            raise SettingsError("model.eyes are for features, and model.convolution is for images: leave one out.")


@dataclass(frozen=True)
class ObjectiveConfig:
    """The weights of the objective's terms and how the sum over y is taken.

    Parameters
    ----------
    unlabelled_weight
        γ of eq. (loss_j).
    classification_weight
        ρ of eq. (loss_j_alpha).
    source_weight
        η of eq. (loss_j_alpha_transfer); more than one source share it equally.
    label_sampling
        How E_q(y|z)[KL] is taken: with one straight-through Gumbel sample (the paper), or exactly.
    temperature
        τ of the Gumbel softmax.
    class_prior
        p(y) of each survey: uniform, the labelled fractions, or estimated from the unlabelled objects.
    balanced_classification
        Whether each class weighs the same in the classification term, however many labels it has.
    balance
        The power of a balanced class weight: 1 lets each class weigh the same, 0 each object, 0.5 is between.
    label_smoothing
        Share of a label that is spread over all classes in the classification term: labels may be wrong.
    tie_penalty
        Weight of the squared size of the corrections of tied layers.
    consistency_weight
        κ: how much it costs if a star and its replicate (its thinned light curve, see `lcdvt.ingestion.replicates`) lie
        apart in the latent space or get different classes, labelled or not. With 0 replicates are for teachers alone.
    generative
        Whether objects are explained as well as classified. Without it only encoder and classifier are left,
        without sampling and without unlabelled objects: the network the paper compares DVT with on digits.
    """

    unlabelled_weight: float = 0.1
    classification_weight: float = 1e4
    source_weight: float = 0.5
    label_sampling: Literal["straight-through", "exact"] = "straight-through"
    temperature: float = 0.5
    class_prior: Literal["uniform", "empirical", "estimated"] = "uniform"
    balanced_classification: bool = False
    balance: float = 1.0
    label_smoothing: float = 0.0
    tie_penalty: float = 10.0
    consistency_weight: float = 0.0
    generative: bool = True

    def __post_init__(self) -> None:
        for name in ("unlabelled_weight", "source_weight", "balance", "label_smoothing"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingsError(f"objective.{name} = {getattr(self, name)}: give a value between 0 and 1.")
        if self.temperature <= 0:
            raise SettingsError(f"objective.temperature = {self.temperature}: give a value above 0.")
        if not 0 <= self.consistency_weight < math.inf:
            raise SettingsError(f"objective.consistency_weight = {self.consistency_weight}: give 0 (none) or more.")


@dataclass(frozen=True)
class TrainingConfig:
    """How long, with which batches and optimiser, and when to stop.

    Parameters
    ----------
    steps
        Batches in each phase (transfer has two phases: the sources, then the target).
    labelled_batch, unlabelled_batch
        Rows of one survey in a batch; 0 labelled rows means all labels in each batch.
    final_learning_rate
        The learning rate falls to this share of its start.
    schedule
        How it falls: linearly, or along half a cosine.
    input_noise
        Standard deviation of the noise added to what the encoder sees (the decoder still explains x).
    hidden_features
        Share of the features, other ones in each row, that is hidden from the encoder (the decoder still explains x).
    shift_pixels
        Images only: the largest random shift of an image, in pixels.
    target_start
        Where the target's own layers start in the second phase of transfer.
    check_every
        Steps between checkpoints, at which the history is written and the criterion measured.
    stop
        The criterion watched at checkpoints; with one, each member keeps its best snapshot.
    patience
        Checkpoints without a better value after which a member stops.
    held_out
        Unlabelled objects of the target kept out of the batches, on which `bound` and `agreement` are measured.
    """

    mode: TrainingMode = "multi-task"
    steps: int = 2000
    labelled_batch: int = 130
    unlabelled_batch: int = 100
    learning_rate: float = 0.005
    final_learning_rate: float = 1.0
    schedule: Literal["linear", "cosine"] = "linear"
    betas: tuple[float, float] = (0.5, 0.5)
    epsilon: float = 1e-3
    input_noise: float = 0.0
    hidden_features: float = 0.0
    shift_pixels: int = 0
    target_start: Literal["random", "source"] = "random"
    check_every: int = 100
    stop: Literal["never", "cycle", "bound", "agreement"] = "never"
    patience: int = 5
    held_out: int = 0

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("check_every", 1), ("patience", 1), ("unlabelled_batch", 1)):
            if getattr(self, name) < least:
                raise SettingsError(f"training.{name} = {getattr(self, name)}: give at least {least}.")
        for name in ("labelled_batch", "held_out", "shift_pixels"):
            if getattr(self, name) < 0:
                raise SettingsError(f"training.{name} = {getattr(self, name)}: give 0 or more.")
        if not 0 <= self.hidden_features < 1:
            raise SettingsError(f"training.hidden_features = {self.hidden_features}: give 0 or more, below 1.")
        if self.stop in ("bound", "agreement") and self.held_out == 0:
            raise SettingsError(f"training.stop = {self.stop!r} needs objects to measure on: set training.held_out.")


@dataclass(frozen=True)
class TeachingConfig:
    """How trees classify the unlabelled target for DVT to learn from (`lcdvt.protocol.teaching`).

    Parameters
    ----------
    folds
        Boosting models of the first round: 1 learns from all labels, several each go without one fold of them.
    forest
        Whether a forest on both surveys is asked too.
    target_forest
        Whether a forest on the target's labels alone is asked too, where they have every class.
    self_training_rounds
        How often boosting learns from the guesses; 0 teaches what the first round says.
    confident_share
        Share of each guessed class, the surest first, that the next round learns from.
    students
        Boosting models of each kind in a later round.
    target_only_student
        Whether one kind learns without the source's labels.
    target_only_weight
        How often the opinion of that kind counts among the experts.
    steady_share
        Two more students come of teachers that look at steady features alone: those of which a rule of the sources
        tells of the target's classes at least this share of what it tells of the sources'
        (`lcdvt.protocol.steady`); 0 does without them.
    replicates
        How often each star's light curve is thinned, its features being one more row for the teachers
        (`lcdvt.ingestion.replicates`).
    doubtful_labels
        Whether drawn labels that the sources contradict are learned from like all others, or left out
        (`lcdvt.protocol.doubtful`).
    softened
        Whether the trained ensemble is made no surer than its teachers warrant (`lcdvt.protocol.confidence`).
    """

    folds: int = 1
    forest: bool = True
    target_forest: bool = True
    self_training_rounds: int = 1
    confident_share: float = 0.5
    students: int = 2
    target_only_student: bool = True
    target_only_weight: float = 1.0
    steady_share: float = 0.6
    replicates: int = 1
    doubtful_labels: DoubtfulLabels = "leave-out"
    softened: bool = True

    def __post_init__(self) -> None:
        if self.doubtful_labels not in get_args(DoubtfulLabels):
            raise SettingsError(
                f"doubtful_labels={self.doubtful_labels}: choose from {', '.join(get_args(DoubtfulLabels))}."
            )
        if self.replicates < 0:
            raise SettingsError(f"replicates={self.replicates}: give 0 (none) or more.")
        if self.folds < 1 or self.students < 1 or self.self_training_rounds < 0:
            raise SettingsError("teaching: give at least one fold and one student, and no negative number of rounds.")
        for name in ("target_only_weight", "steady_share"):
            if getattr(self, name) < 0:
                raise SettingsError(f"teaching.{name} = {getattr(self, name)}: give 0 or more.")
        if not 0 < self.confident_share <= 1:
            raise SettingsError(f"teaching.confident_share = {self.confident_share}: give a value above 0, up to 1.")


@dataclass(frozen=True)
class DVTConfig:
    """Everything that makes a DVT run, apart from the data and the seed.

    `teaching` is for transfers only: without it DVT learns from the drawn labels and the unlabelled stars alone.
    """

    model: ModelConfig = field(default_factory=ModelConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    teaching: TeachingConfig | None = None

    @property
    def replicates(self) -> int:
        """How often a transfer thins each light curve: as its teachers want it, else once if the objective needs it."""
        return self.teaching.replicates if self.teaching else int(self.objective.consistency_weight > 0)


_ROBUST = DVTConfig(
    model=ModelConfig(shared=(64, 64), specific=(64,), component_distance=5.0, component_sigma=1.0, scaled_latent=True),
    objective=ObjectiveConfig(classification_weight=100.0, label_sampling="exact", balanced_classification=True),
    training=TrainingConfig(
        steps=300, learning_rate=0.003, betas=(0.9, 0.99), epsilon=1e-8, input_noise=0.7, check_every=50
    ),
)
# Hidden features in place of noise, which would blur what the eyes see sharply; labels may be wrong, so they are
# smoothed; class weights by the root of a class's rarity, because a class that weighs as much as one ten times as
# large draws stars of the large one to it. A label weighs a thousand times what the mixture does, so that both have to
# want the same from the beginning: the classifier starts at the components.
_TIED = DVTConfig(
    model=replace(_ROBUST.model, heads="tied", classifier_start="components", eyes=EyesConfig()),
    objective=replace(_ROBUST.objective, classification_weight=1000.0, balance=0.5, label_smoothing=0.12),
    training=replace(
        _ROBUST.training, input_noise=0.0, hidden_features=0.2, schedule="cosine", final_learning_rate=0.0
    ),
)

_PRESETS: dict[str, DVTConfig] = {
    "paper": DVTConfig(),
    "tied": _TIED,
    # longer than `tied`: every star of the target is labelled now, so there is more to fit and less to overfit
    "taught": replace(_TIED, training=replace(_TIED.training, steps=450), teaching=TeachingConfig()),
    "robust": _ROBUST,
}


def choose_preset(chosen: str | Path | DVTConfig) -> DVTConfig:
    """Return the numbers of a named preset, of a TOML file, or as they are given.

    Parameters
    ----------
    chosen
        A name, a path that ends in .toml (`lcdvt tune` writes such a file, and each run keeps its own), or the numbers.
    """
    if isinstance(chosen, DVTConfig):
        return chosen
    if not str(chosen).endswith(".toml"):
        return preset(str(chosen))
    table = read_table(Path(chosen))
    if "format" in table:  # a run's own file, which also says what the run was about
        table = {each.name: table[each.name] for each in fields(DVTConfig) if each.name in table}
    return from_table(DVTConfig, table, str(chosen))


def preset(name: str) -> DVTConfig:
    """Return a named set of numbers.

    `paper` is the paper's Table 1. `tied` is what worked best between real surveys: each survey's own
    layers are the source's plus a small correction. `taught` is the same network, to which trees teach the classes
    of the target's unlabelled objects first. Both see features as trees do (`lcdvt.dvt.eyes`). `robust` has independent
    layers, no eyes and noisy inputs.
    """
    if name not in _PRESETS:
        raise SettingsError(
            f"there is no preset named {name!r}; choose from {', '.join(_PRESETS)}, or give a file that ends in .toml."
        )
    return _PRESETS[name]
