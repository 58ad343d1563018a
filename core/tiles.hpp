// Kernel values of a few rows against one strip of packed rows, in registers from the reduction to their use.
//
// Dense rows are first copied, converted and interleaved, as in a matrix product (GEMM): a strip's panel of features
// stays in the first-level cache while the rows pass by, and no conversion is left in the inner loop. Features are
// summed in panels, and panels are added up, so rounding grows with the length of a panel and not with the number of
// features.
//
// A consumer says what is done with the values of a tile: see hot.cpp.
#pragma once

#include <new>

#include "hot.hpp"
#include "simd.hpp"

namespace swapsvm::SWAPSVM_ISA {
namespace {

constexpr int kRowsAtOnce = 4;        // rows of a tile
constexpr int64_t kMostRows = 96;     // that are copied at once
constexpr int64_t kCopied = 1 << 19;  // bytes, about: they stay in the second-level cache

template <class V>
constexpr int kStripWidth = kStripVectors * kLanes<V>;

template <class V>
struct Tile {
  Vec<V> at[kRowsAtOnce][kStripVectors];
};

// Calls body(k, s) for each vector of a tile, unrolled: tiles are registers only if every index is a constant.
template <class Body>
SWAPSVM_ALWAYS_INLINE void for_each_vector(Body body) {
#pragma GCC unroll 8
  for (int k = 0; k < kRowsAtOnce; ++k)
#pragma GCC unroll 4
    for (int s = 0; s < kStripVectors; ++s) body(k, s);
}

template <class V>
SWAPSVM_ALWAYS_INLINE void store_tile(const Tile<V>& tile, V* out) {
  for_each_vector([&](int k, int s) { store<V>(out + k * kStripWidth<V> + s * kLanes<V>, tile.at[k][s]); });
}

// What rounding left of a distance. For a constant 0 the compiler would take two instructions; the smallest normal
// number changes a value by no more than underflow, which the bounds in rounding.cpp include.
template <class V>
SWAPSVM_ALWAYS_INLINE Vec<V> not_negative(Vec<V> distance) {
  constexpr V least = sizeof(V) == 4 ? V(__FLT_MIN__) : V(__DBL_MIN__);
  return larger<V>(splat<V>(least), distance);  // in this order NaN stays NaN
}

template <Reduction R, class V>
SWAPSVM_ALWAYS_INLINE Vec<V> add_pair(Vec<V> total, Vec<V> x, Vec<V> z) {
  if constexpr (R == Reduction::dot) return total + x * z;
  const Vec<V> difference = x - z;
  if constexpr (R == Reduction::squared) return total + difference * difference;
  return total + absolute<V>(difference);
}

template <class V>
SWAPSVM_ALWAYS_INLINE Vec<V> integer_power(Vec<V> base, int exponent) {
  Vec<V> result = splat<V>(V(1));
  for (; exponent > 0; exponent >>= 1, base = base * base)
    if (exponent & 1) result = result * base;
  return result;
}

template <class V, class Function>
SWAPSVM_ALWAYS_INLINE void transform(V* values, int64_t count, Function function) {
  constexpr int lanes = kLanes<V>;
  int64_t k = 0;
  for (; k + lanes <= count; k += lanes) store<V>(values + k, function(load<V>(values + k)));
  const int remaining = int(count - k) % lanes;
  if (!remaining) return;
  V rest[lanes] = {};
  for (int l = 0; l < remaining; ++l) rest[l] = values[k + l];
  store<V>(rest, function(load<V>(rest)));
  for (int l = 0; l < remaining; ++l) values[k + l] = rest[l];
}

// The map from reductions to kernel values.
template <class V>
SWAPSVM_NOT_INLINE void finish(const KernelSpec& kernel, V* values, int64_t count) {
  const V gamma = V(kernel.gamma), coef0 = V(kernel.coef0);
  switch (kernel.kind) {
    case KernelKind::linear: return;
    case KernelKind::rbf:
    case KernelKind::laplacian:
      return transform<V>(values, count, [=](Vec<V> x) { return exponential<V>(x * -gamma); });
    case KernelKind::sigmoid:
      return transform<V>(values, count, [=](Vec<V> x) { return hyperbolic_tangent<V>(x * gamma + coef0); });
    case KernelKind::poly:
      return transform<V>(values, count,
                          [=, d = kernel.degree](Vec<V> x) { return integer_power<V>(x * gamma + coef0, d); });
  }
}

template <class V>
SWAPSVM_ALWAYS_INLINE Tile<V> load_tile(const V* values) {
  Tile<V> tile;
  for_each_vector([&](int k, int s) { tile.at[k][s] = load<V>(values + k * kStripWidth<V> + s * kLanes<V>); });
  return tile;
}

// The map for the values of a tile. Distances stay in registers; powers and tanh, which take longer, do not.
template <class V>
class TileMap {
 public:
  explicit TileMap(const KernelSpec& kernel)
      : kernel_(kernel), slope_(V(kBase * kernel.gamma)), farthest_(V(kLowestPower<V> / (kBase * kernel.gamma))) {}

  template <Reduction R>
  SWAPSVM_ALWAYS_INLINE void apply(Tile<V>& tile) const {
    if constexpr (R == Reduction::dot) {
      if (kernel_.kind == KernelKind::linear) return;
      V values[kRowsAtOnce * kStripWidth<V>];
      store_tile<V>(tile, values);
      finish<V>(kernel_, values, kRowsAtOnce * kStripWidth<V>);
      tile = load_tile<V>(values);
    } else {
      for_each_vector([&](int k, int s) { tile.at[k][s] = of_distance(tile.at[k][s]); });
    }
  }

 private:
  static constexpr double kBase = -1.4426950408889634074;  // exp(-x) = 2^(kBase x)

  // exp(-gamma d) = 2^(slope d); the rounding of `slope` costs u s exp(-s) < u.
  SWAPSVM_ALWAYS_INLINE Vec<V> of_distance(Vec<V> d) const {
    return power_of_two<V>(smaller<V>(splat<V>(farthest_), d), slope_);  // in this order NaN stays NaN
  }

  const KernelSpec& kernel_;
  V slope_, farthest_;
};

// ---- dense rows

// Some dense rows in V, those of a tile interleaved: entry f of row k of tile t is at values[(t features + f) rows +
// k].
template <class V>
class CopiedRows {
 public:
  explicit CopiedRows(int64_t features)
      : features_(features),
        most_(most_rows(features)),
        values_(static_cast<V*>(::operator new(size_t(most_* features + 1) * sizeof(V), std::align_val_t(64)))) {}
  ~CopiedRows() { ::operator delete(values_, std::align_val_t(64)); }
  CopiedRows(const CopiedRows&) = delete;
  CopiedRows& operator=(const CopiedRows&) = delete;

  int64_t most() const { return most_; }
  const V* tile(int64_t first) const { return values_ + first * features_; }
  const V* squares(int64_t first) const { return squares_ + first; }

  // Past the last row of the last tile the last row again, whose values nobody takes.
  template <class T>
  SWAPSVM_NOT_INLINE void copy(const Rows<T>& data, Selection rows, bool with_squares) {
    for (int64_t first = 0; first < rows.count; first += kRowsAtOnce) {
      const T* x[kRowsAtOnce];
      for (int64_t k = 0; k < kRowsAtOnce; ++k)
        x[k] = data.data + rows[first + k < rows.count ? first + k : rows.count - 1] * features_;
      V* out = values_ + first * features_;
      for (int64_t f = 0; f < features_; ++f)
        for (int k = 0; k < kRowsAtOnce; ++k) out[f * kRowsAtOnce + k] = V(x[k][f]);
      if (with_squares) add_squares(out, squares_ + first);
    }
  }

 private:
  static int64_t most_rows(int64_t features) {
    const int64_t fit = kCopied / int64_t(sizeof(V)) / (features > 0 ? features : 1) / kRowsAtOnce * kRowsAtOnce;
    return fit < kRowsAtOnce ? kRowsAtOnce : fit > kMostRows ? kMostRows : fit;
  }
  // |x|^2 of the rows of a tile, as they were converted, summed in double
  void add_squares(const V* x, V* squares) const {
    double totals[kRowsAtOnce] = {};
    for (int64_t f = 0; f < features_; ++f, x += kRowsAtOnce)
      for (int k = 0; k < kRowsAtOnce; ++k) totals[k] += double(x[k]) * double(x[k]);
    for (int k = 0; k < kRowsAtOnce; ++k) squares[k] = V(totals[k]);
  }

  int64_t features_, most_;
  V* values_;
  V squares_[kMostRows];
};

// Sums of a panel of features: x is interleaved by rows, z by columns.
template <Reduction R, class V>
SWAPSVM_ALWAYS_INLINE Tile<V> reduced_panel(const V* x, const V* z, int64_t features) {
  Tile<V> total = {};
  for (int64_t f = 0; f < features; ++f, x += kRowsAtOnce, z += kStripWidth<V>) {
    Vec<V> strip[kStripVectors];
#pragma GCC unroll 4
    for (int s = 0; s < kStripVectors; ++s) strip[s] = load<V>(z + s * kLanes<V>);
    for_each_vector([&](int k, int s) { total.at[k][s] = add_pair<R, V>(total.at[k][s], splat<V>(x[k]), strip[s]); });
  }
  return total;
}

// One strip of a block, and the sums of its earlier panels for the rows of a copy.
template <class V>
struct DenseStrip {
  const V* values;
  const V* squares;
  int64_t features;
  V sums[kMostRows * kStripWidth<V>];

  int64_t last_panel() const { return features > 0 ? (features - 1) / kPanel * kPanel : 0; }

  template <Reduction R>
  SWAPSVM_NOT_INLINE void add_panel(const CopiedRows<V>& x, int64_t rows, int64_t f) {
    for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
      Tile<V> total = reduced_panel<R, V>(x.tile(first) + f * kRowsAtOnce, values + f * kStripWidth<V>, kPanel);
      if (f > 0) add_earlier(first, total);
      store_tile<V>(total, sums + first * kStripWidth<V>);
    }
  }
  SWAPSVM_ALWAYS_INLINE void add_earlier(int64_t first, Tile<V>& total) const {
    const V* earlier = sums + first * kStripWidth<V>;
    for_each_vector([&](int k, int s) { total.at[k][s] += load<V>(earlier + k * kStripWidth<V> + s * kLanes<V>); });
  }
  // |x - z|^2 = |x|^2 + |z|^2 - 2 x'z, which rounding can leave below zero
  SWAPSVM_ALWAYS_INLINE void to_distances(const V* row_squares, Tile<V>& products) const {
    for_each_vector([&](int k, int s) {
      const Vec<V> both = splat<V>(row_squares[k]) + load<V>(squares + s * kLanes<V>);
      products.at[k][s] = not_negative<V>(both - V(2) * products.at[k][s]);
    });
  }
};

// `Expanded`: squared distances by inner products.
template <Reduction R, bool Expanded, class V, class Consumer>
void dense_strip_tiles(DenseStrip<V>& strip, const CopiedRows<V>& x, int64_t rows, const TileMap<V>& map, int64_t begin,
                       Consumer& consumer) {
  constexpr Reduction summed = Expanded ? Reduction::dot : R;
  const int64_t last = strip.last_panel();
  for (int64_t f = 0; f < last; f += kPanel) strip.template add_panel<summed>(x, rows, f);
  for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
    Tile<V> tile = reduced_panel<summed, V>(x.tile(first) + last * kRowsAtOnce, strip.values + last * kStripWidth<V>,
                                            strip.features - last);
    if (last > 0) strip.add_earlier(first, tile);
    if constexpr (Expanded) strip.to_distances(x.squares(first), tile);
    map.template apply<R>(tile);
    consumer.take(tile, begin + first, int(rows - first < kRowsAtOnce ? rows - first : kRowsAtOnce));
  }
}

template <Reduction R, bool Expanded, class T, class V, class Consumer>
void dense_tiles(const Rows<T>& data, const KernelSpec& kernel, const Packed<V>& block, Selection rows,
                 Consumer& consumer) {
  const TileMap<V> map(kernel);
  CopiedRows<V> x(block.features);
  for (int64_t first = 0; first < rows.count; first += x.most()) {
    const int64_t count = rows.count - first < x.most() ? rows.count - first : x.most();
    x.copy(data, rows.part(first, count), Expanded);
    for (int64_t column = 0; column < block.count; column += kStripWidth<V>) {
      DenseStrip<V> strip;
      strip.values = block.strips + column * block.features, strip.squares = block.offsets + column;
      strip.features = block.features;
      consumer.begin(column);
      dense_strip_tiles<R, Expanded, V>(strip, x, count, map, first, consumer);
      consumer.end(column);
    }
  }
}

// ---- sparse rows

constexpr int64_t kSparseRows = 48;                       // whose sums are kept, in the first-level cache
constexpr int kSparseStrips = kStripVectors < 4 ? 2 : 1;  // side by side: four vectors share the reading of an entry

// Sums of a row for neighbouring strips, which are `stride` numbers apart, at out[t * kSparseRows * width]. Features
// without a place in the block (see Packed) are 0 there.
// |x - z|^2 = |z|^2 + sum_{f in x} x_f (x_f - 2 z_f);  |x - z|_1 = |z|_1 + sum_{f in x} (|x_f - z_f| - |z_f|)
template <int Strips, bool Wide, Reduction R, class T, class V>
SWAPSVM_ALWAYS_INLINE void sparse_row(const Rows<T>& data, int64_t row, const V* strips, const Index* slots,
                                      int64_t stride, const V* offsets, V* out) {
  constexpr int vectors = Strips * kStripVectors, width = kStripWidth<V>;
  const auto place = [](int v, int64_t strip) { return v / kStripVectors * strip + v % kStripVectors * kLanes<V>; };
  Vec<V> total[vectors];
  V own = 0;  // what does not depend on z: sum of x_f^2
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) total[v] = load<V>(offsets + v * kLanes<V>);
  for (int64_t p = data.indptr[row]; p < data.indptr[row + 1]; ++p) {
    const V x = V(data.data[p]);
    if constexpr (R == Reduction::squared) own += x * x;
    const int64_t f = Wide ? slots[data.indices[p]] : data.indices[p];
    if (Wide && f < 0) {
      if constexpr (R == Reduction::absolute)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) total[v] += absolute<V>(splat<V>(x));
      continue;
    }
    const V* zf = strips + f * width;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const Vec<V> z = load<V>(zf + place(v, stride));
      if constexpr (R == Reduction::dot) total[v] += splat<V>(x) * z;
      if constexpr (R == Reduction::squared) total[v] -= splat<V>(2 * x) * z;
      if constexpr (R == Reduction::absolute) total[v] += absolute<V>(splat<V>(x) - z) - absolute<V>(z);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    total[v] += own;
    if constexpr (R != Reduction::dot) total[v] = not_negative<V>(total[v]);
    store<V>(out + place(v, kSparseRows * width), total[v]);
  }
}

// Past the last row of the last tile the last row again, whose values nobody takes.
template <int Strips, bool Wide, Reduction R, class T, class V>
SWAPSVM_NOT_INLINE void sparse_sums(const Rows<T>& data, const Packed<V>& block, int64_t column, Selection rows,
                                    V* out) {
  const int64_t tiles = (rows.count + kRowsAtOnce - 1) / kRowsAtOnce;
  for (int64_t r = 0; r < tiles * kRowsAtOnce; ++r)
    sparse_row<Strips, Wide, R, T, V>(
        data, rows[r < rows.count ? r : rows.count - 1], block.strips + column * block.features, block.slots,
        block.features * kStripWidth<V>, block.offsets + column, out + r * kStripWidth<V>);
}

// The same for one strip, or for neighbouring ones.
template <Reduction R, class T, class V>
void sparse_sums(const Rows<T>& data, const Packed<V>& block, int64_t column, Selection rows, int strips, V* out) {
  const auto narrow = strips > 1 ? sparse_sums<kSparseStrips, false, R, T, V> : sparse_sums<1, false, R, T, V>;
  const auto wide = strips > 1 ? sparse_sums<kSparseStrips, true, R, T, V> : sparse_sums<1, true, R, T, V>;
  (block.slots ? wide : narrow)(data, block, column, rows, out);
}

template <Reduction R, class V, class Consumer>
void take_sums(const V* sums, const TileMap<V>& map, int64_t begin, int64_t rows, Consumer& consumer) {
  for (int64_t r = 0; r < rows; r += kRowsAtOnce) {
    Tile<V> tile = load_tile<V>(sums + r * kStripWidth<V>);
    map.template apply<R>(tile);
    consumer.take(tile, begin + r, int(rows - r < kRowsAtOnce ? rows - r : kRowsAtOnce));
  }
}

template <Reduction R, class T, class V, class Consumer>
void sparse_tiles(const Rows<T>& data, const KernelSpec& kernel, const Packed<V>& block, Selection rows,
                  Consumer& consumer) {
  constexpr int64_t width = kStripWidth<V>;
  constexpr Reduction mapped = R == Reduction::dot ? R : Reduction::squared;  // distances have one map
  const TileMap<V> map(kernel);
  V sums[kSparseStrips * kSparseRows * width];
  for (int64_t column = 0; column < block.count; column += kSparseStrips * width)
    for (int64_t first = 0; first < rows.count; first += kSparseRows) {
      const Selection some = rows.part(first, rows.count - first < kSparseRows ? rows.count - first : kSparseRows);
      const bool all = column + (kSparseStrips - 1) * width < block.count;
      sparse_sums<R, T, V>(data, block, column, some, all ? kSparseStrips : 1, sums);
      for (int t = 0; t < (all ? kSparseStrips : 1); ++t) {
        consumer.begin(column + t * width);
        take_sums<mapped, V>(sums + t * kSparseRows * width, map, first, some.count, consumer);
        consumer.end(column + t * width);
      }
    }
}

// ---- any rows

template <Reduction R, class T, class V, class Consumer>
void reduced_tiles(const Rows<T>& data, const KernelSpec& kernel, const Packed<V>& block, Selection rows,
                   Consumer& consumer) {
  if (data.sparse()) return sparse_tiles<R>(data, kernel, block, rows, consumer);
  if constexpr (R == Reduction::squared)
    if (!block.differences) return dense_tiles<R, true>(data, kernel, block, rows, consumer);
  dense_tiles<R, false>(data, kernel, block, rows, consumer);
}

// Strip by strip, all rows: consumer.begin(column), consumer.take(tile, first row, rows) for each tile, and
// consumer.end(column). Consumers may see a strip several times, with other rows.
template <class T, class V, class Consumer>
void for_each_tile(const Rows<T>& data, const KernelSpec& kernel, const Packed<V>& block, Selection rows,
                   Consumer& consumer) {
  switch (kernel.reduction()) {
    case Reduction::dot: return reduced_tiles<Reduction::dot>(data, kernel, block, rows, consumer);
    case Reduction::squared: return reduced_tiles<Reduction::squared>(data, kernel, block, rows, consumer);
    case Reduction::absolute: return reduced_tiles<Reduction::absolute>(data, kernel, block, rows, consumer);
  }
}

}  // namespace
}  // namespace swapsvm::SWAPSVM_ISA
