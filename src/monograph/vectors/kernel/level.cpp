// Inner products and checksums for each instruction set, and the choice of an instruction set.
#include "level.hpp"

#include <cstring>
#include <stdexcept>

#include "codes.hpp"
#include "simd.hpp"

namespace monograph {

namespace {

// Partial sums let the compiler use wide registers; it may not reorder one long sum.
template <std::size_t lanes>
ALWAYS_INLINE void float_products(const float *rows, const float *query, std::size_t n, std::size_t d, float *out) {
    for (std::size_t row = 0; row < n; ++row) {
        const float *vector = rows + row * d;
        float sums[lanes] = {};
        std::size_t at = 0;
        for (; at + lanes <= d; at += lanes)
            for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += vector[at + lane] * query[at + lane];
        float total = 0;
        for (; at < d; ++at) total += vector[at] * query[at];
        for (float sum : sums) total += sum;
        out[row] = total;
    }
}

// Codes are unsigned, and 128 means 0, to suit the instruction that multiplies unsigned by signed bytes. Callers
// subtract 128 * sum of the query (Query::offset).
void bytes_portable(const std::uint8_t *rows, const std::int8_t *query, std::size_t n, std::size_t d, std::int32_t *out) {
    for (std::size_t row = 0; row < n; ++row) {
        const std::uint8_t *codes = rows + row * d;
        std::int32_t total = 0;
        for (std::size_t at = 0; at < d; ++at) total += static_cast<std::int32_t>(codes[at]) * query[at];
        out[row] = total;
    }
}

// A polynomial modulo 2^32 over the words in each of 64 lanes, at memory speed. Any change of one word changes it.
ALWAYS_INLINE std::uint32_t checksum_body(const std::uint8_t *data, std::size_t size) {
    constexpr std::size_t lanes = 64;
    constexpr std::uint32_t prime = 0x9E3779B1u;
    std::uint32_t sums[lanes] = {}, words[lanes];
    std::size_t at = 0;
    for (; at + sizeof words <= size; at += sizeof words) {
        std::memcpy(words, data + at, sizeof words);
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] = sums[lane] * prime + words[lane];
    }
    std::memset(words, 0, sizeof words);
    if (size > at) std::memcpy(words, data + at, size - at);
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] = sums[lane] * prime + words[lane];
    std::uint32_t total = static_cast<std::uint32_t>(size);
    for (std::uint32_t sum : sums) total = total * 0x85EBCA77u + sum;
    return total;
}

void floats_portable(const float *r, const float *q, std::size_t n, std::size_t d, float *o) { float_products<16>(r, q, n, d, o); }
std::uint32_t checksum_portable(const std::uint8_t *data, std::size_t size) { return checksum_body(data, size); }

#ifdef X86
AVX2 void floats_avx2(const float *r, const float *q, std::size_t n, std::size_t d, float *o) { float_products<32>(r, q, n, d, o); }
AVX2 std::uint32_t checksum_avx2(const std::uint8_t *data, std::size_t size) { return checksum_body(data, size); }
AVX2 void bytes_avx2(const std::uint8_t *rows, const std::int8_t *query, std::size_t n, std::size_t d, std::int32_t *out) {
    for (std::size_t row = 0; row < n; ++row) {
        const std::uint8_t *codes = rows + row * d;
        __m256i sums = _mm256_setzero_si256();
        std::size_t at = 0;
        for (; at + 16 <= d; at += 16) {
            const __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(codes + at)));
            const __m256i asked = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(query + at)));
            sums = _mm256_add_epi32(sums, _mm256_madd_epi16(wide, asked));
        }
        std::int32_t parts[8], total = 0;
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(parts), sums);
        for (; at < d; ++at) total += static_cast<std::int32_t>(codes[at]) * query[at];
        for (std::int32_t part : parts) total += part;
        out[row] = total;
    }
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

AVX512 void floats_avx512(const float *rows, const float *query, std::size_t n, std::size_t d, float *out) {
    for (std::size_t row = 0; row < n; ++row) {
        const float *vector = rows + row * d;
        __m512 one = _mm512_setzero_ps(), two = one;
        std::size_t at = 0;
        for (; at + 32 <= d; at += 32) {
            one = _mm512_fmadd_ps(_mm512_loadu_ps(vector + at), _mm512_loadu_ps(query + at), one);
            two = _mm512_fmadd_ps(_mm512_loadu_ps(vector + at + 16), _mm512_loadu_ps(query + at + 16), two);
        }
        for (; at < d; at += 16) {
            const __mmask16 mask = d - at >= 16 ? 0xFFFF : static_cast<__mmask16>((1u << (d - at)) - 1);
            one = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, vector + at), _mm512_maskz_loadu_ps(mask, query + at), one);
        }
        out[row] = _mm512_reduce_add_ps(_mm512_add_ps(one, two));
    }
}
AVX512 void bytes_avx512(const std::uint8_t *rows, const std::int8_t *query, std::size_t n, std::size_t d, std::int32_t *out) {
    for (std::size_t row = 0; row < n; ++row) {
        const std::uint8_t *codes = rows + row * d;
        __m512i one = _mm512_setzero_si512(), two = one;
        std::size_t at = 0;
        for (; at + 128 <= d; at += 128) {
            one = _mm512_dpbusd_epi32(one, _mm512_loadu_si512(codes + at), _mm512_loadu_si512(query + at));
            two = _mm512_dpbusd_epi32(two, _mm512_loadu_si512(codes + at + 64), _mm512_loadu_si512(query + at + 64));
        }
        for (; at < d; at += 64) {
            const __mmask64 mask = d - at >= 64 ? ~0ull : (1ull << (d - at)) - 1;
            one = _mm512_dpbusd_epi32(one, _mm512_maskz_loadu_epi8(mask, codes + at), _mm512_maskz_loadu_epi8(mask, query + at));
        }
        out[row] = _mm512_reduce_add_epi32(_mm512_add_epi32(one, two));
    }
}
AVX512 std::uint32_t checksum_avx512(const std::uint8_t *data, std::size_t size) { return checksum_body(data, size); }
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
}
#endif

#if defined(__aarch64__)
void bytes_neon(const std::uint8_t *rows, const std::int8_t *query, std::size_t n, std::size_t d, std::int32_t *out) {
    for (std::size_t row = 0; row < n; ++row) {
        const std::uint8_t *codes = rows + row * d;
        int32x4_t sums = vdupq_n_s32(0);
        std::size_t at = 0;
        for (; at + 8 <= d; at += 8) {
            const int16x8_t wide = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(codes + at))), asked = vmovl_s8(vld1_s8(query + at));
            sums = vmlal_s16(sums, vget_low_s16(wide), vget_low_s16(asked));
            sums = vmlal_s16(sums, vget_high_s16(wide), vget_high_s16(asked));
        }
        std::int32_t total = vaddvq_s32(sums);
        for (; at < d; ++at) total += static_cast<std::int32_t>(codes[at]) * query[at];
        out[row] = total;
    }
}
#endif

bool always() { return true; }

// Best first. The last one runs on every processor.
const Level LEVELS[] = {
#ifdef X86
    {"avx512", has_avx512, floats_avx512, bytes_avx512, checksum_avx512, estimate_avx512},
    {"avx2", has_avx2, floats_avx2, bytes_avx2, checksum_avx2, estimate_avx2},
#endif
#if defined(__aarch64__)
    {"neon", always, floats_portable, bytes_neon, checksum_portable, estimate_neon},
#endif
    {"portable", always, floats_portable, bytes_portable, checksum_portable, estimate_portable},
};

const Level *best_level() {
    for (const Level &level : LEVELS)
        if (level.here()) return &level;
    return nullptr; // Not reached: the last one is always supported.
}

} // namespace

const Level *level = best_level();

std::vector<std::string> levels() {
    std::vector<std::string> names;
    for (const Level &one : LEVELS)
        if (one.here()) names.emplace_back(one.name);
    return names;
}

void use_level(const std::string &name) {
    for (const Level &one : LEVELS)
        if (name == one.name && one.here()) {
            level = &one;
            return;
        }
    throw std::invalid_argument("this processor has no " + name);
}

} // namespace monograph
