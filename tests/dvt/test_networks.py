"""Shapes, scopes and padding of dense and convolutional networks."""

import pytest
import torch
from torch.nn import functional

from lcdvt.dvt.config import ConvolutionConfig, ModelConfig
from lcdvt.dvt.image_networks import MemberConvolution
from lcdvt.dvt.model import DVT
from lcdvt.dvt.networks import MemberLinear
from lcdvt.dvt.objective import odds_of_a_label
from lcdvt.errors import SettingsError


def generators(count: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in range(count)]


def test_every_parameter_has_a_leading_member_axis() -> None:
    for config in (ModelConfig(heads="tied", specific=(4,)), ModelConfig(convolution=ConvolutionConfig((4, 4, 4), 4))):
        model = DVT(config, 3, (64, 64), 2)
        assert {tensor.shape[0] for tensor in model.state_dict().values()} == {3}


@pytest.mark.parametrize("scope", ["shared", "survey", "tied"])
def test_a_layer_is_each_members_own_product(scope: str) -> None:
    layer = MemberLinear(3, 2, 4, 5, scope)  # type: ignore[arg-type]
    for member, generator in enumerate(generators(3)):
        layer.initialise(member, generator)
    with torch.no_grad():
        for correction in layer.corrections:
            correction.normal_()
    x = torch.randn(3, 2, 6, 4)
    y = layer(x, slice(0, 2))
    for member in range(3):
        for survey in range(2):
            place = survey if scope == "survey" else 0
            weight, bias = layer.weight[member, place], layer.bias[member, place]
            if scope == "tied" and survey == 1:
                weight, bias = weight + layer.weight_correction[member, 0], bias + layer.bias_correction[member, 0]
            torch.testing.assert_close(y[member, survey], x[member, survey] @ weight + bias)
    torch.testing.assert_close(layer(x[:, 1:], slice(1, 2))[:, 0], y[:, 1])
    torch.testing.assert_close(layer.columns(x, slice(0, 2)), y.transpose(-1, -2))


def test_a_convolution_takes_its_members_and_surveys_weights() -> None:
    layer = MemberConvolution(3, 2, 2, 4, 3, "survey")
    for member, generator in enumerate(generators(3)):
        layer.initialise(member, generator)
    images = torch.randn(5, 2, 8, 8)
    for member in range(3):
        weight, bias = layer.weight[member, 1].permute(0, 3, 1, 2), layer.bias[member, 1]
        expected = functional.conv2d(images, weight, bias, padding=1)
        torch.testing.assert_close(layer(images, member, 1), expected)


def test_surveys_of_different_widths_have_their_own_input_layer() -> None:
    model = DVT(ModelConfig(shared=(6, 6), latent=3, input_layer="survey"), 2, (5, 3), 2)
    model.initialise(generators(2))
    x = torch.randn(2, 2, 4, 5)
    x[:, 1, :, 3:] = 0
    mean, logvar = model.encode(x, slice(0, 2))
    assert mean.shape == logvar.shape == (2, 2, 4, 3)
    assert model.decode(mean, slice(0, 2)).shape == (2, 2, 4, 10)


def test_different_widths_with_a_shared_first_layer_are_refused() -> None:
    with pytest.raises(SettingsError, match="5, 3 features"):
        DVT(ModelConfig(), 1, (5, 3), 2)


def test_too_small_a_latent_is_refused() -> None:
    with pytest.raises(SettingsError, match="at least 4"):
        DVT(ModelConfig(latent=3), 1, (5, 5), 4)


def test_images_of_different_sizes_share_convolutions() -> None:
    config = ModelConfig(latent=4, likelihood="bernoulli", convolution=ConvolutionConfig((4, 5, 6), 7))
    model = DVT(config, 2, (28 * 28, 16 * 16), 3)
    model.initialise(generators(2))
    x = torch.rand(2, 2, 3, 784)
    x[:, 1, :, 256:] = 0
    mean, _ = model.encode(x, slice(0, 2))
    assert mean.shape == (2, 2, 3, 4)
    output = model.decode(mean, slice(0, 2))
    assert output.shape == (2, 2, 3, 784)
    assert (output[:, 1, :, 256:] == 0).all()
    assert (output[:, 1, :, :256] != 0).any()


def test_a_members_start_does_not_depend_on_its_neighbours() -> None:
    config = ModelConfig(shared=(6,), latent=3)
    alone, beside = DVT(config, 1, (5, 5), 2), DVT(config, 3, (5, 5), 2)
    alone.initialise([torch.Generator().manual_seed(1)])
    beside.initialise(generators(3))
    for name, tensor in alone.state_dict().items():
        torch.testing.assert_close(tensor[0], beside.state_dict()[name][1], rtol=0, atol=0)


@pytest.mark.parametrize("heads", ["tied", "independent"])
@pytest.mark.parametrize("scaled", [True, False])
def test_a_classifier_that_starts_at_the_components_gives_each_the_smoothed_label(heads, scaled) -> None:
    """So that the latent which explains a label best is the one that the mixture wants."""
    config = ModelConfig(heads=heads, component_distance=5.0, component_sigma=1.0, scaled_latent=scaled)
    model = DVT(config, members=2, widths=(4, 4), classes=3)
    model.initialise([torch.Generator().manual_seed(seed) for seed in (0, 1)])
    model.start_at_components(odds_of_a_label(0.12, 3))
    at_components = 5.0 * torch.eye(3, config.latent).expand(2, 2, 3, config.latent)
    said = model.classify(at_components, slice(0, 2)).softmax(-1)
    torch.testing.assert_close(said, torch.full((3, 3), 0.04).fill_diagonal_(0.92).expand(2, 2, 3, 3))


def test_without_smoothing_a_classifier_starts_as_sure_as_the_mixture() -> None:
    config = ModelConfig(component_distance=3.0, component_sigma=1.0)
    model = DVT(config, members=1, widths=(4,), classes=3)
    model.start_at_components(odds_of_a_label(0.0, 3))
    z = torch.tensor([1.2, 0.3, -0.4, *[0.5] * (config.latent - 3)])
    components = 3.0 * torch.eye(3, config.latent)
    posterior = (-0.5 * (z - components).square().sum(-1)).softmax(-1)
    torch.testing.assert_close(model.classify(z.view(1, 1, 1, -1), slice(0, 1)).softmax(-1).flatten(), posterior)


def test_selected_members_keep_their_weights() -> None:
    model = DVT(ModelConfig(shared=(6,), latent=3), 3, (5, 5), 2)
    model.initialise(generators(3))
    x = torch.randn(7, 5)
    torch.testing.assert_close(model.select([2, 0]).probabilities(x, 1), model.probabilities(x, 1)[[2, 0]])


def test_a_survey_can_start_as_a_copy_of_another() -> None:
    model = DVT(ModelConfig(shared=(6,), latent=3), 2, (5, 5), 2)
    model.initialise(generators(2))
    x = torch.randn(7, 5)
    assert not torch.equal(model.probabilities(x, 0), model.probabilities(x, 1))
    model.start_survey_from(0, 1)
    assert torch.equal(model.probabilities(x, 0), model.probabilities(x, 1))
