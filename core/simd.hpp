// Vector types and the elementary functions of the kernels, once per instruction set.
//
// This header is compiled several times, each time in another namespace (SWAPSVM_ISA) and with other
// machine flags. It therefore uses no inline function of the standard library: the linker could keep the
// copy made for the widest instruction set and run it on an older machine.
#pragma once

#include <cstdint>
#include <utility>

#include "rows.hpp"

namespace swapsvm::SWAPSVM_ISA {

#if defined(__AVX512F__)
inline constexpr int kBytes = 64, kStripVectors = 4;
#elif defined(__AVX2__)
inline constexpr int kBytes = 32, kStripVectors = 2;
#else
inline constexpr int kBytes = 16, kStripVectors = 2;
#endif

template <class V>
struct SimdTraits;
template <>
struct SimdTraits<float> {
  static constexpr int kLanes = kBytes / 4;
  typedef float Vec __attribute__((vector_size(kBytes)));
  typedef int32_t Int __attribute__((vector_size(kBytes)));
};
template <>
struct SimdTraits<double> {
  static constexpr int kLanes = kBytes / 8;
  typedef double Vec __attribute__((vector_size(kBytes)));
  typedef int64_t Int __attribute__((vector_size(kBytes)));
};

template <class V>
using Vec = typename SimdTraits<V>::Vec;
template <class V>
using Int = typename SimdTraits<V>::Int;
template <class V>
inline constexpr int kLanes = SimdTraits<V>::kLanes;

// Loads kLanes<V> numbers of type T, converted to V.
template <class V, class T>
SWAPSVM_ALWAYS_INLINE Vec<V> load(const T* p) {
  typedef T Raw __attribute__((vector_size(kLanes<V> * sizeof(T))));
  Raw raw;
  __builtin_memcpy(&raw, p, sizeof raw);
  return __builtin_convertvector(raw, Vec<V>);
}

template <class V>
SWAPSVM_ALWAYS_INLINE void store(V* p, Vec<V> x) {
  __builtin_memcpy(p, &x, sizeof x);
}

template <class V>
SWAPSVM_ALWAYS_INLINE Vec<V> splat(V x) {
  return x - Vec<V>{};  // x + 0 is not x for -0, so the compiler would have to add
}

template <class V>
SWAPSVM_ALWAYS_INLINE Vec<V> smaller(Vec<V> a, Vec<V> b) {
  return a < b ? a : b;
}

template <class V>
SWAPSVM_ALWAYS_INLINE Vec<V> larger(Vec<V> a, Vec<V> b) {
  return a > b ? a : b;
}

template <class V>
SWAPSVM_ALWAYS_INLINE Vec<V> absolute(Vec<V> x) {
  return larger<V>(x, -x);
}

// The sum of the lanes, halves onto halves.
template <class V>
SWAPSVM_ALWAYS_INLINE V sum(Vec<V> x) {
  V lanes[kLanes<V>];
  __builtin_memcpy(lanes, &x, sizeof x);
#pragma GCC unroll 4
  for (int width = kLanes<V> / 2; width > 0; width /= 2)
#pragma GCC unroll 8
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln(2)/2. The polynomials are Chebyshev fits of exp on that
// interval (degree 6: 2e-9; degree 11: 3e-18). Rounding is by adding and subtracting 1.5 * 2^mantissa, which
// leaves n in the low bits of the sum and needs neither a rounding instruction nor an integer conversion.
template <class V>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float kLow = -87.0f, kHigh = 88.0f, kMagic = 12582912.0f;
  static constexpr float kLog2Hi = 0.693359375f, kLog2Lo = -2.12194440e-4f;
  static constexpr int kMantissa = 23;
  static constexpr int32_t kBias = 127;
  static constexpr float kPoly[] = {1.3941108433972674608e-3f,
                                    8.375126398153335682e-3f,
                                    4.1666352896775156786e-2f,
                                    1.6666415514653275427e-1f,
                                    5.0000000471177576744e-1f,
                                    1.0000000377162138425f,
                                    1.0f};
};
template <>
struct ExpConstants<double> {
  static constexpr double kLow = -708.0, kHigh = 709.0, kMagic = 6755399441055744.0;
  static constexpr double kLog2Hi = 6.93147180369123816490e-1, kLog2Lo = 1.90821492927058770002e-10;
  static constexpr int kMantissa = 52;
  static constexpr int64_t kBias = 1023;
  static constexpr double kPoly[] = {2.5110037605963777712e-8, 2.7632639639041029749e-7, 2.7557240918578969823e-6,
                                     2.4801485482328492419e-5, 1.9841269890047113707e-4, 1.3888888952314774652e-3,
                                     8.3333333333196006109e-3, 4.1666666666488095495e-2, 1.6666666666666680806e-1,
                                     5.0000000000000183855e-1, 9.9999999999999999976e-1, 1.0};
};

template <class V>
SWAPSVM_ALWAYS_INLINE Vec<V> exponential(Vec<V> x) {
  using K = ExpConstants<V>;
  x = smaller<V>(splat<V>(K::kHigh), larger<V>(splat<V>(K::kLow), x));  // in this order NaN stays NaN
  const Vec<V> shifted = x * V(1.4426950408889634074) + K::kMagic;
  const Vec<V> n = shifted - K::kMagic;
  const Vec<V> r = (x - n * K::kLog2Hi) - n * K::kLog2Lo;
  Vec<V> p = splat<V>(K::kPoly[0]);
#pragma GCC unroll 16
  for (unsigned d = 1; d < sizeof(K::kPoly) / sizeof(V); ++d) p = p * r + K::kPoly[d];
  const Int<V> magic = (Int<V>)splat<V>(K::kMagic);
  const Int<V> power = ((Int<V>)shifted - magic + K::kBias) << K::kMantissa;
  return p * (Vec<V>)power;
}

template <class V>
inline constexpr V kLowestPower = sizeof(V) == 4 ? V(-125) : V(-1021);  // of two, that power_of_two can return

template <class V>
struct PowerConstants;  // 2^r = 1 + r (...) for |r| <= 1/2, by minimax: relative errors of 9.2e-8 and 1.8e-17
template <>
struct PowerConstants<float> {
  static constexpr float kPoly[] = {1.32647311e-3f,  9.671513994e-3f, 5.550733746e-2f,
                                    2.402224206e-1f, 6.931469776e-1f, 1.0f};
};
template <>
struct PowerConstants<double> {
  static constexpr double kPoly[] = {4.0779938562415035e-10, 7.0725704454692731e-09, 1.0180648196555838e-07,
                                     1.3215442675115585e-06, 1.5252727383872463e-05, 1.5403530441572598e-4,
                                     1.3333558153441334e-3,  9.6181291076070027e-3,  5.5504108664790386e-2,
                                     2.4022650695910097e-1,  6.9314718055994573e-1,  1.0};
};

// 2^(x scale), which must be between kLowestPower and a little above 0. One instruction scales and rounds to the
// integer part n, which is added to the exponent of 2^r.
template <class V>
SWAPSVM_ALWAYS_INLINE Vec<V> power_of_two(Vec<V> x, V scale) {
  using K = ExpConstants<V>;
  const Vec<V> shifted = x * scale + K::kMagic;
  const Vec<V> r = x * scale - (shifted - K::kMagic);
  Vec<V> p = splat<V>(PowerConstants<V>::kPoly[0]);
#pragma GCC unroll 16
  for (unsigned d = 1; d < sizeof(PowerConstants<V>::kPoly) / sizeof(V); ++d) p = p * r + PowerConstants<V>::kPoly[d];
  return (Vec<V>)((Int<V>)p + ((Int<V>)shifted << K::kMantissa));
}

template <class V>
SWAPSVM_ALWAYS_INLINE Vec<V> hyperbolic_tangent(Vec<V> x) {
  const Vec<V> small = splat<V>(sizeof(V) == 4 ? V(0.02) : V(2e-4));  // below, x - x^3/3 has all digits; 1 - 1 has none
  return absolute<V>(x) < small ? x - x * x * x / V(3) : V(1) - V(2) / (exponential<V>(x + x) + V(1));
}

// One level of the pairwise transpose-and-add: blocks of `Width` lanes of a and b are interleaved and added.
template <int Width, class V, int... L>
SWAPSVM_ALWAYS_INLINE Vec<V> fold(Vec<V> a, Vec<V> b, std::integer_sequence<int, L...>) {
  constexpr int n = sizeof...(L);
  // lane L of the result comes from a in even blocks of Width lanes, from b in odd ones
  return __builtin_shufflevector(a, b, ((L / Width) % 2 ? n + L - Width : L)...) +
         __builtin_shufflevector(a, b, ((L / Width) % 2 ? n + L : L + Width)...);
}

// sums[r] = sum of the lanes of rows[r], for kLanes rows at once, by log2(kLanes) levels of fold.
template <class V, int Width = 1>
SWAPSVM_ALWAYS_INLINE Vec<V> row_sums(Vec<V>* rows) {
  if constexpr (Width == kLanes<V>) {
    return rows[0];
  } else {
    using Lanes = std::make_integer_sequence<int, kLanes<V>>;
#pragma GCC unroll 16
    for (int k = 0; k < kLanes<V> / (2 * Width); ++k) rows[k] = fold<Width, V>(rows[2 * k], rows[2 * k + 1], Lanes{});
    return row_sums<V, 2 * Width>(rows);
  }
}

// out[r] = sum of the lanes of rows[r], for `Rows` rows.
template <class V, int Rows = 4>
SWAPSVM_ALWAYS_INLINE void tile_sums(Vec<V>* rows, V* out) {
  if constexpr (Rows % 4 != 0 || kLanes<V> < 4) {
#pragma GCC unroll 8
    for (int k = 0; k < Rows; ++k) out[k] = sum<V>(rows[k]);
  } else {
    using Lanes = std::make_integer_sequence<int, kLanes<V>>;
    typedef V Four __attribute__((vector_size(4 * sizeof(V))));
    // lane l has a part of the sum of row l % 4
    const Vec<V> parts =
        fold<2, V>(fold<1, V>(rows[0], rows[1], Lanes{}), fold<1, V>(rows[2], rows[3], Lanes{}), Lanes{});
    Four four[kLanes<V> / 4];
    __builtin_memcpy(four, &parts, sizeof parts);
#pragma GCC unroll 4
    for (int q = 1; q < kLanes<V> / 4; ++q) four[0] += four[q];
    __builtin_memcpy(out, &four[0], sizeof four[0]);
  }
}

}  // namespace swapsvm::SWAPSVM_ISA
