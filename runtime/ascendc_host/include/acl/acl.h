// The part of the host runtime that examples use: device memory is host memory that the model knows.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ascendc_host/launch.h"
#include "ascendc_host/types.h"

using aclError = int;
using aclrtStream = void*;
using aclrtContext = void*;
using aclrtEvent = void*;
using aclFloat16 = uint16_t;
constexpr aclError ACL_SUCCESS = 0;
constexpr aclError ACL_ERROR_NONE = 0;
constexpr aclError ACL_RT_SUCCESS = 0;
enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY };
enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEFAULT,
};
#define INFO_LOG(text, ...) std::fprintf(stdout, "[INFO]  " text "\n", ##__VA_ARGS__)

inline aclError aclInit(const char*) { return ACL_SUCCESS; }
inline aclError aclFinalize() { return ACL_SUCCESS; }
inline aclError aclrtSetDevice(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtResetDevice(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtResetDeviceForce(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtCreateContext(aclrtContext* context, int32_t) { *context = nullptr; return ACL_SUCCESS; }
inline aclError aclrtDestroyContext(aclrtContext) { return ACL_SUCCESS; }
inline aclError aclrtCreateStream(aclrtStream* stream) { *stream = nullptr; return ACL_SUCCESS; }
inline aclError aclrtDestroyStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t) { return ACL_SUCCESS; }
inline aclError aclrtCreateEvent(aclrtEvent* event) { *event = nullptr; return ACL_SUCCESS; }
inline aclError aclrtDestroyEvent(aclrtEvent) { return ACL_SUCCESS; }
inline aclError aclrtRecordEvent(aclrtEvent, aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeEvent(aclrtEvent) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeDevice() { return ACL_SUCCESS; }
inline aclError aclrtGetDeviceCount(uint32_t* count) { *count = 1; return ACL_SUCCESS; }
enum aclrtLastErrLevel { ACL_RT_THREAD_LEVEL };
inline aclError aclrtGetLastError(aclrtLastErrLevel) { return ACL_SUCCESS; }
inline aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return ACL_SUCCESS; }
inline const char* aclGetRecentErrMsg() { return ""; }
inline const char* aclrtGetSocName() { return "Ascend910B1"; }
inline float aclFloat16ToFloat(aclFloat16 value) { return ascendc_host::half_to_float(value); }
inline aclFloat16 aclFloatToFloat16(float value) { return ascendc_host::float_to_half(value); }

inline aclError aclrtMalloc(void** pointer, size_t bytes, aclrtMemMallocPolicy)
{
    // Some room after each buffer keeps neighbours apart.
    ascendc_host::open_session();
    static int number = 0;
    const size_t room = (bytes + 511) / 512 * 512 + 512;
    *pointer = std::aligned_alloc(512, room);
    std::memset(*pointer, ascendc_host::fill_byte(), room);
    ascendc_host::global_memory().add(*pointer, bytes, ascendc_host::format("device buffer %d", ++number), false);
    return ACL_SUCCESS;
}
inline aclError aclrtFree(void* pointer)
{
    ascendc_host::global_memory().remove(pointer);
    std::free(pointer);
    return ACL_SUCCESS;
}
inline aclError aclrtMallocHost(void** pointer, size_t bytes)
{
    *pointer = std::calloc(bytes + 64, 1);
    return ACL_SUCCESS;
}
inline aclError aclrtFreeHost(void* pointer) { std::free(pointer); return ACL_SUCCESS; }
inline aclError aclrtMemcpy(void* target, size_t, const void* source, size_t bytes, aclrtMemcpyKind)
{
    std::memcpy(target, source, bytes);
    ascendc_host::global_memory().initialise(target, bytes);
    return ACL_SUCCESS;
}
inline aclError aclrtMemcpyAsync(void* target, size_t room, const void* source, size_t bytes, aclrtMemcpyKind kind, aclrtStream)
{
    return aclrtMemcpy(target, room, source, bytes, kind);
}
inline aclError aclrtMemset(void* target, size_t, int32_t value, size_t bytes)
{
    std::memset(target, value, bytes);
    ascendc_host::global_memory().initialise(target, bytes);
    return ACL_SUCCESS;
}
