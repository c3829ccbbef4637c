// The interface of AscendC for Atlas A2/A3 (dav-2201), to be compiled for and run on this machine.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ascendc_host/macros.h"
#include "ascendc_host/framework.h"
#include "ascendc_host/copy.h"
#include "ascendc_host/copy_slice.h"
#include "ascendc_host/cross_core.h"
#include "ascendc_host/cube.h"
#include "ascendc_host/vector_unary.h"
#include "ascendc_host/vector_move.h"
#include "ascendc_host/vector_dequant.h"
#include "ascendc_host/vector_compound.h"
#include "ascendc_host/vector_compare.h"
#include "ascendc_host/utilities.h"
#include "ascendc_host/scalar_compute.h"
#include "ascendc_host/workspace.h"
#include "ascendc_host/vector_reduce.h"
#include "ascendc_host/vector_arrange.h"
#include "ascendc_host/vector_interpolate.h"
#include "ascendc_host/vector_transpose.h"
#include "ascendc_host/advanced_math.h"
#include "ascendc_host/advanced_rows.h"
#include "ascendc_host/list_tensor.h"
#include "ascendc_host/dump.h"
#include "ascendc_host/launch.h"
