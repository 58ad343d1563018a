// The loops that take most of the time, behind one table of functions for each instruction set.
//
// hot.cpp is compiled once per instruction set; `hot_kernels<T, V>()` returns the table of the best one this machine
// has (or the one chosen by SWAPSVM_SIMD / select_simd). T is the type of the stored data, V that of the
// arithmetic: (float, float) and (double, float) for speed, (float, double) and (double, double) for certificates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "rows.hpp"

namespace swapsvm {

// One row spread out as a dense vector, padded with zeros to a multiple of kAlign numbers.
// `offset` is what the zeros of a sparse row add to the reduction: |z|^2 or |z|_1 where x has no entry.
template <class V>
struct Query {
  const V* dense = nullptr;
  V offset = 0;
};

// A block of rows, transposed in strips: entry (f, b) of strip s is at strips[(s * features + f) * width + b]. Of wide
// sparse rows only the features that occur in the block have a place: `slots` gives it, or -1.
template <class V>
struct Packed {
  const V* strips = nullptr;
  const Index* slots = nullptr;  // none: each feature has its own place
  const V* offsets = nullptr;    // per row of the block, as in Query; of dense rows |z|^2
  const V* coef = nullptr;       // per row of the block, zero in the padding
  int64_t count = 0;             // rows in the block
  int64_t features = 0;          // that have a place
  bool differences = true;  // squared distances of dense rows are summed from differences, else |x|^2 + |z|^2 - 2 x'z
};

inline constexpr int64_t kPanel = 128;  // features of dense rows that are summed in one go
inline constexpr int kRowsSummed = 12;  // values of a column that are added in V before their sum goes to double
inline constexpr int kAlign = 16;       // numbers: the widest vector is 16 floats

// The lowest score of a range, and the highest of its active variables: what the oracles need of a chunk.
struct Extremes {
  double lowest;
  double highest_active;
};

// h <- scale h + add (column_i + bias) - sub (column_j + bias), signs already inside add and sub.
template <class V>
struct ColumnUpdate {
  double scale, add, sub, bias;
  const V* column_i;
  const V* column_j;
};

template <class T, class V>
struct HotKernels {
  int strip_width, lanes;
  // out[k] = k(x_rows[k], z)
  void (*line)(const Rows<T>&, const KernelSpec&, const Query<V>&, Selection, V* out);
  // out[k * stride + b] = k(x_rows[k], block_b)
  void (*block)(const Rows<T>&, const KernelSpec&, const Packed<V>&, Selection, V* out, int64_t stride);
  // out[k] += sum_b coef_b k(x_rows[k], block_b); no kernel value leaves the registers and a strip in L1
  void (*product)(const Rows<T>&, const KernelSpec&, const Packed<V>&, Selection, double* out);
  // row_sums[k] += sum_b coef_b k(x_rows[k], block_b) and column_sums[b] += sum_k row_coef[k] k(x_rows[k], block_b)
  void (*both_products)(const Rows<T>&, const KernelSpec&, const Packed<V>&, Selection, const double* row_coef,
                        double* row_sums, double* column_sums);
  // out[k * outputs + o] += sum_b coefs[b * outputs + o] k(x_rows[k], block_b); outputs is a multiple of `lanes`
  void (*products)(const Rows<T>&, const KernelSpec&, const Packed<V>&, const V* coefs, int64_t outputs, Selection,
                   double* out);
};

// The active variables of a small dense problem, seen from the vertex i that is to get weight.
template <class V>
struct SwapCandidates {
  const V* row_i;     // Q_ij
  const V* diagonal;  // Q_jj
  const V* score;
  const V* active;  // 1 where the weight is positive, else 0
  V diagonal_i, score_i;
  int64_t count;
};

// score <- scale score + add row_i - sub row_j
template <class V>
struct ScoreUpdate {
  V scale, add, sub;
  const V* row_i;
  const V* row_j;
};

struct Lowest {
  double score;
  int64_t place;
};

template <class V>
struct HotUpdates {
  void (*update)(const ColumnUpdate<V>&, double* h, int64_t count);
  void (*exponential)(V* values, int64_t count);
  // out = sign signs (values + bias); returns the largest |out|, NaN if one is not finite
  double (*signed_values)(const V* values, V sign, const V* signs, V bias, int64_t count, V* out);
  // argmax over active j with score_j > score_i of (score_j - score_i)^2 / (Q_ii - 2 Q_ij + Q_jj), or -1
  int64_t (*best_swap)(const SwapCandidates<V>&);
  // argmax over j of what a step of j gains after one of i: (score_j - score_i Q_ij / Q_ii)^2 / (Q_jj - Q_ij^2 / Q_ii),
  // where an inactive j may only grow; or -1
  int64_t (*best_partner)(const SwapCandidates<V>&);
  // updates the scores and returns the smallest and its first place, in one pass
  Lowest (*update_scores)(const ScoreUpdate<V>&, V* score, int64_t count);
  // the same for the negated violations: -|score| where active, min(score, 0) elsewhere
  Lowest (*update_violations)(const ScoreUpdate<V>&, V* score, const V* active, int64_t count);
};

// Some variables of a problem; h is infinite where they take no part.
struct Scores {
  const double* h;
  const double* half_linear;  // or null: score = h - half_linear
  const double* weights;
  const double* ridge;
  int64_t count;
};

// Sums over variables at a level nu, see primal.hpp. All but G are over those below it: s_i = score_i - D_i a_i < nu.
struct Shortfall {
  double excess = 0;                          // G
  double inverse = 0, first = 0, second = 0;  // sum of 1/D, s/D, s^2/D
  double ceiling = __builtin_inf();           // lowest score of ridge 0
};

struct HotScan {
  // score = h - half_linear (which may be null); active where weight > 0
  Extremes (*scan)(const double* h, const double* half_linear, const double* weights, int64_t count);
  Shortfall (*shortfall)(const Scores&, double level);
};

// Rows of `columns` numbers each, a multiple of kAlign.
struct HotFeatures {
  // out[i] = sum_f z[i][f] v[f]
  void (*dot_rows)(const float* z, int64_t rows, int64_t columns, const double* v, double* out);
  // sums[f] += sum_i w[i] z[i][f]
  void (*add_rows)(const float* z, int64_t rows, int64_t columns, const double* w, double* sums);
};

struct HotTables {
  HotKernels<float, float> float_float;
  HotKernels<float, double> float_double;
  HotKernels<double, float> double_float;
  HotKernels<double, double> double_double;
  HotUpdates<float> float_updates;
  HotUpdates<double> double_updates;
  HotScan scan;
  HotFeatures features;
};

template <class T, class V>
const HotKernels<T, V>& hot_kernels();
template <class V>
const HotUpdates<V>& hot_updates();
const HotScan& hot_scan();
const HotFeatures& hot_features();

std::vector<std::string> simd_levels();      // available on this machine, best first
std::string simd_level();                    // in use
void select_simd(const std::string& level);  // for tests and benchmarks

}  // namespace swapsvm
