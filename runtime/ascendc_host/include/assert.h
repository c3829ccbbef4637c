// The C header defines `assert` each time that it is included: kernels keep the one that reports.
#include_next <assert.h>

#ifdef ASCENDC_HOST_ASSERT
#undef assert
#define assert(...) ASCENDC_HOST_ASSERT((__VA_ARGS__), #__VA_ARGS__)
#endif
