"""Launches are rewritten in place, and kernels are found with what they run on."""

from __future__ import annotations

import pytest

from pypto.runtime.ascendc_host.preprocess import Parameter, find_kernels, rewrite_launches


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("__global__ __vector__ void", "VECTOR"),
        ("__vector__ __global__ void", "VECTOR"),
        ("__global__ __cube__ void", "CUBE"),
        ("__global__ __mix__(1, 2) void", "MIX_1_2"),
        ("__global__ __mix__(1,1) __aicore__ void", "MIX_1_1"),
        ('extern "C" __global__ __aicore__ void', "VECTOR"),
    ],
)
def test_kinds(head: str, kind: str) -> None:
    (kernel,) = find_kernels(f"{head} k(GM_ADDR x, __gm__ float *y, uint32_t n)\n{{\n}}\n")
    assert (kernel.name, kernel.kind, kernel.line) == ("k", kind, 1)
    assert kernel.parameters == (Parameter("GM_ADDR", "x"), Parameter("float*", "y"), Parameter("uint32_t", "n"))
    assert [item.is_pointer for item in kernel.parameters] == [True, True, False]


@pytest.mark.parametrize(
    ("task", "kind"), [("AIC_ONLY", "CUBE"), ("MIX_AIV_1_0", "VECTOR_MIX"), ("MIX_AIC_1_2", "MIX_1_2")]
)
def test_old_form_names_its_kind_in_the_body(task: str, kind: str) -> None:
    text = f'extern "C" __global__ __aicore__ void k(GM_ADDR x)\n{{\n    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_{task});\n}}\n'
    assert find_kernels(text)[0].kind == kind


def test_cube_calls_make_the_old_form_mixed() -> None:
    assert find_kernels("__global__ __aicore__ void k(GM_ADDR x) { Mmad(c, a, b, p); }")[0].kind == "MIX_1_2"


def test_comments_and_strings_are_no_kernels() -> None:
    text = '// __global__ __vector__ void a(GM_ADDR x)\n/* k<<<1, 0, s>>>(x) */ const char* t = "k<<<1>>>(x)";\n'
    assert find_kernels(text) == ()
    assert rewrite_launches(text) == text


def test_templates_are_found_but_not_run_alone() -> None:
    (kernel,) = find_kernels("template <typename T, int n>\n__global__ __vector__ void k(GM_ADDR x) {}\n")
    assert kernel.template


@pytest.mark.parametrize(
    ("launch", "callee", "blocks"),
    [
        ("k<<<8, nullptr, stream>>>(a, b);", "k(a, b)", "8"),
        ("k<float, 16><<<n / 2, 0, stream>>>(a, f(b, c));", "k<float, 16>(a, f(b, c))", "n / 2"),
        ("space::k<A<int>, 3>\n        <<<count(1, 2), 0, stream>>>(\n    a);", "space::k<A<int>, 3>(", "count(1, 2)"),
    ],
)
def test_launch_becomes_a_call(launch: str, callee: str, blocks: str) -> None:
    text = f"void host() {{\n    {launch}\n    done();\n}}\n"
    made = rewrite_launches(text)
    assert "<<<" not in made
    assert callee in made
    assert f"static_cast<uint64_t>({blocks})" in made
    assert made.count("\n") == text.count("\n"), "lines must stay where they are"
    assert made.splitlines()[-2:] == ["    done();", "}"]


def test_launch_knows_kernels_of_other_files() -> None:
    made = rewrite_launches("k<<<1, 0, s>>>(x);", "__global__ __cube__ void k(GM_ADDR x);")
    assert "KernelKind::CUBE" in made
