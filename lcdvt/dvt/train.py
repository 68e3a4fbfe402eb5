"""Training: supervised, semi-supervised, transfer and multi-task, all members in one pass."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lcdvt.dvt.batch_stream import STARTING_WEIGHTS, BatchStream, member_generator
from lcdvt.dvt.config import DVTConfig
from lcdvt.dvt.data import TrainingData
from lcdvt.dvt.model import DVT
from lcdvt.dvt.monitor import Monitor
from lcdvt.dvt.objective import ObjectiveTerms, balanced_class_weights, objective_terms, odds_of_a_label
from lcdvt.dvt.optimiser import FlatAdam
from lcdvt.dvt.snapshots import Snapshots
from lcdvt.errors import TrainingError
from lcdvt.parallel.progress import Progress, silent

if TYPE_CHECKING:
    import pandas as pd

PRIOR_MOMENTUM = 0.02


@dataclass(frozen=True)
class TrainingState:
    """Where a run stands: enough to go on as if it had never stopped.

    Parameters
    ----------
    phase, step
        The next step to take.
    tensors
        Weights, best weights and the optimiser's memory, by name.
    record
        Everything else, as JSON can hold it: history, failures, the snapshots' bookkeeping.
    """

    phase: int
    step: int
    tensors: dict[str, Tensor]
    record: dict[str, Any]


@dataclass(frozen=True)
class TrainingResult:
    """The members that came through, and how they got there.

    Parameters
    ----------
    model
        The trained members, in evaluation mode.
    seeds
        Their seeds, in the model's order.
    history
        One entry per checkpoint, member and survey.
    cycle
        Cycle consistency (0 to 1) of each member as it is in `model`.
    failures
        By seed: why a member was ended.
    temperature
        At which the members' mean is as sure of the target as it should be; whoever trained them finds it afterwards.
    """

    model: DVT
    seeds: tuple[int, ...]
    history: list[dict[str, Any]] = field(repr=False)
    cycle: tuple[float, ...]
    failures: dict[int, str]
    temperature: float = 1.0

    @property
    def top_member(self) -> int:
        """The member with the highest cycle consistency, the paper's choice."""
        return max(range(len(self.cycle)), key=self.cycle.__getitem__)

    def history_table(self) -> "pd.DataFrame":
        """Return the history as a table."""
        import pandas as pd

        return pd.DataFrame(self.history)


def resolve_device(name: str) -> torch.device:
    """Return the device for `auto`, `cpu`, `cuda` or `mps`; `auto` takes an accelerator if there is one."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(device for device in ("cuda", "mps", "cpu") if available[device])
    if name not in available:
        raise TrainingError(f"device={name}: choose from auto, {', '.join(available)}.")
    if not available[name]:
        raise TrainingError(f"device={name}: this machine has no such device; choose auto or cpu.")
    return torch.device(name)


def phases(config: DVTConfig, surveys: int) -> tuple[slice, ...]:
    """Return which surveys each phase trains on."""
    mode = config.training.mode
    if mode in ("supervised", "semi-supervised"):
        if surveys != 1:
            raise TrainingError(f"{mode} training takes one survey, not {surveys}: choose transfer or multi-task.")
        return (slice(0, 1),)
    if surveys < 2:
        raise TrainingError(f"{mode} training takes at least two surveys, not {surveys}: choose semi-supervised.")
    if mode == "transfer":
        return (slice(0, surveys - 1), slice(surveys - 1, surveys))
    return (slice(0, surveys),)


def train(
    config: DVTConfig,
    data: TrainingData,
    seeds: tuple[int, ...],
    *,
    progress: Progress = silent,
    on_checkpoint: Callable[[TrainingState], None] | None = None,
    resume: TrainingState | None = None,
) -> TrainingResult:
    """Train one member per seed, all at once, on the device of the data.

    Parameters
    ----------
    config
        Networks, objective and training.
    data
        The surveys' rows, laid out for as many members as there are seeds.
    seeds
        A member's starting weights, batches and noise follow from its seed alone.
    progress
        Told the steps done.
    on_checkpoint
        Called every `check_every` steps with a state from which `resume` goes on.
    resume
        A state of the same run.
    """
    if len(seeds) != data.members or len(set(seeds)) != len(seeds):
        raise TrainingError(f"{len(seeds)} seeds for {data.members} members: give one different seed for each.")
    if config.objective.consistency_weight > 0 and data.again is None:
        raise TrainingError(
            f"objective.consistency_weight = {config.objective.consistency_weight}, but the objects have no replicates "
            "here, only in a transfer: set it to 0."
        )
    return _Run(config, data, seeds, progress, on_checkpoint).run(resume)


class _Run:
    """One training run: what its phases share."""

    def __init__(
        self,
        config: DVTConfig,
        data: TrainingData,
        seeds: tuple[int, ...],
        progress: Progress,
        on_checkpoint: Callable[[TrainingState], None] | None,
    ) -> None:
        self.config, self.data, self.seeds = config, data, seeds
        self.progress, self.on_checkpoint = progress, on_checkpoint
        self.phases = phases(config, len(data.names))
        self.model = DVT(config.model, len(seeds), data.widths, data.classes)
        self.model.initialise([member_generator(seed, STARTING_WEIGHTS) for seed in seeds])
        if config.model.classifier_start == "components":
            # where a star's latent then explains its label best, the star is at its class's component
            self.model.start_at_components(odds_of_a_label(config.objective.label_smoothing, data.classes))
        self.model.look_at(data)
        self.model.to(data.rows.device).train()
        counts = data.label_counts().to(data.rows.device).float()
        if config.objective.class_prior != "uniform":
            # one more label per class: a class without labels in a survey is unlikely there, not impossible
            self.model.class_prior.copy_((counts + 1) / (counts + 1).sum(-1, keepdim=True))
        balanced = config.objective.balanced_classification
        self.class_weights = balanced_class_weights(counts, config.objective.balance) if balanced else None
        self.monitor = Monitor(data, config, seeds)
        self.snapshots: Snapshots | None = None
        self.history: list[dict[str, Any]] = []
        self.failures: dict[int, str] = {}

    def run(self, resume: TrainingState | None) -> TrainingResult:
        for phase in range(resume.phase if resume else 0, len(self.phases)):
            self._run_phase(phase, resume if resume and resume.phase == phase else None)
        if self.snapshots is not None:
            self.snapshots.restore_best(self.model)
        return self._result()

    def _run_phase(self, phase: int, resume: TrainingState | None) -> None:
        config, surveys = self.config.training, self.phases[phase]
        last = phase == len(self.phases) - 1
        if phase > 0:
            if resume is None and config.target_start == "source":
                self.model.start_survey_from(0, surveys.start)
            self.model.freeze_shared()
        class_weights = None if self.class_weights is None else self.class_weights[:, surveys]
        steps = PhaseSteps(self.model, self.data, self.config, self.seeds, phase, surveys, class_weights)
        if last and config.stop != "never":
            self.snapshots = Snapshots(self.model, config.patience)
        if resume is not None:
            self._restore(resume, steps.optimiser)
        for step in range(resume.step if resume else 0, config.steps):
            terms, loss = steps.take(step)
            done = step + 1
            if done % config.check_every == 0 or done == config.steps:
                self._checkpoint(phase, done, terms, loss, steps.optimiser)
                if self.snapshots is not None and self.snapshots.finished():
                    break

    def _checkpoint(self, phase: int, step: int, terms: ObjectiveTerms, loss: Tensor, optimiser: FlatAdam) -> None:
        last = phase == len(self.phases) - 1
        criteria = self.monitor.measure(self.model) if last else {}
        self._note_failures(loss, step)
        self._write_history(phase, step, terms, loss, criteria)
        if self.snapshots is not None:
            self.snapshots.consider(self.model, criteria[self.config.training.stop], step)
        if self.on_checkpoint is not None:
            self.on_checkpoint(self._state(phase, step, optimiser))
        self.progress(phase * self.config.training.steps + step, len(self.phases) * self.config.training.steps)

    def _note_failures(self, loss: Tensor, step: int) -> None:
        for member, finite in enumerate(torch.isfinite(loss).tolist()):
            if not finite and self.seeds[member] not in self.failures:
                self.failures[self.seeds[member]] = (
                    f"member {member} (seed {self.seeds[member]}): the loss was not finite by step {step}; it was "
                    "ended and the others go on; lower training.learning_rate or look for extreme features."
                )
        if len(self.failures) == len(self.seeds):
            raise TrainingError(f"no member came through: {next(iter(self.failures.values()))}")

    def _write_history(
        self, phase: int, step: int, terms: ObjectiveTerms, loss: Tensor, criteria: dict[str, Tensor]
    ) -> None:
        columns = {name: values.tolist() for name, values in terms.as_columns().items()}
        tie = columns.pop("tie")
        measured = {name: values.tolist() for name, values in criteria.items()}
        names = self.data.names[self.phases[phase]]
        for member, seed in enumerate(self.seeds):
            for place, survey in enumerate(names):
                row = {"phase": phase, "step": step, "seed": seed, "survey": survey, "loss": float(loss[member])}
                row |= {name: values[member][place] for name, values in columns.items()}
                row |= {"tie": tie[member]} | {name: values[member] for name, values in measured.items()}
                self.history.append(row)

    def _state(self, phase: int, step: int, optimiser: FlatAdam) -> TrainingState:
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"adam.{name}": tensor for name, tensor in optimiser.tensors().items()}
        record: dict[str, Any] = {"history": self.history, "failures": self.failures}
        if self.snapshots is not None:
            tensors |= {f"best.{name}": tensor for name, tensor in self.snapshots.best.items()}
            record["snapshots"] = self.snapshots.record()
        copies = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
        return TrainingState(phase, step, copies, record)

    def _restore(self, state: TrainingState, optimiser: FlatAdam) -> None:
        def part(prefix: str) -> dict[str, Tensor]:
            device = self.data.rows.device
            return {
                name.removeprefix(prefix): tensor.to(device)
                for name, tensor in state.tensors.items()
                if name.startswith(prefix)
            }

        self.model.load_state_dict(part("model."))
        optimiser.restore(part("adam."))
        self.history = list(state.record["history"])
        self.failures = {int(seed): why for seed, why in state.record["failures"].items()}
        if self.snapshots is not None:
            self.snapshots.restore(state.record["snapshots"], part("best."))

    def _result(self) -> TrainingResult:
        cycle = self.monitor.measure(self.model)["cycle"].tolist()
        alive = [member for member, seed in enumerate(self.seeds) if seed not in self.failures]
        return TrainingResult(
            model=self.model.select(alive).eval(),
            seeds=tuple(self.seeds[member] for member in alive),
            history=self.history,
            cycle=tuple(cycle[member] for member in alive),
            failures=self.failures,
        )


class PhaseSteps:
    """Trains all members on some of the surveys, one step after the other.

    Parameters
    ----------
    model
        The members; what is frozen stays as it is.
    data
        Laid out for as many members.
    config
        Networks, objective and training.
    seeds
        One for each member.
    phase
        Its number, from which the batches' random numbers follow.
    surveys
        Which surveys it trains on.
    class_weights
        (members, surveys, K) of these surveys, or None to weigh each labelled row the same.
    """

    def __init__(
        self,
        model: DVT,
        data: TrainingData,
        config: DVTConfig,
        seeds: tuple[int, ...],
        phase: int,
        surveys: slice,
        class_weights: Tensor | None = None,
    ) -> None:
        self.model, self.objective, self.surveys, self.class_weights = model, config.objective, surveys, class_weights
        self.optimiser = FlatAdam(model, config.training)
        self.stream = BatchStream(data, config, seeds, phase, surveys)

    def take(self, number: int) -> tuple[ObjectiveTerms, Tensor]:
        """Take the step of this number; return the terms and each member's loss before it."""
        self.optimiser.zero_gradient()
        terms, q = objective_terms(
            self.model, self.stream.batch(number), self.objective, self.surveys, self.class_weights
        )
        loss = terms.total(self.objective)
        loss.sum().backward()
        self.optimiser.step(number)
        if self.objective.class_prior == "estimated" and q.shape[-1]:
            self.model.class_prior[:, self.surveys].lerp_(q.mean(-1), PRIOR_MOMENTUM)
        return terms, loss.detach()
