"""Commands that take one object built from several options, so that each option is written once."""

import inspect
from collections.abc import Callable
from typing import Any


def takes(**builders: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command's parameter stand for the options of the function that builds it.

    Parameters
    ----------
    builders
        By the name of the command's parameter: a function whose own parameters become options of the command, in that
        place. What it returns is handed to the command.

    Examples
    --------
    >>> def point(x: int = 1, y: int = 2) -> tuple[int, int]:
    ...     return x, y
    >>> @takes(where=point)
    ... def show(name: str, where: tuple[int, int]) -> None:
    ...     print(name, where)
    >>> str(inspect.signature(show))
    '(*, name: str, x: int = 1, y: int = 2) -> None'
    >>> show(name="A", x=5, y=6)
    A (5, 6)
    """
    options = {name: list(inspect.signature(builder).parameters.values()) for name, builder in builders.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            parameters += options.get(parameter.name, [parameter])

        def call(**given: Any) -> None:
            for name, builder in builders.items():
                given[name] = builder(**{option.name: given.pop(option.name) for option in options[name]})
            command(**given)

        call.__name__, call.__doc__, call.__module__ = command.__name__, command.__doc__, command.__module__
        keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        call.__signature__ = inspect.Signature(keywords, return_annotation=None)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
        return call

    return decorate
