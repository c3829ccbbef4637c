"""The script that runs a folder of examples: what it takes for an example, its scenarios, and how it judges results."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "run_ascendc_examples.py"
README = """# An example

| product | version |
|---|---|
| Atlas A2 training | >= CANN 9.0.0 |

```bash
python3 ../scripts/gen_data.py
python3 ../scripts/verify_result.py $SCENARIO_NUM
```
"""
BUILD = """set(CMAKE_ASC_ARCHITECTURES "dav-2201")
if(NOT SCENARIO_NUM MATCHES "^[1-6]$")
    message(FATAL_ERROR "no such scenario")
endif()
if(SCENARIO_NUM STREQUAL "6")
    set(CMAKE_ASC_ARCHITECTURES "dav-3510" CACHE STRING "chip" FORCE)
endif()
add_executable(demo kernel.asc main.cpp)
target_compile_definitions(demo PRIVATE SCENARIO_NUM=${SCENARIO_NUM})
"""
KERNEL = """#include "kernel_operator.h"

__global__ __vector__ void add(GM_ADDR x, GM_ADDR z)
{
    AscendC::GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float*)x);
    to.SetGlobalBuffer((__gm__ float*)z);
    AscendC::LocalTensor<float> a(AscendC::TPosition::VECCALC, 0, 16);
#if SCENARIO_NUM == 2
    AscendC::DataCopy(a, from[8], 8);
    AscendC::DataCopy(a[8], from, 8);
#else
    AscendC::DataCopy(a, from, 16);
#endif
#if SCENARIO_NUM == 5
    no_such_call();
#endif
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::Adds(a, a, SCENARIO_NUM == 3 ? 1.000001f : SCENARIO_NUM == 4 ? 3.0f : 1.0f, 16);
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::DataCopy(to, a, 16);
}

void launch(uint8_t* x, uint8_t* z) { add<<<1, nullptr, nullptr>>>(x, z); }
"""
MAIN = """#include <cstdio>
#include "acl/acl.h"

extern void launch(uint8_t* x, uint8_t* z);

int main()
{
    float host[16];
    uint8_t *x, *z;
    aclrtMalloc((void**)&x, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&z, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    FILE* file = fopen("input/x.bin", "rb");
    fread(host, 64, 1, file);
    fclose(file);
    aclrtMemcpy(x, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE);
    launch(x, z);
    aclrtMemcpy(host, 64, z, 64, ACL_MEMCPY_DEVICE_TO_HOST);
    file = fopen("output/output.bin", "wb");
    fwrite(host, 64, 1, file);
    fclose(file);
}
"""
DATA = """import numpy as np

x = np.arange(1, 17, dtype=np.float32)
x.tofile("input/x.bin")
(x + 1).tofile("output/golden.bin")
"""
CHECK = """import sys
import numpy as np

golden, output = (np.fromfile(f"output/{name}.bin", np.float32) for name in ("golden", "output"))
if sys.argv[1] == "2":
    output = np.roll(output, 8)
if not np.isclose(output, golden, rtol=1e-5).all():
    sys.exit(1)
print("test pass!")
"""
FILES = {
    "README.md": README,
    "CMakeLists.txt": BUILD,
    "kernel.asc": KERNEL,
    "main.cpp": MAIN,
    "scripts/gen_data.py": DATA,
    "scripts/verify_result.py": CHECK,
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("examples")
    for name, text in FILES.items():
        path = root / "basic" / "add" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    other = root / "basic" / "newer"
    other.mkdir()
    (other / "newer.asc").write_text("")
    (other / "README.md").write_text("| Ascend 950PR | >= CANN 9.1.0 |\ndav-2201\n")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(root), "--jobs", "2"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("scenario", "state", "detail"),
    [
        (1, "equal", "byte for byte"),
        (2, "equal", "byte for byte as its own check takes the result"),
        (3, "close", "of 64 bytes"),
        (4, "differs", "of 64 bytes"),
        (5, "does not compile", "no_such_call"),
    ],
)
def test_each_scenario_is_judged(printed: str, scenario: int, state: str, detail: str) -> None:
    line = next(line for line in printed.splitlines() if f"basic/add {scenario} " in line)
    assert line.startswith(f"{state} ")
    assert detail in line


def test_table_by_folder(printed: str) -> None:
    rows = [re.sub(r"\s+", " ", line) for line in printed.splitlines() if line.startswith("|")]
    assert rows[0].startswith(
        "| folder | examples | all equal | some equal | scenarios | equal | checked | close | differs "
    )
    assert rows[1] == "| basic | 1 | 0 | 1 | 5 | 2 | 0 | 1 | 1 | 0 | 0 | 1 | 0 |"
    assert rows[2].startswith("| together | 1 | 0 | 1 | 5 |")


def test_examples_and_scenarios_for_newer_chips_are_left_out(printed: str) -> None:
    assert "newer" not in printed
    assert "basic/add 6" not in printed
