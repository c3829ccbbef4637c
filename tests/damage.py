"""Damaging texts: cut, with bytes or tokens changed, moved, doubled or lost."""

from __future__ import annotations

import random
import re

TOKENS = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@]?\w+|\s+|.', re.DOTALL)


def damage(text: str, source: random.Random) -> str:
    kind = source.randrange(8)
    if kind == 0:
        return text[: source.randrange(len(text))]
    if kind == 1:
        data = bytearray(text.encode("utf-8"))
        for _ in range(source.randint(1, 4)):
            data[source.randrange(len(data))] = source.randrange(256)
        return data.decode("utf-8", "replace")
    tokens = TOKENS.findall(text)
    first, second = source.randrange(len(tokens)), source.randrange(len(tokens))
    if kind == 2:
        del tokens[first]
    elif kind == 3:
        tokens.insert(first, tokens[first])
    elif kind == 4:
        tokens[first], tokens[second] = tokens[second], tokens[first]
    elif kind == 5:
        tokens[first] = tokens[second]
    elif kind == 6:
        numbers = [n for n, token in enumerate(tokens) if token.isdigit()]
        tokens[source.choice(numbers)] = source.choice(("0", "1", "-1", "7", "4096", "9223372036854775808"))
    else:
        lines = text.split("\n")
        lines.insert(source.randrange(len(lines)), source.choice(lines))
        return "\n".join(lines)
    return "".join(tokens)
