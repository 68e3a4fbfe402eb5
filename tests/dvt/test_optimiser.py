"""Adam on one flat tensor: torch's own update, without what torch imports for its class."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import torch
from helpers.dvt_problems import quick_config, two_surveys

from lcdvt.dvt.model import DVT
from lcdvt.dvt.optimiser import FlatAdam

TESTS = Path(__file__).parents[1]
STEPS = 7


def test_the_update_is_that_of_torch_s_own_adam():
    config = quick_config(schedule="linear")
    training = replace(config.training, final_learning_rate=1.0)
    data = two_surveys(2)
    model = DVT(config.model, 2, data.widths, data.classes)
    model.initialise([torch.Generator().manual_seed(seed) for seed in (1, 2)])
    ours = FlatAdam(model, training)
    theirs = ours.flat.clone().requires_grad_()
    adam = torch.optim.Adam([theirs], lr=training.learning_rate, betas=training.betas, eps=training.epsilon, fused=True)
    gradients = torch.randn(STEPS, len(theirs), generator=torch.Generator().manual_seed(3))
    for step, gradient in enumerate(gradients):
        ours.zero_gradient()
        ours.gradient += gradient
        ours.step(step)
        theirs.grad = gradient.clone()
        adam.step()
    assert torch.equal(ours.flat, theirs.detach())
    for name, tensor in ours.tensors().items():
        assert torch.equal(tensor, adam.state[theirs][name])


def test_training_does_not_import_torch_s_compiler():
    program = """
import sys
from helpers.dvt_problems import quick_config, two_surveys
from lcdvt.dvt.train import train

train(quick_config(steps=2), two_surveys(1), (0,))
assert "torch" in sys.modules
assert "torch._dynamo" not in sys.modules, "importing it takes longer than training on a small survey"
"""
    subprocess.run([sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(TESTS)}, check=True)
