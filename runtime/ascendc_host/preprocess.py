"""What a host compiler cannot read in AscendC: launches `kernel<<<blocks, l2, stream>>>(...)`, and which cores a kernel
runs on. Lines stay where they are, so that everything reported names the kernel's own text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KINDS = {
    "KERNEL_TYPE_AIV_ONLY": "VECTOR",
    "KERNEL_TYPE_AIC_ONLY": "CUBE",
    "KERNEL_TYPE_MIX_AIV_1_0": "VECTOR_MIX",
    "KERNEL_TYPE_MIX_AIC_1_0": "CUBE_MIX",
    "KERNEL_TYPE_MIX_AIC_1_1": "MIX_1_1",
    "KERNEL_TYPE_MIX_AIC_1_2": "MIX_1_2",
}
"""By the name in KERNEL_TASK_TYPE_DEFAULT: the kind of a launch."""

MIXES = {(1, 0): "CUBE_MIX", (0, 1): "VECTOR_MIX", (1, 1): "MIX_1_1", (1, 2): "MIX_1_2"}

_WORD = r'(?:extern\s*"C"|__global__|__vector__|__cube__|__aicore__|__mix__\s*\([^)]*\)|inline|static)'
_KERNEL = re.compile(
    rf"(?P<words>(?:\b{_WORD}\s*)+)void\s+(?P<name>\w+)\s*\(|(?P<other>\bextern\s*\"C\"\s+void\s+(?P<launcher>\w+)\s*\()"
)
_TASK = re.compile(r"KERNEL_TASK_TYPE_DEFAULT\s*\(\s*(\w+)\s*\)")
_CUBE_CALLS = re.compile(r"\b(?:Mmad|LoadData|Fixpipe|REGIST_MATMUL_OBJ)\b")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel: its C++ type, name, and whether it is an address in global memory."""

    type: str
    name: str

    @property
    def is_pointer(self) -> bool:
        return self.type.endswith("*") or self.type.endswith("GM_ADDR")


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel as it stands in the text. `kind` is empty for a function of the host that launches kernels."""

    name: str
    kind: str
    parameters: tuple[Parameter, ...]
    line: int
    template: bool = False


def find_kernels(text: str) -> tuple[KernelText, ...]:
    """Return the kernels defined or declared in `text`, and the host functions with C linkage that launch them."""
    plain = without_comments(text)
    found = []
    for match in _KERNEL.finditer(plain):
        words, name = match["words"] or match["other"], match["name"] or match["launcher"]
        closing = _closing(plain, match.end() - 1)
        if "__global__" in words:
            kind = _kind(words, plain, closing)
        elif re.match(r"\s*void\s*\*\s*stream", plain[match.end() : closing]):
            kind = ""
        else:
            continue
        line = plain.count("\n", 0, match.start("name") if match["name"] else match.start("launcher")) + 1
        parameters = _parameters(plain[match.end() : closing])
        found.append(KernelText(name, kind, parameters, line, _is_template(plain, match.start())))
    return tuple(found)


def _is_template(text: str, start: int) -> bool:
    return text[:start].rstrip().endswith(">")


def _kind(words: str, text: str, closing: int) -> str:
    mix = re.search(r"__mix__\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)", words)
    if mix is not None:
        return MIXES.get((int(mix[1]), int(mix[2])), "MIX_1_2")
    if "__cube__" in words:
        return "CUBE"
    if "__vector__" in words:
        return "VECTOR"
    following = text.find("__global__", closing)
    body = text[closing : following if following >= 0 else len(text)]
    task = _TASK.search(body)
    if task is not None:
        return KINDS.get(task[1], "VECTOR")
    return "MIX_1_2" if _CUBE_CALLS.search(text) else "VECTOR"


def _parameters(text: str) -> tuple[Parameter, ...]:
    parts = [" ".join(part.split()) for part in _split(text)]
    return tuple(_parameter(part) for part in parts if part and part != "void")


def _parameter(text: str) -> Parameter:
    match = re.match(r"(?P<type>.*?[\s*&])(?P<name>\w+)$", text)
    if match is None:
        return Parameter(text, "")
    type_ = re.sub(r"\b(?:__gm__|__restrict__|const)\b", "", match["type"]).replace("&", "")
    return Parameter(" ".join(type_.split()).replace(" *", "*"), match["name"])


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def without_comments(text: str, strings: bool = True) -> str:
    """Return `text` with comments, and unless `strings` also what stands in quotes, blanked out in place."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if strings and found[0] in "\"'" else re.sub(r"[^\n]", " ", found)

    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    return re.sub(pattern, blank, text, flags=re.DOTALL)


def _closing(text: str, opening: int) -> int:
    """Return where the bracket at `opening` ends; the end of the text if it does not."""
    pairs = {"(": ")", "<": ">", "{": "}"}
    left, right = text[opening], pairs[text[opening]]
    depth = 0
    for position in range(opening, len(text)):
        depth += (text[position] == left) - (text[position] == right)
        if depth == 0:
            return position
    return len(text)


def _called(text: str, end: int) -> int:
    """Return where the name, with its template arguments, begins that ends before `end`."""
    position = end
    while text[position - 1].isspace():
        position -= 1
    if text[position - 1] == ">":
        depth = 0
        while True:
            position -= 1
            depth += (text[position] == ">") - (text[position] == "<")
            if depth == 0:
                break
    while position > 0 and (text[position - 1].isalnum() or text[position - 1] in "_:"):
        position -= 1
    return position


def rewrite_launches(text: str, others: str = "") -> str:
    """Replace each launch by a call of the model. `others` is text that may define kernels launched here."""
    kinds = {kernel.name: kernel.kind for kernel in (*find_kernels(others), *find_kernels(text)) if kernel.kind}
    plain = without_comments(text)
    out, done = [], 0
    for match in re.finditer(r"<<<", without_comments(text, strings=False)):
        if match.start() < done:
            continue
        start = _called(plain, match.start())
        closing = plain.find(">>>", match.end())
        opening = plain.find("(", closing)
        end = _closing(plain, opening) + 1
        out.append(text[done:start])
        out.append(_launch(text, plain, start, match.start(), closing, opening, end, kinds))
        done = end
    return "".join([*out, text[done:]])


def _launch(
    text: str, plain: str, start: int, chevron: int, closing: int, opening: int, end: int, kinds: dict[str, str]
) -> str:
    callee = plain[start:chevron].strip()
    name = re.split(r"[<\s]", callee)[0].split("::")[-1]
    settings = [part.strip() for part in _split(plain[chevron + 3 : closing])]
    blocks, stream = settings[0], settings[2] if len(settings) > 2 else "nullptr"
    kind = kinds.get(name, "VECTOR")
    call = (
        f"::ascendc_host::host_launch(::ascendc_host::KernelKind::{kind}, static_cast<uint64_t>({blocks}), "
        f"(const void*)({stream}), [&] {{ {callee}({plain[opening + 1 : end]}; }})"
    )
    return call.replace("\n", " ") + "\n" * text.count("\n", start, end)
