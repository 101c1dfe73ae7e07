// Comparison of blocks of 2-bit codes with a query, by table look-ups in registers. It adds integers, and uses floats
// only for the last product and sum, so that every instruction set rounds alike.
#include <algorithm>
#include <cstring>

#include "codes.hpp"
#include "simd.hpp"

namespace monograph {

namespace {

// Returns what the OFFSETs in the tables add to each sum: planes count 2 and 1.
std::int32_t added(const Tables &tables) {
    return static_cast<std::int32_t>(tables.groups) * OFFSET * static_cast<std::int32_t>((1u << PLANES) - 1);
}

// Completes estimate_portable() or estimate_neon() from the integer sums.
std::uint32_t finished(const Block &block, const Tables &tables, const std::int32_t *sums, float base, float least, float *out) {
    const std::int32_t offset = added(tables);
    std::uint32_t high = 0;
    for (std::size_t at = 0; at < BLOCK; ++at) {
        const float factor = tables.scale * block.scales[at];
        const float product = static_cast<float>(sums[at] - offset) * factor;
        out[at] = product + base;
        high |= static_cast<std::uint32_t>(out[at] >= least) << at;
    }
    return high;
}

} // namespace

std::uint32_t estimate_portable(const Block &block, const Tables &tables, float base, float least, float *out) {
    std::int32_t sums[BLOCK] = {};
    const std::uint8_t *codes = block.codes;
    for (std::size_t plane = 0; plane < PLANES; ++plane) {
        for (std::int32_t &sum : sums) sum *= 2; // The first plane counts twice.
        const std::uint8_t *table = tables.entries;
        for (std::size_t group = 0; group < tables.groups; ++group, codes += TABLE, table += TABLE)
            for (std::size_t at = 0; at < TABLE; ++at) {
                sums[at] += table[codes[at] & 15];
                sums[at + TABLE] += table[codes[at] >> 4];
            }
    }
    return finished(block, tables, sums, base, least, out);
}

#ifdef X86
namespace {

struct Sums256 {
    __m256i sixteenths[4]; // int32 sums of vectors 0 to 7, 8 to 15, 16 to 23, 24 to 31.
};

// Adds uint16 sums of sixteen vectors, given separately for even and odd vectors, to sixteenths first and first + 1.
AVX2 ALWAYS_INLINE void add(Sums256 &sums, std::size_t first, __m128i even, __m128i odd) {
    sums.sixteenths[first] = _mm256_add_epi32(sums.sixteenths[first], _mm256_cvtepu16_epi32(_mm_unpacklo_epi16(even, odd)));
    sums.sixteenths[first + 1] = _mm256_add_epi32(sums.sixteenths[first + 1], _mm256_cvtepu16_epi32(_mm_unpackhi_epi16(even, odd)));
}

// The 16-bit sums a and c add pairs of neighbouring vectors, as even + 256 * odd. b and d add only the odd ones, and
// are then subtracted.
AVX2 ALWAYS_INLINE Sums256 sums_avx2(const std::uint8_t *codes, const Tables &tables) {
    const __m256i low_half = _mm256_set1_epi8(15);
    Sums256 sums{};
    for (std::size_t plane = 0; plane < PLANES; ++plane) {
        for (__m256i &sum : sums.sixteenths) sum = _mm256_slli_epi32(sum, 1);
        const std::uint8_t *table = tables.entries;
        for (std::size_t first = 0; first < tables.groups; first += GROUPS_AT_ONCE) {
            __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
            const std::size_t end = std::min(tables.groups, first + GROUPS_AT_ONCE);
            for (std::size_t group = first; group < end; group += 2, codes += 32, table += 32) {
                const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(codes));
                const __m256i entries = _mm256_load_si256(reinterpret_cast<const __m256i *>(table));
                const __m256i one = _mm256_shuffle_epi8(entries, _mm256_and_si256(both, low_half));
                const __m256i two = _mm256_shuffle_epi8(entries, _mm256_and_si256(_mm256_srli_epi16(both, 4), low_half));
                a = _mm256_add_epi16(a, one);
                b = _mm256_add_epi16(b, _mm256_srli_epi16(one, 8));
                c = _mm256_add_epi16(c, two);
                d = _mm256_add_epi16(d, _mm256_srli_epi16(two, 8));
            }
            a = _mm256_sub_epi16(a, _mm256_slli_epi16(b, 8));
            c = _mm256_sub_epi16(c, _mm256_slli_epi16(d, 8));
            const __m128i even = _mm_add_epi16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
            const __m128i odd = _mm_add_epi16(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1));
            const __m128i even_high = _mm_add_epi16(_mm256_castsi256_si128(c), _mm256_extracti128_si256(c, 1));
            const __m128i odd_high = _mm_add_epi16(_mm256_castsi256_si128(d), _mm256_extracti128_si256(d, 1));
            add(sums, 0, even, odd);
            add(sums, 2, even_high, odd_high);
        }
    }
    return sums;
}

// Returns the sum of the four 128-bit quarters.
AVX512 ALWAYS_INLINE __m128i folded(__m512i sums) {
    const __m256i half = _mm256_add_epi16(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64(sums, 1));
    return _mm_add_epi16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

AVX512 ALWAYS_INLINE Sums256 sums_avx512(const std::uint8_t *codes, const Tables &tables) {
    const __m512i low_half = _mm512_set1_epi8(15);
    Sums256 sums{};
    for (std::size_t plane = 0; plane < PLANES; ++plane) {
        for (__m256i &sum : sums.sixteenths) sum = _mm256_slli_epi32(sum, 1);
        const std::uint8_t *table = tables.entries;
        for (std::size_t first = 0; first < tables.groups; first += GROUPS_AT_ONCE) {
            __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
            const std::size_t end = std::min(tables.groups, first + GROUPS_AT_ONCE);
            for (std::size_t group = first; group < end; group += 4, codes += 64, table += 64) {
                const __m512i both = _mm512_loadu_si512(codes), entries = _mm512_load_si512(table);
                const __m512i one = _mm512_shuffle_epi8(entries, _mm512_and_si512(both, low_half));
                const __m512i two = _mm512_shuffle_epi8(entries, _mm512_and_si512(_mm512_srli_epi16(both, 4), low_half));
                a = _mm512_add_epi16(a, one);
                b = _mm512_add_epi16(b, _mm512_srli_epi16(one, 8));
                c = _mm512_add_epi16(c, two);
                d = _mm512_add_epi16(d, _mm512_srli_epi16(two, 8));
            }
            const __m128i even = folded(_mm512_sub_epi16(a, _mm512_slli_epi16(b, 8))), odd = folded(b);
            const __m128i even_high = folded(_mm512_sub_epi16(c, _mm512_slli_epi16(d, 8))), odd_high = folded(d);
            add(sums, 0, even, odd);
            add(sums, 2, even_high, odd_high);
        }
    }
    return sums;
}

AVX2 ALWAYS_INLINE std::uint32_t finished_avx2(const Block &block, const Tables &tables, const Sums256 &sums, float base, float least,
                                               float *out) {
    const __m256i offset = _mm256_set1_epi32(added(tables));
    const __m256 scale = _mm256_set1_ps(tables.scale), bases = _mm256_set1_ps(base), bar = _mm256_set1_ps(least);
    std::uint32_t high = 0;
    for (std::size_t part = 0; part < 4; ++part) {
        const __m256 factor = _mm256_mul_ps(scale, _mm256_loadu_ps(block.scales + 8 * part));
        const __m256 product = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(sums.sixteenths[part], offset)), factor);
        const __m256 found = _mm256_add_ps(product, bases);
        _mm256_storeu_ps(out + 8 * part, found);
        high |= static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(found, bar, _CMP_GE_OQ))) << 8 * part;
    }
    return high;
}

} // namespace

AVX2 std::uint32_t estimate_avx2(const Block &block, const Tables &tables, float base, float least, float *out) {
    return finished_avx2(block, tables, sums_avx2(block.codes, tables), base, least, out);
}

AVX512 std::uint32_t estimate_avx512(const Block &block, const Tables &tables, float base, float least, float *out) {
    return finished_avx2(block, tables, sums_avx512(block.codes, tables), base, least, out);
}
#endif

#if defined(__aarch64__)
std::uint32_t estimate_neon(const Block &block, const Tables &tables, float base, float least, float *out) {
    std::int32_t sums[BLOCK] = {};
    const std::uint8_t *codes = block.codes;
    for (std::size_t plane = 0; plane < PLANES; ++plane) {
        for (std::int32_t &sum : sums) sum *= 2;
        const std::uint8_t *table = tables.entries;
        for (std::size_t first = 0; first < tables.groups; first += GROUPS_AT_ONCE) {
            uint16x8_t parts[4] = {vdupq_n_u16(0), vdupq_n_u16(0), vdupq_n_u16(0), vdupq_n_u16(0)};
            const std::size_t end = std::min(tables.groups, first + GROUPS_AT_ONCE);
            for (std::size_t group = first; group < end; ++group, codes += TABLE, table += TABLE) {
                const uint8x16_t both = vld1q_u8(codes), entries = vld1q_u8(table);
                const uint8x16_t one = vqtbl1q_u8(entries, vandq_u8(both, vdupq_n_u8(15))), two = vqtbl1q_u8(entries, vshrq_n_u8(both, 4));
                parts[0] = vaddw_u8(parts[0], vget_low_u8(one));
                parts[1] = vaddw_u8(parts[1], vget_high_u8(one));
                parts[2] = vaddw_u8(parts[2], vget_low_u8(two));
                parts[3] = vaddw_u8(parts[3], vget_high_u8(two));
            }
            std::uint16_t some[BLOCK];
            for (std::size_t part = 0; part < 4; ++part) vst1q_u16(some + 8 * part, parts[part]);
            for (std::size_t at = 0; at < BLOCK; ++at) sums[at] += some[at];
        }
    }
    return finished(block, tables, sums, base, least, out);
}
#endif

} // namespace monograph
