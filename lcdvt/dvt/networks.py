"""Encoder, decoder and classifier networks, dense or convolutional, for all members and surveys at once.

Every network works on tensors (members, surveys, rows, features). Surveys with fewer features than the
widest are padded with zeros, and the padding is masked in the likelihood. The first axes let a shared
layer see all rows as one batch, and a survey's own layer see its own rows, without copying anything.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lcdvt.config import ConfigError
from lcdvt.dvt.config import ModelConfig
from lcdvt.dvt.layers import MemberBatchNorm, MemberConvolution, MemberLinear, Scope


class DenseNetworks(nn.Module):
    """Fully connected: shared layers, then each survey's own; the decoder mirrors the encoder."""

    def __init__(self, config: ModelConfig, members: int, widths: tuple[int, ...], parameters_per_feature: int) -> None:
        super().__init__()
        features, surveys = max(widths), len(widths)
        own: Scope = "tied" if config.heads == "tied" else "survey"
        input_scope: Scope = "survey" if config.input_layer == "survey" else "shared"
        encoder = [features, *config.shared, *config.specific, 2 * config.latent]
        further_shared: list[Scope] = ["shared"] * (len(config.shared) - 1)
        scopes = [input_scope, *further_shared, *[own] * (len(config.specific) + 1)]
        decoder = [config.latent, *reversed(encoder[1:-1]), parameters_per_feature * features]
        self.encoder = _stack(members, surveys, encoder, scopes)
        self.decoder = _stack(members, surveys, decoder, scopes[::-1])

    def encode(self, x: Tensor, surveys: slice) -> Tensor:
        """Return mean and log variance of q(z|x), side by side."""
        return _run(self.encoder, x, surveys)

    def decode(self, z: Tensor, surveys: slice) -> Tensor:
        """Return the parameters of p(x|z), side by side."""
        return _run(self.decoder, z, surveys)


def _stack(members: int, surveys: int, widths: list[int], scopes: list[Scope]) -> nn.ModuleList:
    last = len(scopes) - 1
    return nn.ModuleList(
        MemberLinear(members, surveys, widths[place], widths[place + 1], scope, rectified=place < last)
        for place, scope in enumerate(scopes)
    )


def _run(layers: nn.ModuleList, hidden: Tensor, surveys: slice) -> Tensor:
    for layer in layers:
        hidden = layer(hidden, surveys)
    return hidden


class ConvolutionalNetworks(nn.Module):
    """Convolutional: three shared convolutions, then two of each survey's own, for square images.

    The decoder has three shared layers that grow the latent to 8×8 pixels and two of each survey's own that
    bring it to the survey's size. Images of different sizes share the convolutions, which do not know sizes.
    """

    def __init__(self, config: ModelConfig, members: int, widths: tuple[int, ...], parameters_per_feature: int) -> None:
        super().__init__()
        convolution = config.convolution
        if convolution is None:
            raise ConfigError("model.convolution is missing: convolutional networks need their channels.")
        surveys, self.members, self.widths = len(widths), members, widths
        self.sides = tuple(_image_side(width) for width in widths)
        own: Scope = "tied" if config.heads == "tied" else "survey"
        first, second, third = convolution.channels
        last = convolution.specific_channels

        def layer(
            inputs: int, outputs: int, kernel: int, scope: Scope, *, stride: int = 1, padding: int = 0
        ) -> MemberConvolution:
            return MemberConvolution(members, surveys, inputs, outputs, kernel, scope, stride=stride, padding=padding)

        self.encoder = nn.ModuleList(
            [
                layer(1, first, 5, "shared", stride=2, padding=2),
                layer(first, second, 3, "shared", stride=2, padding=1),
                layer(second, third, 3, "shared", padding=1),
                layer(third, last, 3, own, padding=1),
            ]
        )
        self.encoder_norms = nn.ModuleList(
            MemberBatchNorm(members, surveys, channels) for channels in (first, second, third, last)
        )
        # The last convolution covers what is left of the image, whose size is the survey's: no common shape.
        self.encoder_ends = nn.ModuleList(
            MemberConvolution(members, 1, last, 2 * config.latent, -(-side // 4), "survey") for side in self.sides
        )
        self.decoder = nn.ModuleList(
            [
                layer(config.latent, third * 16, 1, "shared"),
                layer(third, second, 3, "shared", padding=1),
                layer(second, first, 3, "shared", padding=1),
                layer(first, first, 3, own, padding=1),
                layer(first, parameters_per_feature, 3, own, padding=1),
            ]
        )
        self.decoder_norms = nn.ModuleList(
            MemberBatchNorm(members, surveys, channels) for channels in (third, second, first, first)
        )

    def encode(self, x: Tensor, surveys: slice) -> Tensor:
        """Return mean and log variance of q(z|x), side by side."""
        ordinals = range(len(self.widths))[surveys]
        return torch.stack([self._encode_one(x[:, place], survey) for place, survey in enumerate(ordinals)], dim=1)

    def _encode_one(self, x: Tensor, survey: int) -> Tensor:
        rows, side = x.shape[1], self.sides[survey]
        images = x[..., : side * side].transpose(0, 1).reshape(rows, self.members, side, side)
        for layer, norm in zip(self.encoder, self.encoder_norms, strict=True):
            images = norm(layer(images, survey), survey).relu_()
        return self.encoder_ends[survey](images, 0).view(rows, self.members, -1).transpose(0, 1)

    def decode(self, z: Tensor, surveys: slice) -> Tensor:
        """Return the parameters of p(x|z), side by side."""
        ordinals = range(len(self.widths))[surveys]
        return torch.stack([self._decode_one(z[:, place], survey) for place, survey in enumerate(ordinals)], dim=1)

    def _decode_one(self, z: Tensor, survey: int) -> Tensor:
        rows, side = z.shape[1], self.sides[survey]
        images = z.transpose(0, 1).reshape(rows, -1, 1, 1)
        images = self.decoder[0](images, survey).view(rows, -1, 4, 4)
        images = self.decoder_norms[0](images, survey).relu_()
        for step, size in ((1, 4), (2, 8), (3, side // 2)):
            images = functional.interpolate(images, size=size)
            images = self.decoder_norms[step](self.decoder[step](images, survey), survey).relu_()
        images = self.decoder[4](functional.interpolate(images, size=side), survey)
        output = images.view(rows, self.members, -1, side * side).transpose(0, 1)
        # Each parameter (mean, log variance) is padded to the widest survey, as x is.
        return functional.pad(output, (0, max(self.widths) - side * side)).flatten(2)


def _image_side(width: int) -> int:
    side = round(width**0.5)
    if side * side != width or side < 4:
        raise ConfigError(f"{width} features are not the pixels of a square image; use dense networks.")
    return side
