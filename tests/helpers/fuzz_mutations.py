"""Ways to spoil a file: the same for hypothesis in the tests and for the long run in benchmarks/fuzz.py."""

import random
from dataclasses import dataclass
from typing import Final

KINDS: Final = ("overwrite", "insert", "delete", "repeat", "cut", "flip", "swap", "flood")
# What breaks parsers: limits of numbers, separators, quotes, nesting, control bytes, markup, bytes that are no text.
TOKENS: Final = (
    b"nan", b"inf", b"-1", b"0", b"1e309", b"-1e-400", b"99999999999999999999", b"2147483648", b"0x1p3", b"1_000",
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n", b"\r\n", b"\t", b" ", b",", b";", b"|", b"#",
    b'"', b"'", b"'''", b"{", b"}", b"[", b"]]", b"[[", b"=", b".", b"..", b"../", b"/etc/passwd", b"\\", b"%s%n",
    b"<script>", b"<!--", b"&a;", b"PAR1", b"SIMPLE  =", b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"(?P<id>.*)", b"(a+)+$",
    b"true", b"null", b"NaN", b"\x80" * 8, b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff",
)  # fmt: skip
LONGEST_FLOOD: Final = 20_000


@dataclass(frozen=True)
class Mutation:
    """One change: what, where (0 to 1 of the file), how much of it, and with which bytes."""

    kind: str
    place: float
    extent: float
    token: bytes

    def apply(self, content: bytes) -> bytes:
        """Return the spoilt content."""
        start = int(self.place * len(content))
        stop = min(len(content), start + max(1, int(self.extent * 64)))
        match self.kind:
            case "overwrite":
                return content[:start] + self.token + content[start + len(self.token) :]
            case "insert":
                return content[:start] + self.token + content[start:]
            case "delete":
                return content[:start] + content[stop:]
            case "repeat":
                return content[:stop] + content[start:stop] * 20 + content[stop:]
            case "cut":
                return content[:start]
            case "flip":
                return (
                    content[:start]
                    + bytes(byte ^ (1 << int(self.extent * 7)) for byte in content[start:stop])
                    + content[stop:]
                )
            case "swap":
                middle = (start + stop) // 2
                return content[:start] + content[middle:stop] + content[start:middle] + content[stop:]
            case _:
                return (
                    content[:start]
                    + self.token * (int(self.extent * LONGEST_FLOOD) // len(self.token))
                    + content[start:]
                )


def spoil(content: bytes, mutations: list[Mutation]) -> bytes:
    """Apply the mutations one after the other."""
    for mutation in mutations:
        content = mutation.apply(content)
    return content


def random_mutations(draw: random.Random) -> list[Mutation]:
    """Draw a few mutations, mostly small ones."""
    return [
        Mutation(draw.choice(KINDS), draw.random(), draw.random() ** 2, draw.choice(TOKENS))
        for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 5, 8)))
    ]
