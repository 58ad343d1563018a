// Kernel lines, blocks and fused products; the update of the gradient and the scan for the oracles.
// Compiled once per instruction set with SWAPSVM_ISA naming it (see hot.hpp and CMakeLists.txt).
#include "hot.hpp"

#include "simd.hpp"
#include "tiles.hpp"

namespace swapsvm::SWAPSVM_ISA {
namespace {

// Lane l is all ones if l < count: cuts what a load reads past the end of a row.
template <class V>
SWAPSVM_ALWAYS_INLINE Int<V> first_lanes(int64_t count) {
  using Lane = decltype(Int<V>{}[0] + 0);
  Int<V> lane;
  for (int l = 0; l < kLanes<V>; ++l) lane[l] = l;
  return lane < (Lane)(count < kLanes<V> ? count : kLanes<V>);
}

// The last, partial vector of a row. Inside the matrix it is read whole and cut; at its end number by number.
template <class V, class T>
SWAPSVM_ALWAYS_INLINE Vec<V> load_tail(const T* p, int64_t count, Int<V> mask, const T* end) {
  if (__builtin_expect(p + kLanes<V> <= end, 1)) return (Vec<V>)((Int<V>)load<V>(p) & mask);
  T lanes[kLanes<V>] = {};
  for (int64_t l = 0; l < count; ++l) lanes[l] = p[l];
  return load<V>(lanes);
}

template <class V>
constexpr int kRowsInFlight = kLanes<V> < 4 ? kLanes<V> : 4;  // independent sums that hide the latency of an addition

template <Reduction R, class V, class T>
SWAPSVM_ALWAYS_INLINE void reduce_rows(const T* const* x, const V* z, int64_t features, Int<V> mask, const T* end,
                                       Vec<V>* total) {
  constexpr int lanes = kLanes<V>, rows = kRowsInFlight<V>;
  Vec<V> sums[rows] = {};
  int64_t f = 0;
  for (; f + lanes <= features; f += lanes) {
    const Vec<V> zf = load<V>(z + f);
#pragma GCC unroll 4
    for (int k = 0; k < rows; ++k) sums[k] = add_pair<R, V>(sums[k], load<V>(x[k] + f), zf);
  }
  if (f < features) {
    const Vec<V> zf = load<V>(z + f);
#pragma GCC unroll 4
    for (int k = 0; k < rows; ++k)
      sums[k] = add_pair<R, V>(sums[k], load_tail<V>(x[k] + f, features - f, mask, end), zf);
  }
#pragma GCC unroll 4
  for (int k = 0; k < rows; ++k) total[k] = sums[k];
}

template <Reduction R, class V, class T>
void dense_line(const Rows<T>& data, const V* z, Selection rows, V* out) {
  constexpr int lanes = kLanes<V>;
  const T* end = data.data + data.size * data.features;
  const Int<V> mask = first_lanes<V>(data.features % lanes);
  for (int64_t first = 0; first < rows.count; first += lanes) {
    const int count = int(rows.count - first < lanes ? rows.count - first : lanes);
    Vec<V> totals[lanes];
#pragma GCC unroll 4
    for (int r = 0; r < lanes; r += kRowsInFlight<V>) {
      const T* x[kRowsInFlight<V>];
      for (int k = 0; k < kRowsInFlight<V>; ++k)  // past the last row: the last row again, never stored
        x[k] = data.data + rows[first + (r + k < count ? r + k : count - 1)] * data.features;
      reduce_rows<R, V>(x, z, data.features, mask, end, totals + r);
    }
    const Vec<V> reduced = row_sums<V>(totals);
    if (count == lanes)
      store<V>(out + first, reduced);
    else
      for (int k = 0; k < count; ++k) out[first + k] = reduced[k];
  }
}

//
// |x - z|^2 = |z|^2 + sum_{f in x} x_f (x_f - 2 z_f);  |x - z|_1 = |z|_1 + sum_{f in x} (|x_f - z_f| - |z_f|)

template <Reduction R, class V>
SWAPSVM_ALWAYS_INLINE Vec<V> add_sparse_pair(Vec<V> total, Vec<V> x, Vec<V> z) {
  if constexpr (R == Reduction::dot) return total + x * z;
  if constexpr (R == Reduction::squared) return total + x * (x - z - z);
  return total + (absolute<V>(x - z) - absolute<V>(z));
}

template <class V>
SWAPSVM_ALWAYS_INLINE Vec<V> gather(const V* z, const Index* places) {
  Vec<V> values;
#pragma GCC unroll 16
  for (int l = 0; l < kLanes<V>; ++l) values[l] = z[places[l]];
  return values;
}

// Partial sums of one row, a vector of its entries at a time. Lanes past the end of the row are read from the next rows
// and cut to x = 0, which adds nothing to any of the reductions: no branch depends on the length of a short row.
template <Reduction R, class V, class T>
SWAPSVM_ALWAYS_INLINE Vec<V> sparse_entries(const Rows<T>& data, int64_t row, int64_t entries, const V* z) {
  constexpr int lanes = kLanes<V>;
  Vec<V> total = {};
  const int64_t end = data.indptr[row + 1];
  for (int64_t p = data.indptr[row]; p < end; p += lanes) {
    if (__builtin_expect(p + lanes <= entries, 1)) {
      const Vec<V> x = (Vec<V>)((Int<V>)load<V>(data.data + p) & first_lanes<V>(end - p));
      total = add_sparse_pair<R, V>(total, x, gather<V>(z, data.indices + p));
    } else {
      T values[lanes] = {};
      Index places[lanes] = {};
      for (int64_t l = 0; l < end - p; ++l) values[l] = data.data[p + l], places[l] = data.indices[p + l];
      total = add_sparse_pair<R, V>(total, load<V>(values), gather<V>(z, places));
    }
  }
  return total;
}

template <Reduction R, class V, class T>
void sparse_line(const Rows<T>& data, const Query<V>& z, Selection rows, V* out) {
  constexpr int lanes = kLanes<V>;
  const int64_t entries = data.indptr[data.size];
  for (int64_t first = 0; first < rows.count; first += lanes) {
    const int count = int(rows.count - first < lanes ? rows.count - first : lanes);
    Vec<V> totals[lanes];
    for (int r = 0; r < lanes; ++r)
      totals[r] = r < count ? sparse_entries<R, V>(data, rows[first + r], entries, z.dense) : Vec<V>{};
    Vec<V> reduced = row_sums<V>(totals) + z.offset;
    if constexpr (R != Reduction::dot) reduced = larger<V>(reduced, Vec<V>{});  // rounding can leave -1e-7
    if (count == lanes)
      store<V>(out + first, reduced);
    else
      for (int k = 0; k < count; ++k) out[first + k] = reduced[k];
  }
}

template <Reduction R, class T, class V>
void reduced_line(const Rows<T>& data, const Query<V>& z, Selection rows, V* out) {
  if (data.sparse())
    sparse_line<R, V>(data, z, rows, out);
  else
    dense_line<R, V>(data, z.dense, rows, out);
}

template <class T, class V>
void line(const Rows<T>& data, const KernelSpec& kernel, const Query<V>& z, Selection rows, V* out) {
  switch (kernel.reduction()) {
    case Reduction::dot: reduced_line<Reduction::dot>(data, z, rows, out); break;
    case Reduction::squared: reduced_line<Reduction::squared>(data, z, rows, out); break;
    case Reduction::absolute: reduced_line<Reduction::absolute>(data, z, rows, out); break;
  }
  finish<V>(kernel, out, rows.count);
}

template <class V>
SWAPSVM_ALWAYS_INLINE int64_t width_of(const Packed<V>& block, int64_t column) {
  return block.count - column < kStripWidth<V> ? block.count - column : kStripWidth<V>;
}

// The values themselves: out[k * stride + b].
template <class V>
struct StoredValues {
  const Packed<V>& block;
  V* out;
  int64_t stride, column = 0;

  void begin(int64_t first_column) { column = first_column; }
  void end(int64_t) {}
  SWAPSVM_ALWAYS_INLINE void take(const Tile<V>& tile, int64_t first, int count) {
    const int64_t width = width_of(block, column);
    V* place = out + first * stride + column;
    if (__builtin_expect(count == kRowsAtOnce && width == kStripWidth<V>, 1))
      return for_each_vector([&](int k, int s) { store<V>(place + k * stride + s * kLanes<V>, tile.at[k][s]); });
    V values[kRowsAtOnce * kStripWidth<V>];
    store_tile<V>(tile, values);
    for (int k = 0; k < count; ++k)
      __builtin_memcpy(place + k * stride, values + k * kStripWidth<V>, sizeof(V) * size_t(width));
  }
};

template <class T, class V>
void block_values(const Rows<T>& data, const KernelSpec& kernel, const Packed<V>& block, Selection rows, V* out,
                  int64_t stride) {
  StoredValues<V> values{block, out, stride};
  for_each_tile(data, kernel, block, rows, values);
}

// Sums over the columns: in V over one strip, as float sums of thousands of terms would be the noise of h, then in
// double.
template <class V>
struct RowSums {
  const V* coef;
  double* out;
  Vec<V> strip[kStripVectors] = {};

  SWAPSVM_ALWAYS_INLINE void begin(int64_t column) {
#pragma GCC unroll 4
    for (int s = 0; s < kStripVectors; ++s) strip[s] = load<V>(coef + column + s * kLanes<V>);
  }
  SWAPSVM_ALWAYS_INLINE void end(int64_t) {}
  SWAPSVM_ALWAYS_INLINE void take(const Tile<V>& tile, int64_t first, int count) const {
    Vec<V> sums[kRowsAtOnce];
#pragma GCC unroll 8
    for (int k = 0; k < kRowsAtOnce; ++k) {
      sums[k] = tile.at[k][0] * strip[0];
#pragma GCC unroll 4
      for (int s = 1; s < kStripVectors; ++s) sums[k] += tile.at[k][s] * strip[s];
    }
    V totals[kRowsAtOnce];
    tile_sums<V>(sums, totals);
    if (__builtin_expect(count == kRowsAtOnce, 1))
#pragma GCC unroll 8
      for (int k = 0; k < kRowsAtOnce; ++k) out[first + k] += double(totals[k]);
    else
      for (int k = 0; k < count; ++k) out[first + k] += double(totals[k]);
  }
};

template <class T, class V>
void product(const Rows<T>& data, const KernelSpec& kernel, const Packed<V>& block, Selection rows, double* out) {
  RowSums<V> sums{block.coef, out};
  for_each_tile(data, kernel, block, rows, sums);
}

// Sums over the rows: in V over kRowsSummed rows, then in double.
template <class V>
struct ColumnSums {
  const Packed<V>& block;
  const double* coef;  // of the rows
  double* out;
  Vec<V> some[kStripVectors] = {};
  double sums[kStripWidth<V>] = {};
  int rows = 0;

  SWAPSVM_ALWAYS_INLINE void take(const Tile<V>& tile, int64_t first, int count) {
    V weights[kRowsAtOnce] = {};
    for (int k = 0; k < count; ++k) weights[k] = V(coef[first + k]);
    for_each_vector([&](int k, int s) { some[s] += splat<V>(weights[k]) * tile.at[k][s]; });
    if ((rows += kRowsAtOnce) == kRowsSummed) flush();
  }
  SWAPSVM_ALWAYS_INLINE void end(int64_t column) {
    flush();
    for (int64_t b = 0; b < width_of(block, column); ++b) out[column + b] += sums[b];
    for (int b = 0; b < kStripWidth<V>; ++b) sums[b] = 0;
  }

 private:
  SWAPSVM_ALWAYS_INLINE void flush() {
    V values[kStripWidth<V>];
    for (int s = 0; s < kStripVectors; ++s) store<V>(values + s * kLanes<V>, some[s]), some[s] = Vec<V>{};
    for (int b = 0; b < kStripWidth<V>; b += kLanes<double>)
      store<double>(sums + b, load<double>(sums + b) + load<double>(values + b));
    rows = 0;
  }
};
static_assert(kRowsSummed % kRowsAtOnce == 0);

template <class V>
struct BothSums {
  RowSums<V> row;
  ColumnSums<V> column;

  SWAPSVM_ALWAYS_INLINE void begin(int64_t first_column) { row.begin(first_column); }
  SWAPSVM_ALWAYS_INLINE void end(int64_t first_column) { column.end(first_column); }
  SWAPSVM_ALWAYS_INLINE void take(const Tile<V>& tile, int64_t first, int count) {
    row.take(tile, first, count);
    column.take(tile, first, count);
  }
};

template <class T, class V>
void both_products(const Rows<T>& data, const KernelSpec& kernel, const Packed<V>& block, Selection rows,
                   const double* row_coef, double* row_sums, double* column_sums) {
  BothSums<V> sums{{block.coef, row_sums}, {block, row_coef, column_sums}};
  for_each_tile(data, kernel, block, rows, sums);
}

// `Width` vectors of outputs of the rows of a tile: acc[k] = sum_b values[k][b] coefs[b].
template <int Width, class V>
SWAPSVM_ALWAYS_INLINE void add_outputs(const V* values, const V* coefs, int64_t outputs, int count, double* out) {
  constexpr int lanes = kLanes<V>;
  Vec<V> acc[kRowsAtOnce][Width] = {};
  for (int b = 0; b < kStripWidth<V>; ++b, coefs += outputs)
#pragma GCC unroll 8
    for (int k = 0; k < kRowsAtOnce; ++k)
#pragma GCC unroll 2
      for (int w = 0; w < Width; ++w)
        acc[k][w] += splat<V>(values[k * kStripWidth<V> + b]) * load<V>(coefs + w * lanes);
  for (int k = 0; k < count; ++k)
    for (int w = 0; w < Width; ++w)
      for (int l = 0; l < lanes; ++l) out[k * outputs + w * lanes + l] += double(acc[k][w][l]);
}

// Sums over the columns for several vectors of coefficients, coefs[b * outputs + o].
template <class V>
struct OutputSums {
  const V* coefs;
  int64_t outputs;
  double* out;
  int64_t column = 0;

  void begin(int64_t first_column) { column = first_column; }
  void end(int64_t) {}
  SWAPSVM_ALWAYS_INLINE void take(const Tile<V>& tile, int64_t first, int count) const {
    V values[kRowsAtOnce * kStripWidth<V>];
    store_tile<V>(tile, values);
    add(values, first, count);
  }

 private:
  SWAPSVM_NOT_INLINE void add(const V* values, int64_t first, int count) const {
    constexpr int lanes = kLanes<V>;
    const V* strip = coefs + column * outputs;
    double* sums = out + first * outputs;
    int64_t o = 0;
    for (; o + 2 * lanes <= outputs; o += 2 * lanes) add_outputs<2, V>(values, strip + o, outputs, count, sums + o);
    if (o < outputs) add_outputs<1, V>(values, strip + o, outputs, count, sums + o);
  }
};

template <class T, class V>
void products(const Rows<T>& data, const KernelSpec& kernel, const Packed<V>& block, const V* coefs, int64_t outputs,
              Selection rows, double* out) {
  OutputSums<V> sums{coefs, outputs, out};
  for_each_tile(data, kernel, block, rows, sums);
}

template <class V>
void update(const ColumnUpdate<V>& given, double* h, int64_t count) {
  const ColumnUpdate<V> u = given;  // its numbers stay in registers: h might overlap the original
  const double constant = u.bias * (u.add - u.sub);
  int64_t k = 0;
  for (; k + kLanes<double> <= count; k += kLanes<double>) {
    const Vec<double> i = load<double>(u.column_i + k), j = load<double>(u.column_j + k);
    store<double>(h + k, load<double>(h + k) * u.scale + i * u.add - j * u.sub + constant);
  }
  for (; k < count; ++k) h[k] = h[k] * u.scale + u.column_i[k] * u.add - u.column_j[k] * u.sub + constant;
}

Extremes scan(const double* h, const double* half_linear, const double* weights, int64_t count) {
  const double infinity = __builtin_inf();
  Vec<double> lowest = splat<double>(infinity), highest = -lowest;
  const auto see = [&](Vec<double> score, Vec<double> weight) {
    lowest = smaller<double>(score, lowest);
    const Vec<double> active = weight > 0 ? score : splat<double>(-infinity);
    highest = larger<double>(active, highest);
  };
  int64_t k = 0;
  for (; k + kLanes<double> <= count; k += kLanes<double>) {
    Vec<double> score = load<double>(h + k);
    if (half_linear) score -= load<double>(half_linear + k);
    see(score, load<double>(weights + k));
  }
  for (; k < count; ++k) see(splat<double>(half_linear ? h[k] - half_linear[k] : h[k]), splat<double>(weights[k]));
  Extremes result{infinity, -infinity};
  for (int l = 0; l < kLanes<double>; ++l) {
    if (lowest[l] < result.lowest) result.lowest = lowest[l];
    if (highest[l] > result.highest_active) result.highest_active = highest[l];
  }
  return result;
}

// Adds some variables to the sums, lane by lane.
struct LaneShortfall {
  Vec<double> excess = {}, inverse = {}, first = {}, second = {}, ceiling = splat<double>(__builtin_inf());

  SWAPSVM_ALWAYS_INLINE void add(Vec<double> score, Vec<double> weight, Vec<double> ridge, Vec<double> level) {
    const Vec<double> zero = {}, kept = ridge * weight, off = score - level, s = score - kept;
    const Vec<double> one = 1 / ridge;
    const Vec<double> own = off < kept ? off * off * one : weight * (off + off - kept);
    const Int<double> below = s<level, slack = ridge> zero;
    excess += (below | (weight > zero)) ? own : zero;
    inverse += (below & slack) ? one : zero;
    first += (below & slack) ? s * one : zero;
    second += (below & slack) ? s * one * s : zero;
    ceiling = slack ? ceiling : smaller<double>(score, ceiling);
  }
};

Shortfall shortfall(const Scores& v, double level) {
  LaneShortfall sums;
  const Vec<double> at = splat<double>(level);
  int64_t k = 0;
  for (; k + kLanes<double> <= v.count; k += kLanes<double>) {
    Vec<double> score = load<double>(v.h + k);
    if (v.half_linear) score -= load<double>(v.half_linear + k);
    sums.add(score, load<double>(v.weights + k), load<double>(v.ridge + k), at);
  }
  Vec<double> score = splat<double>(__builtin_inf()), weight = {}, ridge = splat<double>(1);  // which add nothing
  for (int l = 0; k < v.count; ++k, ++l) {
    score[l] = v.half_linear ? v.h[k] - v.half_linear[k] : v.h[k];
    weight[l] = v.weights[k], ridge[l] = v.ridge[k];
  }
  sums.add(score, weight, ridge, at);
  Shortfall result{sum<double>(sums.excess), sum<double>(sums.inverse), sum<double>(sums.first),
                   sum<double>(sums.second), __builtin_inf()};
  for (int l = 0; l < kLanes<double>; ++l)
    if (sums.ceiling[l] < result.ceiling) result.ceiling = sums.ceiling[l];
  return result;
}

// Scores change by two rows of Q; the smallest key(score, place) of the new ones is found on the way.
template <class V, class Key>
Lowest update_by(const ScoreUpdate<V>& given, V* score, int64_t count, Key key) {
  constexpr int lanes = kLanes<V>;
  const ScoreUpdate<V> u = given;  // as in update
  Vec<V> best = splat<V>(V(__builtin_inf()));
  Int<V> best_at = {}, at;
  for (int l = 0; l < lanes; ++l) at[l] = l;
  int64_t k = 0;
  for (; k + lanes <= count; k += lanes, at += lanes) {
    const Vec<V> next = load<V>(score + k) * u.scale + load<V>(u.row_i + k) * u.add - load<V>(u.row_j + k) * u.sub;
    store<V>(score + k, next);
    const Vec<V> seen = key(next, k);
    best_at = seen < best ? at : best_at;
    best = smaller<V>(seen, best);
  }
  Lowest result{__builtin_inf(), 0};
  for (int l = 0; l < lanes; ++l)
    if (best[l] < result.score || (best[l] == result.score && best_at[l] < result.place))
      result = {double(best[l]), best_at[l]};
  for (; k < count; ++k) {
    score[k] = score[k] * u.scale + u.row_i[k] * u.add - u.row_j[k] * u.sub;
    const V seen = key(score[k], k);
    if (seen < result.score) result = {double(seen), k};
  }
  return result;
}

template <class V>
Lowest update_scores(const ScoreUpdate<V>& u, V* score, int64_t count) {
  return update_by<V>(u, score, count, [](auto next, int64_t) { return next; });
}

template <class V>
struct Violation {
  const V* active;
  Vec<V> operator()(Vec<V> score, int64_t k) const { return score > 0 ? -score * load<V>(active + k) : score; }
  V operator()(V score, int64_t k) const { return score > 0 ? -score * active[k] : score; }
};

template <class V>
Lowest update_violations(const ScoreUpdate<V>& u, V* score, const V* active, int64_t count) {
  return update_by<V>(u, score, count, Violation<V>{active});
}

// Gains are fractions rise^2 / curvature; they are compared by cross-multiplication, which is cheaper than dividing.
// gain(score, active, row, diagonal, rise, curvature) gives both, for vectors and for single numbers.
template <class V, class Gain>
int64_t best_gain(const SwapCandidates<V>& c, Gain gain) {
  constexpr int lanes = kLanes<V>;
  const V least = V(1e-30);  // a curvature of zero is as good as it gets
  Vec<V> best_square = {}, best_curvature = splat<V>(V(1));
  Int<V> best_at = Int<V>{} - 1, at;
  for (int l = 0; l < lanes; ++l) at[l] = l;
  int64_t k = 0;
  for (; k + lanes <= c.count; k += lanes, at += lanes) {
    Vec<V> rise, curvature;
    gain(load<V>(c.score + k), load<V>(c.active + k), load<V>(c.row_i + k), load<V>(c.diagonal + k), rise, curvature);
    curvature = larger<V>(curvature, splat<V>(least));
    const Vec<V> square = rise * rise;
    const Int<V> better = (rise > 0) & (square * best_curvature > best_square * curvature);
    best_square = better ? square : best_square;
    best_curvature = better ? curvature : best_curvature;
    best_at = better ? at : best_at;
  }
  double top_square = 0, top_curvature = 1;
  int64_t place = -1;
  const auto see = [&](double square, double curvature, int64_t v) {
    const double ours = square * top_curvature, theirs = top_square * curvature;
    if (ours > theirs || (ours == theirs && place >= 0 && v < place))
      top_square = square, top_curvature = curvature, place = v;
  };
  for (int l = 0; l < lanes; ++l)
    if (best_at[l] >= 0) see(double(best_square[l]), double(best_curvature[l]), best_at[l]);
  for (; k < c.count; ++k) {
    V rise, curvature;
    gain(c.score[k], c.active[k], c.row_i[k], c.diagonal[k], rise, curvature);
    if (rise > 0) see(double(rise) * double(rise), curvature > least ? curvature : least, k);
  }
  return place;
}

template <class V>
int64_t best_swap(const SwapCandidates<V>& c) {
  return best_gain<V>(c, [&](auto score, auto active, auto row, auto diagonal, auto& rise, auto& curvature) {
    rise = (score - c.score_i) * active;
    curvature = diagonal + c.diagonal_i - row - row;
  });
}

template <class V>
int64_t best_partner(const SwapCandidates<V>& c) {
  const V slope = c.score_i / c.diagonal_i, inverse = V(1) / c.diagonal_i;
  const V rounding = sizeof(V) == 4 ? V(1e-6) : V(2e-15);
  return best_gain<V>(c, [&](auto score, auto active, auto row, auto diagonal, auto& rise, auto& curvature) {
    const auto after = score - slope * row;
    rise = after < 0 ? -after : after * active;
    curvature = diagonal - row * row * inverse;
    curvature = curvature > rounding * diagonal ? curvature : rounding * diagonal;  // of i itself nothing else is left
  });
}

template <class V>
void exponential_of(V* values, int64_t count) {
  transform<V>(values, count, [](Vec<V> x) { return exponential<V>(x); });
}

template <class V>
double signed_values(const V* values, V sign, const V* signs, V bias, int64_t count, V* out) {
  Vec<V> largest = {}, broken = {};  // the latter is 0, or NaN
  int64_t k = 0;
  for (; k + kLanes<V> <= count; k += kLanes<V>) {
    const Vec<V> next = load<V>(signs + k) * sign * (load<V>(values + k) + bias);
    store<V>(out + k, next);
    largest = larger<V>(largest, absolute<V>(next)), broken += next * V(0);
  }
  double found = 0, lost = sum<V>(broken);
  for (int l = 0; l < kLanes<V>; ++l) found = largest[l] > found ? double(largest[l]) : found;
  for (; k < count; ++k) {
    out[k] = signs[k] * sign * (values[k] + bias);
    const double size = out[k] < 0 ? -out[k] : out[k];
    found = size > found ? size : found, lost += double(out[k]) * 0;
  }
  return lost == 0 ? found : lost;
}

// Four independent sums hide the latency of an addition.
void dot_rows(const float* z, int64_t rows, int64_t columns, const double* v, double* out) {
  constexpr int lanes = kLanes<double>, sums = kAlign / lanes < 4 ? kAlign / lanes : 4;
  for (int64_t i = 0; i < rows; ++i, z += columns) {
    Vec<double> total[sums] = {};
    for (int64_t f = 0; f < columns; f += sums * lanes)
#pragma GCC unroll 4
      for (int s = 0; s < sums; ++s) total[s] += load<double>(z + f + s * lanes) * load<double>(v + f + s * lanes);
#pragma GCC unroll 4
    for (int s = 1; s < sums; ++s) total[0] += total[s];
    out[i] = sum<double>(total[0]);
  }
}

// Eight rows at a time: the sums are read and written an eighth as often.
void add_rows(const float* z, int64_t rows, int64_t columns, const double* w, double* sums) {
  constexpr int lanes = kLanes<double>, together = 8;
  for (int64_t i = 0; i < rows; i += together) {
    const int count = int(rows - i < together ? rows - i : together);
    const float* row[together];
    double weight[together];
    for (int k = 0; k < together; ++k)
      row[k] = z + (i + (k < count ? k : 0)) * columns, weight[k] = k < count ? w[i + k] : 0;
    for (int64_t f = 0; f < columns; f += lanes) {
      Vec<double> total = load<double>(sums + f);
#pragma GCC unroll 8
      for (int k = 0; k < together; ++k) total += load<double>(row[k] + f) * weight[k];
      store<double>(sums + f, total);
    }
  }
}

template <class T, class V>
constexpr HotKernels<T, V> kKernels{kStripWidth<V>, kLanes<V>,           line<T, V>,    block_values<T, V>,
                                    product<T, V>,  both_products<T, V>, products<T, V>};
template <class V>
constexpr HotUpdates<V> kUpdates{update<V>,       exponential_of<V>, signed_values<V>,    best_swap<V>,
                                 best_partner<V>, update_scores<V>,  update_violations<V>};

}  // namespace

const HotTables& tables() {
  static constexpr HotTables kTables{kKernels<float, float>,   kKernels<float, double>, kKernels<double, float>,
                                     kKernels<double, double>, kUpdates<float>,         kUpdates<double>,
                                     {scan, shortfall},        {dot_rows, add_rows}};
  return kTables;
}

}  // namespace swapsvm::SWAPSVM_ISA
