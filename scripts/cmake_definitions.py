"""The macros that a small CMakeLists.txt defines for given variables: enough of the language for examples."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_COMMAND = re.compile(r"(\w+)\s*\(((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*)\)")
_WORD = re.compile(r"\"([^\"]*)\"|([^\s\"]+)")


class Refused(Exception):
    """The file refuses the variables: message(FATAL_ERROR ...), or it forces another value on one."""


def definitions(text: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the macros that `text` defines; raises Refused when it does not accept the variables."""
    known = dict(variables)
    found: dict[str, str] = {}
    taken: list[tuple[bool, bool]] = []  # by open `if`: whether its branch runs, and whether one ran before
    for name, words in _commands(text):
        if name in ("if", "elseif", "else", "endif"):
            _branch(name, words, known, taken)
        elif all(runs for runs, _ in taken):
            _run(name, [_expand(word, known) for word in words], known, variables, found)
    return found


def _commands(text: str) -> Iterator[tuple[str, list[str]]]:
    plain = re.sub(r"#[^\n]*", "", text)
    for match in _COMMAND.finditer(plain):
        yield match[1].lower(), [found[1] or found[2] or "" for found in _WORD.finditer(match[2])]


def _expand(word: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda match: known.get(match[1], ""), word)


def _branch(name: str, words: list[str], known: Mapping[str, str], taken: list[tuple[bool, bool]]) -> None:
    if name == "if":
        holds = _holds(words, known)
        taken.append((holds, holds))
        return
    _, before = taken.pop()
    if name != "endif":
        holds = not before and (name == "else" or _holds(words, known))
        taken.append((holds, before or holds))


def _run(name: str, words: list[str], known: dict[str, str], given: Mapping[str, str], found: dict[str, str]) -> None:
    if name == "message" and words[:1] == ["FATAL_ERROR"]:
        raise Refused(" ".join(words[1:]))
    if name == "set" and words and words[0] in given and "FORCE" in words and words[1] != given[words[0]]:
        raise Refused(f"{words[0]} has to be {words[1]}")
    if name == "set" and words and words[0] not in given:
        values = words[1 : words.index("CACHE")] if "CACHE" in words else words[1:]
        known[words[0]] = ";".join(values)
    if name == "string" and words[:2] == ["REGEX", "MATCH"]:
        match = re.search(words[2], " ".join(words[4:]))
        known[words[3]] = match[0] if match is not None else ""
    if name in ("target_compile_definitions", "add_definitions", "add_compile_definitions"):
        for word in words:
            macro, equals, value = word.removeprefix("-D").partition("=")
            if equals:
                found[macro] = value


def _holds(words: list[str], known: Mapping[str, str]) -> bool:
    alternatives = _split(words, "OR")
    return any(all(_term(term, known) for term in _split(part, "AND")) for part in alternatives)


def _split(words: list[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == at:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _term(words: list[str], known: Mapping[str, str]) -> bool:
    if words[:1] == ["NOT"]:
        return not _term(words[1:], known)
    if words[:1] == ["DEFINED"]:
        return words[1] in known
    if len(words) == 3:
        left, right = known.get(words[0], _expand(words[0], known)), _expand(words[2], known)
        if words[1] in ("STREQUAL", "EQUAL"):
            return left == known.get(right, right)
        if words[1] == "MATCHES":
            return re.search(right, left) is not None
        if words[1] == "IN_LIST":
            return left in known.get(right, "").split(";")
    return bool(words) and known.get(words[0], "") not in ("", "0", "OFF", "FALSE")
