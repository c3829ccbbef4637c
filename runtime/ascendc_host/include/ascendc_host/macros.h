// Keywords of the device compiler that mean nothing, or something smaller, to a host compiler.
#pragma once

#include <cstdint>

#define __aicore__
#define __global__
#define __vector__
#define __cube__
#define __mix__(cube, vector)
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __biasbuf__
#define __ssbuf__
#define __sync_noalias__
#define __sync_alias__
#define __check_sync_alias__
#define __host_aicore__
#define __no_simd_vf_fusion__
#define __simd_callee__
#define __NPU_ARCH__ 2201
#define ASCENDC_HOST_MODEL 1

#define GM_ADDR uint8_t*

#define ASCEND_IS_AIC (::ascendc_host::on_cube_core())
#define ASCEND_IS_AIV (::ascendc_host::on_vector_core())
#define ASCEND_IS_NOT_AIC (!::ascendc_host::on_cube_core())
#define ASCEND_IS_NOT_AIV (!::ascendc_host::on_vector_core())

// Read by the preprocessor, which tells the launch what cores the kernel runs on.
#define KERNEL_TASK_TYPE_DEFAULT(type)
#define KERNEL_TASK_TYPE(key, type)
#define REGISTER_TILING_DEFAULT(type) using AscendcHostTiling = type
#define REGISTER_TILING_FOR_TILINGKEY(expression, type)


// The older way to pass a struct: by its address in global memory.
#define GET_TILING_DATA_WITH_STRUCT(type, name, address) \
    type name;                                           \
    std::memcpy(static_cast<void*>(&name), address, sizeof(name))
#define GET_TILING_DATA(name, address) GET_TILING_DATA_WITH_STRUCT(AscendcHostTiling, name, address)
