"""Dense encoder and decoder networks for all members and surveys at once.

A network works on tensors (members, surveys, rows, features). Surveys with fewer features than the
widest are padded with zeros, and the padding is masked in the likelihood. The first axes let a shared
layer see all rows as one batch, and a survey's own layer see its own rows, without copying anything.
"""

from torch import Tensor, nn

from lcdvt.dvt.config import ModelConfig
from lcdvt.dvt.layers import MemberLinear, Scope


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
