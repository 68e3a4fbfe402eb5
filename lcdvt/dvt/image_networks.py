"""Convolutional encoder and decoder for square images, for all members and surveys.

A convolution of one member is large enough to fill a processor core, so that there is nothing to win from
joining members: as one grouped convolution they are several times slower. The members are therefore
visited one after the other, each with the fastest form there is: channels last in memory, pixels packed
into channels instead of enlarged images.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from lcdvt.dvt.config import ModelConfig
from lcdvt.dvt.networks import MemberLayer, MemberLinear, Scope
from lcdvt.errors import SettingsError

# The decoder's shared layers work on images of this size, whatever the surveys' sizes are.
SHARED_SIDE = 4
# The encoder halves an image twice, and the decoder doubles it twice.
REDUCTION = 4


class MemberConvolution(MemberLayer):
    """A convolution with weights of each member; images are (rows, channels, h, w), channels last in memory."""

    def __init__(
        self, members: int, surveys: int, inputs: int, outputs: int, kernel: int, scope: Scope, *, stride: int = 1
    ) -> None:
        # channels last also in the weights, which else would be copied in each step
        super().__init__(members, surveys, (outputs, kernel, kernel, inputs), (outputs,), inputs * kernel**2, scope)
        self.stride = stride
        self.padding = kernel // 2

    def forward(self, images: Tensor, member: int, survey: int) -> Tensor:
        """Apply one member's layer to images of one survey."""
        weight, bias = self.used_by(slice(survey, survey + 1))
        return functional.conv2d(
            images, weight[member, 0].permute(0, 3, 1, 2), bias[member, 0], stride=self.stride, padding=self.padding
        )


class MemberBatchNorm(nn.Module):
    """Batch normalisation with statistics, scale and shift of each member and each survey."""

    MOMENTUM = 0.1

    def __init__(self, members: int, surveys: int, channels: int) -> None:
        super().__init__()
        shape = (members, surveys, channels)
        self.scale = nn.Parameter(torch.ones(shape))
        self.shift = nn.Parameter(torch.zeros(shape))
        self.running_mean: Tensor
        self.running_variance: Tensor
        self.register_buffer("running_mean", torch.zeros(shape))
        self.register_buffer("running_variance", torch.ones(shape))

    def forward(self, images: Tensor, member: int, survey: int) -> Tensor:
        """Normalise one member's channels over rows and pixels."""
        return functional.batch_norm(
            images,
            self.running_mean[member, survey],
            self.running_variance[member, survey],
            self.scale[member, survey],
            self.shift[member, survey],
            training=self.training,
            momentum=self.MOMENTUM,
        )

    def copy_survey(self, start: int, end: int) -> None:
        """Give survey `end` the numbers of survey `start`."""
        with torch.no_grad():
            for values in (self.scale, self.shift, self.running_mean, self.running_variance):
                values[:, end] = values[:, start]


class ConvolutionalNetworks(nn.Module):
    """Three shared convolutions, then two layers of each survey's own, for square images; the decoder mirrors it.

    Convolutions do not know sizes, so that images of different sizes share them. The encoder's last layer
    covers what is left of the image and has the survey's size. The decoder's shared layers make 4×4 pixels,
    which are brought to a quarter of the survey's side; each of its own two layers doubles that.
    """

    def __init__(self, config: ModelConfig, members: int, widths: tuple[int, ...], parameters_per_feature: int) -> None:
        super().__init__()
        convolution = config.convolution
        if convolution is None:
            raise SettingsError("model.convolution is missing: convolutional networks need their channels.")
        surveys, self.members, self.widths = len(widths), members, widths
        self.sides = tuple(_image_side(width) for width in widths)
        own: Scope = "tied" if config.heads == "tied" else "survey"
        first, second, third = convolution.channels
        last = convolution.specific_channels

        def layer(inputs: int, outputs: int, kernel: int, scope: Scope, *, stride: int = 1) -> MemberConvolution:
            return MemberConvolution(members, surveys, inputs, outputs, kernel, scope, stride=stride)

        self.encoder = nn.ModuleList(
            [
                layer(1, first, 5, "shared", stride=2),
                layer(first, second, 3, "shared", stride=2),
                layer(second, third, 3, "shared"),
                layer(third, last, 3, own),
            ]
        )
        self.encoder_norms = _norms(members, surveys, (first, second, third, last))
        # The last layer covers what is left of the image, whose size is the survey's: no common shape.
        self.encoder_ends = nn.ModuleList(
            MemberLinear(members, 1, last * (side // REDUCTION) ** 2, 2 * config.latent, "survey")
            for side in self.sides
        )
        self.decoder_start = MemberLinear(members, surveys, config.latent, third * SHARED_SIDE**2, "shared")
        self.decoder = nn.ModuleList(
            [
                layer(third, second, 3, "shared"),
                layer(second, second, 3, "shared"),
                # four times the channels, which become an image of twice the side
                layer(second, 4 * first, 3, own),
                layer(first, 4 * parameters_per_feature, 3, own),
            ]
        )
        self.decoder_norms = _norms(members, surveys, (third, second, second, first))

    def encode(self, x: Tensor, surveys: slice, shown: Tensor | None = None) -> Tensor:
        """Return mean and log variance of q(z|x), side by side; pixels where `shown` is 0 are empty."""
        return self._each(x if shown is None else x * shown, surveys, self._encode_survey)

    def decode(self, z: Tensor, surveys: slice) -> Tensor:
        """Return the parameters of p(x|z), side by side."""
        started = self.decoder_start(z, surveys)
        return self._each(started, surveys, self._decode_survey)

    def _each(self, x: Tensor, surveys: slice, work: Callable[[Tensor, int], Tensor]) -> Tensor:
        ordinals = range(len(self.widths))[surveys]
        return torch.stack([work(x[:, place], survey) for place, survey in enumerate(ordinals)], dim=1)

    def _encode_survey(self, x: Tensor, survey: int) -> Tensor:
        features = torch.stack([self._image_features(x[member], member, survey) for member in range(self.members)])
        return self.encoder_ends[survey](features.unsqueeze(1), slice(0, 1))[:, 0]

    def _image_features(self, x: Tensor, member: int, survey: int) -> Tensor:
        side = self.sides[survey]
        images = x[:, : side * side].reshape(-1, 1, side, side).contiguous(memory_format=torch.channels_last)
        for layer, norm in zip(self.encoder, self.encoder_norms, strict=True):
            images = norm(layer(images, member, survey), member, survey).relu_()
        return images.permute(0, 2, 3, 1).flatten(1)

    def _decode_survey(self, started: Tensor, survey: int) -> Tensor:
        return torch.stack([self._image_parameters(started[member], member, survey) for member in range(self.members)])

    def _image_parameters(self, started: Tensor, member: int, survey: int) -> Tensor:
        side = self.sides[survey]
        # channels last: the values of one pixel lie together
        images = started.view(len(started), SHARED_SIDE, SHARED_SIDE, -1).permute(0, 3, 1, 2)
        images = self.decoder_norms[0](images, member, survey).relu_()
        for place in (0, 1):
            images = self.decoder_norms[place + 1](self.decoder[place](images, member, survey), member, survey).relu_()
        images = functional.interpolate(images, size=side // REDUCTION)
        images = _doubled(self.decoder[2](images, member, survey))
        images = self.decoder_norms[3](images, member, survey).relu_()
        parameters = _doubled(self.decoder[3](images, member, survey)).flatten(2)
        # Each parameter (mean, log variance) is padded to the widest survey, as x is.
        return functional.pad(parameters, (0, max(self.widths) - side * side)).flatten(1)


def _norms(members: int, surveys: int, channels: tuple[int, ...]) -> nn.ModuleList:
    return nn.ModuleList(MemberBatchNorm(members, surveys, count) for count in channels)


def _doubled(images: Tensor) -> Tensor:
    """Turn each pixel's channels, four by four, into 2×2 pixels."""
    rows, _, height, width = images.shape
    packed = images.permute(0, 2, 3, 1).reshape(rows, height, width, 2, 2, -1)
    return packed.transpose(2, 3).reshape(rows, 2 * height, 2 * width, -1).permute(0, 3, 1, 2)


def _image_side(width: int) -> int:
    side = round(width**0.5)
    if side * side != width or side % REDUCTION:
        raise SettingsError(
            f"{width} features are not the pixels of a square image with a side that {REDUCTION} divides; "
            "use dense networks, or frame the images."
        )
    return side
