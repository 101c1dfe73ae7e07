// Macros that compile a function for an instruction set, and the headers of its intrinsics.
#pragma once
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define X86 1
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma")))
#endif
#if defined(__aarch64__)
#include <arm_neon.h>
#endif
#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif
