// Where kernel values come from: features and a kernel, a matrix, or a function.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "aligned.hpp"
#include "hot.hpp"
#include "threads.hpp"

namespace swapsvm {

inline constexpr int64_t kRowChunk = 1024;        // rows of one parallel piece of work
inline constexpr int64_t kPackedBytes = 4 << 20;  // of a packed block

inline Selection all_rows(int64_t count) {
  return {nullptr, 0, count};
}

// A line to be filled: k(x_row, others) for some row.
template <class V>
struct LineRequest {
  Selection others;
  V* out;
};

// Plain kernel values k(x_r, x_c) of one data set: no labels, no bias, no ridge. V is float or double.
template <class V>
class Source {
 public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;
  virtual double diagonal(int64_t row) const = 0;
  virtual double work() const = 0;  // operations per value, roughly
  virtual void line(int64_t row, Selection others, V* out, const Team& team) const = 0;
  // Several lines of one row; a source may fill them in one pass over the data.
  virtual void lines(int64_t row, const std::vector<LineRequest<V>>& requests, const Team& team) const {
    for (const auto& request : requests) line(row, request.others, request.out, team);
  }
  virtual void block(Selection rows, Selection columns, V* out, const Team& team) const = 0;
  // out[r] = sum_c coef[c] k(x_r, x_c), kernel values in V
  virtual void product(Selection rows, Selection columns, const double* coef, double* out, const Team& team) const = 0;
  // the same with kernel values in double: what certificates are made of
  virtual void exact_product(Selection rows, Selection columns, const double* coef, double* out,
                             const Team& team) const = 0;
  // bound[r] >= |computed - true| of the product of row r, or of the exact one; infinite where nothing is known
  virtual void rounding(Selection rows, Selection columns, const double* coef, bool exact, double* bound,
                        const Team& team) const = 0;
};

// Sums of given values: n u times the sum of their absolute values, each at most `largest`.
inline double rounding_of_sum(Selection columns, const double* coef, double largest) {
  double total = 0;
  for (int64_t c = 0; c < columns.count; ++c) total += std::abs(coef[c]);
  return 1.1 * double(columns.count + 4) * std::numeric_limits<double>::epsilon() / 2 * largest * total;
}

// out += sum_k coef[k] row(k), two rows at a time: the sums are read and written half as often.
template <class V, class Row>
void add_scaled(int64_t rows, Row row, const double* coef, double* out, int64_t length) {
  for (int64_t k = 0; k < rows; k += 2) {
    const bool two = k + 1 < rows;
    hot_updates<V>().update({1.0, coef[k], two ? -coef[k + 1] : 0.0, 0.0, row(k), row(two ? k + 1 : k)}, out, length);
  }
}

// ---- packing ------------------------------------------------------------------------------------------------

template <class V>
V zeros_part(Reduction reduction, V x) {
  return reduction == Reduction::squared ? x * x : reduction == Reduction::absolute ? std::abs(x) : V(0);
}

template <class T, class Visit>
void for_each_entry(const Rows<T>& data, int64_t row, Visit visit) {
  if (data.sparse()) {
    for (int64_t p = data.indptr[row]; p < data.indptr[row + 1]; ++p) visit(data.indices[p], data.data[p]);
  } else {
    const T* x = data.data + row * data.features;
    for (int64_t f = 0; f < data.features; ++f) visit(f, x[f]);
  }
}

// A block of rows transposed into strips (see Packed), with the coefficients it is to be multiplied by.
template <class V>
class PackedBlock {
 public:
  template <class T>
  PackedBlock(const Rows<T>& data, Reduction reduction, Selection rows, const double* coef, int width)
      : features_(data.features), count_(rows.count) {
    const int64_t padded = (rows.count + width - 1) / width * width;
    strips_ = aligned_array<V>(padded * data.features);
    std::fill_n(strips_.get(), padded * data.features, V(0));
    offsets_.assign(padded, V(0));
    coef_.assign(padded, V(0));
    for (int64_t b = 0; b < rows.count; ++b) {
      V* column = strips_.get() + (b / width) * data.features * width + b % width;
      for_each_entry(data, rows[b], [&](int64_t f, T value) {
        column[f * width] = V(value);
        offsets_[b] += zeros_part(reduction, V(value));
      });
      if (coef) coef_[b] = V(coef[b]);
    }
  }
  Packed<V> view() const { return {strips_.get(), offsets_.data(), coef_.data(), count_, features_}; }

 private:
  AlignedArray<V> strips_;
  std::vector<V> offsets_, coef_;
  int64_t features_, count_;
};

template <class V>
int64_t packed_rows(int64_t features, int width) {
  const int64_t fit = kPackedBytes / int64_t(sizeof(V)) / (features > 0 ? features : 1) / width * width;
  return fit < width ? width : fit > 1024 ? 1024 : fit;
}

// Calls body(first, packed block) for consecutive pieces of `columns` that stay in cache.
template <class V, class T, class Body>
void for_each_packed(const Rows<T>& data, const KernelSpec& kernel, Selection columns, const double* coef, int width,
                     Body body) {
  const int64_t step = packed_rows<V>(data.features, width);
  for (int64_t first = 0; first < columns.count; first += step) {
    const int64_t count = columns.count - first < step ? columns.count - first : step;
    const PackedBlock<V> block(data, kernel.reduction(), columns.part(first, count), coef ? coef + first : nullptr,
                               width);
    body(first, block.view());
  }
}

// Calls body(first, data, rows) for consecutive pieces of rows, in parallel. A sparse piece can be `spread` out first:
// distances are then summed from differences, which costs all columns but no digits.
template <class T, class Body>
void for_each_piece(const Rows<T>& data, Selection rows, bool spread, int64_t chunk, const Team& team,
                    const Body& body) {
  constexpr int64_t kSpreadNumbers = 1 << 19;
  if (spread) chunk = std::max<int64_t>(4, std::min(chunk, kSpreadNumbers / std::max<int64_t>(data.features, 1)));
  parallel_chunks(rows.count, chunk, team, [&](int64_t begin, int64_t count) {
    if (!spread) return body(begin, data, rows.part(begin, count));
    std::vector<T> values(size_t(count * data.features), T(0));
    for (int64_t r = 0; r < count; ++r)
      for_each_entry(data, rows[begin + r], [&](int64_t f, T x) { values[size_t(r * data.features + f)] = x; });
    body(begin, Rows<T>{values.data(), nullptr, nullptr, count, data.features}, all_rows(count));
  });
}

// out[r] = sum_c coef[c] k(left_r, right_c): the fused product of prediction, sampling and certificates.
template <class T, class V>
void fused_product(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                   const KernelSpec& kernel, const double* coef, double* out, const Team& team, bool spread = false) {
  const auto& hot = hot_kernels<T, V>();
  for (int64_t r = 0; r < rows.count; ++r) out[r] = 0;
  for_each_packed<V>(right, kernel, columns, coef, hot.strip_width, [&](int64_t, Packed<V> block) {
    for_each_piece(left, rows, spread, kRowChunk / 4, team, [&](int64_t begin, const Rows<T>& data, Selection some) {
      hot.product(data, kernel, block, some, out + begin);
    });
  });
}

// out[r * columns.count + c] = k(left_r, right_c)
template <class T, class V>
void kernel_block(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                  const KernelSpec& kernel, V* out, const Team& team, bool spread = false) {
  const auto& hot = hot_kernels<T, V>();
  for_each_packed<V>(right, kernel, columns, nullptr, hot.strip_width, [&](int64_t first, Packed<V> block) {
    for_each_piece(left, rows, spread, kRowChunk / 4, team, [&](int64_t begin, const Rows<T>& data, Selection some) {
      hot.block(data, kernel, block, some, out + begin * columns.count + first, columns.count);
    });
  });
}

// The same for several vectors of coefficients, coefs[c * outputs + o]; out[r * outputs + o].
template <class T, class V>
void fused_products(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const double* coefs,
                    int64_t outputs, double* out, const Team& team, bool spread = false) {
  const auto& hot = hot_kernels<T, V>();
  const int64_t padded = (outputs + hot.lanes - 1) / hot.lanes * hot.lanes;
  std::fill_n(out, left.size * outputs, 0.0);
  for_each_packed<V>(right, kernel, all_rows(right.size), nullptr, hot.strip_width,
                     [&](int64_t first, Packed<V> block) {
                       const int64_t strips = (block.count + hot.strip_width - 1) / hot.strip_width;
                       const AlignedArray<V> some = aligned_array<V>(strips * hot.strip_width * padded);
                       std::fill_n(some.get(), strips * hot.strip_width * padded, V(0));
                       for (int64_t b = 0; b < block.count; ++b)
                         for (int64_t o = 0; o < outputs; ++o)
                           some[b * padded + o] = V(coefs[(first + b) * outputs + o]);
                       for_each_piece(left, all_rows(left.size), spread, kRowChunk / 4, team,
                                      [&](int64_t begin, const Rows<T>& data, Selection piece) {
                                        std::vector<double> sums(size_t(piece.count * padded), 0.0);
                                        hot.products(data, kernel, block, some.get(), padded, piece, sums.data());
                                        for (int64_t r = 0; r < piece.count; ++r)
                                          for (int64_t o = 0; o < outputs; ++o)
                                            out[(begin + r) * outputs + o] += sums[r * padded + o];
                                      });
                     });
}

// ---- rounding -----------------------------------------------------------------------------------------------

struct Norm {
  double square = 0, absolute = 0;  // |x|^2, |x|_1
  int64_t entries = 0;
};

template <class T>
Norm norm(const Rows<T>& data, int64_t row) {
  Norm n;
  for_each_entry(data, row, [&](int64_t, T x) {
    n.square += double(x) * double(x), n.absolute += std::abs(double(x)), ++n.entries;
  });
  return n;
}

// What bounds on a sum over columns need to know of them, each weighed by its |coef|.
struct ColumnNorms {
  double total = 0, length = 0, square = 0, absolute = 0, power = 0;  // sums of 1, |z|, |z|^2, |z|_1, |z|^degree
  double largest = 0;                                                 // |z|^2
  int64_t longest = 0, count = 0;

  template <class T>
  ColumnNorms(const Rows<T>& data, Selection columns, const double* coef, int degree) : count(columns.count) {
    for (int64_t c = 0; c < columns.count; ++c) {
      const Norm z = norm(data, columns[c]);
      const double weight = std::abs(coef[c]), size = std::sqrt(z.square);
      total += weight, length += weight * size, square += weight * z.square, absolute += weight * z.absolute;
      power += weight * std::pow(size, degree);
      largest = std::max(largest, z.square), longest = std::max(longest, z.entries);
    }
  }
};

// Bounds on |computed - true| of fused_product in arithmetic of unit u = eps / 2, by first-order analysis with a tenth
// added for what is left out. They add up
//
//   the reduction    n u times the sum of the absolute terms: of d^2 from differences that is d^2 itself, of
//                    |x|^2 + |z|^2 - 2 x'z (sparse rows) it is (|x| + |z|)^2, of x'z it is |x| |z|
//   the map          a few u, and what it makes of the error of the reduction: with s = gamma d^2,
//                    s exp(-s) <= 0.37 and sqrt(s) exp(-s) <= 0.43; |tanh'| <= 1; d t^(d-1) for powers
//   the conversion   of the data to V, if V has fewer digits: u |x_f| for each number
//   the sum          over a strip in V, over strips in double
//
// and are infinite where numbers can leave the range of V.
template <class T, class V>
class ProductRounding {
 public:
  ProductRounding(const Rows<T>& left, const Rows<T>& right, Selection columns, const KernelSpec& kernel,
                  const double* coef, bool differences, bool exact)
      : left_(left),
        kernel_(kernel),
        z_(right, columns, coef, kernel.degree),
        differences_(differences),
        exact_(exact) {}

  double of(int64_t row) const {
    const Norm x = norm(left_, row);
    if (!in_range(x)) return std::numeric_limits<double>::infinity();
    const double terms = double((differences_ ? std::max(z_.longest, x.entries) : z_.longest + x.entries) + 8);
    const double bound = kSafety * (kUnit * of_values(x, terms) + of_sum(largest_sum(x)) + underflow(x, terms));
    return std::isfinite(bound) ? bound : std::numeric_limits<double>::infinity();
  }

 private:
  static constexpr double kUnit = double(std::numeric_limits<V>::epsilon()) / 2, kSafety = 1.1;
  static constexpr double kSmallest = double(std::numeric_limits<V>::min());
  static constexpr double kLargest = double(std::numeric_limits<V>::max()) / 30;
  static constexpr double kConverted = sizeof(V) < sizeof(T) ? 1.0 : 0.0;
  static constexpr double kMap = 8;  // units that exp and its like are off by

  bool in_range(const Norm& x) const {
    const double gamma = kernel_.gamma, square = std::max(z_.largest, x.square);
    if (!(square < kLargest / 4 && gamma < kLargest)) return false;
    if (kernel_.kind == KernelKind::linear) return true;
    return gamma > 1 / kLargest && (kernel_.kind != KernelKind::poly || largest_power(x) < kLargest);
  }

  // Sum of |coef| times what the values are off by, in units.
  double of_values(const Norm& x, double terms) const {
    const double length = std::sqrt(x.square), gamma = kernel_.gamma;
    switch (kernel_.kind) {
      case KernelKind::rbf:
        if (!differences_) return gamma * terms * (z_.total * x.square + 2 * length * z_.length + z_.square) + map();
        return 0.37 * terms * z_.total + kConverted * 0.86 * std::sqrt(gamma) * (z_.total * length + z_.length) + map();
      case KernelKind::laplacian: {
        const double sizes = gamma * (z_.total * x.absolute + z_.absolute);
        return differences_ ? 0.37 * terms * z_.total + kConverted * sizes + map() : 3 * terms * sizes + map();
      }
      case KernelKind::sigmoid:
        return terms * (gamma * length * z_.length + std::abs(kernel_.coef0) * z_.total) + map();
      case KernelKind::poly: return kernel_.degree * (terms + kMap) * largest_sum(x);
      default: return terms * largest_sum(x);
    }
  }
  double map() const { return kMap * z_.total; }

  // A bound on the sum of |coef k|: |k| <= 1, or by Cauchy and Schwarz. Of a power the better of two bounds.
  double largest_sum(const Norm& x) const {
    const double length = std::sqrt(x.square), degree = kernel_.degree, offset = std::abs(kernel_.coef0);
    if (kernel_.kind == KernelKind::linear) return length * z_.length;
    if (kernel_.kind != KernelKind::poly) return z_.total;
    const double largest = largest_power(x);
    const double split = std::pow(kernel_.gamma * length, degree) * z_.power + std::pow(offset, degree) * z_.total;
    return std::min(z_.total * largest, offset > 0 ? std::pow(2.0, degree - 1) * split : split);
  }

  double largest_power(const Norm& x) const {
    return std::pow(kernel_.gamma * std::sqrt(x.square * z_.largest) + std::abs(kernel_.coef0), kernel_.degree);
  }

  double of_sum(double sum) const {
    constexpr double kStrip = 16, kDouble = std::numeric_limits<double>::epsilon() / 2;
    const double strips = double(z_.count) / hot_kernels<T, V>().strip_width + 2;
    const double additions = exact_ ? strips : double(z_.count);  // of strips, or of kept lines one by one
    return (kUnit * kStrip + kDouble * additions) * sum;
  }

  // Values below the smallest number of V are off by about that number, times the slope of the map.
  double underflow(const Norm& x, double terms) const {
    const double largest = kernel_.gamma * std::sqrt(x.square * z_.largest) + std::abs(kernel_.coef0);
    const double slope =
        kernel_.kind == KernelKind::poly ? kernel_.degree * std::pow(largest, kernel_.degree - 1) : 1.0;
    return z_.total * kSmallest * (2 + terms * std::max(1.0, kernel_.gamma) * std::max(1.0, slope));
  }

  const Rows<T>& left_;
  const KernelSpec& kernel_;
  const ColumnNorms z_;
  const bool differences_, exact_;
};

template <class T, class V>
void rounding_of_product(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                         const KernelSpec& kernel, const double* coef, bool differences, bool exact, double* bound,
                         const Team& team) {
  const ProductRounding<T, V> rounding(left, right, columns, kernel, coef, differences, exact);
  parallel_chunks(rows.count, kRowChunk, team, [&](int64_t begin, int64_t count) {
    for (int64_t r = begin; r < begin + count; ++r) bound[r] = rounding.of(rows[r]);
  });
}

// How much distances of sparse rows, as |x|^2 + |z|^2 - 2 x'z, can change a kernel value, in units of the arithmetic:
// much for rows that are far from the origin and close to each other.
template <class T>
double units_lost(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel) {
  if (!left.sparse() || kernel.reduction() == Reduction::dot) return 0;
  double square = 0, absolute = 0, entries = 8;
  for (const Rows<T>* rows : {&left, &right})
    for (int64_t r = 0; r < rows->size; ++r) {
      const Norm x = norm(*rows, r);
      square = std::max(square, x.square), absolute = std::max(absolute, x.absolute);
      entries = std::max(entries, double(x.entries));
    }
  return kernel.gamma * 2 * entries * (kernel.reduction() == Reduction::squared ? 4 * square : 6 * absolute);
}

// Whether products of these rows, and what a kernel makes of them, stay within the range of float.
template <class T>
bool fits_float(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel) {
  if (kernel.reduction() != Reduction::dot) return true;
  constexpr double kLargest = 1e37;
  double product = 1;
  for (const Rows<T>* rows : {&left, &right}) {
    double square = 0;
    for (int64_t r = 0; r < rows->size; ++r) square = std::max(square, norm(*rows, r).square);
    product *= std::sqrt(square);
  }
  const double base = kernel.kind == KernelKind::linear ? product : kernel.gamma * product + std::abs(kernel.coef0);
  return product < kLargest && (kernel.kind == KernelKind::poly ? std::pow(base, kernel.degree) : base) < kLargest;
}

// Whether that is too much: in double, where rows are then spread out, and in float, which is then not used.
inline bool needs_differences(double units) {
  constexpr double kTolerable = 1e-9;
  return !(units * std::numeric_limits<double>::epsilon() / 2 < kTolerable);
}
inline bool needs_double(double units) {
  constexpr double kTolerable = 0.01;  // of a bound that is some ten times what happens
  return !(units * double(std::numeric_limits<float>::epsilon()) / 2 < kTolerable);
}

// ---- features and a kernel ----------------------------------------------------------------------------------

template <class T, class V>
class FeatureSource final : public Source<V> {
 public:
  FeatureSource(Rows<T> data, KernelSpec kernel)
      : data_(data), kernel_(kernel), spread_(needs_differences(units_lost(data, data, kernel))) {}

  int64_t size() const override { return data_.size; }
  double work() const override {
    constexpr double kMap = 8;  // what exp and its like cost
    return kMap +
           (data_.sparse() ? 2.0 * double(data_.indptr[data_.size]) / double(data_.size + 1) : double(data_.features));
  }

  double diagonal(int64_t row) const override {
    if (kernel_.reduction() != Reduction::dot) return 1.0;
    double square = 0;
    for_each_entry(data_, row, [&](int64_t, T x) { square += double(x) * double(x); });
    const double u = kernel_.gamma * square + kernel_.coef0;
    switch (kernel_.kind) {
      case KernelKind::poly: return std::pow(u, kernel_.degree);
      case KernelKind::sigmoid: return std::tanh(u);
      default: return square;
    }
  }

  void line(int64_t row, Selection others, V* out, const Team& team) const override {
    const SpreadRow z(data_, kernel_.reduction(), row);
    const auto& hot = hot_kernels<T, V>();
    for_each_piece(data_, others, spreads(), kRowChunk, team, [&](int64_t begin, const Rows<T>& data, Selection some) {
      hot.line(data, kernel_, z.query(), some, out + begin);
    });
  }

  // Groups lie interleaved in the data. Range by range, all of them are served while the range is in cache.
  void lines(int64_t row, const std::vector<LineRequest<V>>& requests, const Team& team) const override {
    if (spreads()) return Source<V>::lines(row, requests, team);
    const SpreadRow z(data_, kernel_.reduction(), row);
    const auto& hot = hot_kernels<T, V>();
    parallel_chunks(data_.size, kRowChunk, team, [&](int64_t begin, int64_t count) {
      for (const auto& [others, out] : requests) {
        const int64_t from = first_at_least(others, begin), to = first_at_least(others, begin + count);
        if (from < to) hot.line(data_, kernel_, z.query(), others.part(from, to - from), out + from);
      }
    });
  }

  void block(Selection rows, Selection columns, V* out, const Team& team) const override {
    kernel_block<T, V>(data_, rows, data_, columns, kernel_, out, team, spreads());
  }

  void product(Selection rows, Selection columns, const double* coef, double* out, const Team& team) const override {
    fused_product<T, V>(data_, rows, data_, columns, kernel_, coef, out, team, spreads());
  }

  void exact_product(Selection rows, Selection columns, const double* coef, double* out,
                     const Team& team) const override {
    fused_product<T, double>(data_, rows, data_, columns, kernel_, coef, out, team, spread_);
  }

  void rounding(Selection rows, Selection columns, const double* coef, bool exact, double* bound,
                const Team& team) const override {
    const bool spread = exact ? spread_ : spreads(), differences = spread || !data_.sparse();
    const auto bounds = exact ? rounding_of_product<T, double> : rounding_of_product<T, V>;
    bounds(data_, rows, data_, columns, kernel_, coef, differences, exact, bound, team);
  }

 private:
  class SpreadRow {
   public:
    SpreadRow(const Rows<T>& data, Reduction reduction, int64_t row)
        : dense_((data.features + kAlign - 1) / kAlign * kAlign, V(0)) {
      for_each_entry(data, row, [&](int64_t f, T value) {
        dense_[f] = V(value);
        offset_ += zeros_part(reduction, V(value));
      });
    }
    Query<V> query() const { return {dense_.data(), offset_}; }

   private:
    std::vector<V> dense_;
    V offset_ = 0;
  };

  // Place in an ascending selection of the first row that is not before `row`.
  static int64_t first_at_least(Selection rows, int64_t row) {
    if (rows.listed) return std::lower_bound(rows.listed, rows.listed + rows.count, Index(row)) - rows.listed;
    return std::min(std::max<int64_t>(row - rows.first, 0), rows.count);
  }

  // Single precision is for speed: there rows are never spread out.
  bool spreads() const { return spread_ && sizeof(V) == sizeof(double); }

  Rows<T> data_;
  KernelSpec kernel_;
  bool spread_;  // whether distances come from differences of rows that are spread out
};

// ---- a matrix -----------------------------------------------------------------------------------------------

template <class V>
class MatrixSource final : public Source<V> {
 public:
  MatrixSource(const V* values, int64_t size) : values_(values), size_(size) {}

  int64_t size() const override { return size_; }
  double work() const override { return 4; }
  double diagonal(int64_t row) const override { return double(values_[row * size_ + row]); }

  void line(int64_t row, Selection others, V* out, const Team&) const override {
    const V* values = values_ + row * size_;
    for (int64_t k = 0; k < others.count; ++k) out[k] = values[others[k]];
  }

  void block(Selection rows, Selection columns, V* out, const Team& team) const override {
    parallel_chunks(rows.count, 64, team, [&](int64_t begin, int64_t count) {
      for (int64_t r = begin; r < begin + count; ++r) line(rows[r], columns, out + r * columns.count, {});
    });
  }

  void product(Selection rows, Selection columns, const double* coef, double* out, const Team& team) const override {
    if (!rows.listed) return product_by_rows(rows, columns, coef, out, team);
    parallel_chunks(rows.count, 64, team, [&](int64_t begin, int64_t count) {
      for (int64_t r = begin; r < begin + count; ++r) {
        const V* values = values_ + rows[r] * size_;
        double total = 0;
        for (int64_t c = 0; c < columns.count; ++c) total += coef[c] * double(values[columns[c]]);
        out[r] = total;
      }
    });
  }

  void exact_product(Selection rows, Selection columns, const double* coef, double* out,
                     const Team& team) const override {
    product(rows, columns, coef, out, team);
  }

  void rounding(Selection rows, Selection columns, const double* coef, bool, double* bound,
                const Team& team) const override {
    std::vector<double> largest(size_t(rows.count));
    parallel_chunks(rows.count, 64, team, [&](int64_t begin, int64_t count) {
      for (int64_t r = begin; r < begin + count; ++r)
        for (int64_t c = 0; c < columns.count; ++c)
          largest[r] = std::max(largest[r], std::abs(double(values_[rows[r] * size_ + columns[c]])));
    });
    const double one = rounding_of_sum(columns, coef, 1.0);
    for (int64_t r = 0; r < rows.count; ++r) bound[r] = one * largest[r];
  }

 private:
  // The matrix is symmetric: its rows, which lie in one piece, stand for its columns.
  void product_by_rows(Selection rows, Selection columns, const double* coef, double* out, const Team& team) const {
    parallel_chunks(rows.count, 2 * kRowChunk, team, [&](int64_t begin, int64_t count) {
      std::fill_n(out + begin, count, 0.0);
      const V* first = values_ + rows.first + begin;
      add_scaled<V>(columns.count, [&](int64_t c) { return first + columns[c] * size_; }, coef, out + begin, count);
    });
  }

  const V* values_;
  int64_t size_;
};

// ---- a function of two lists of rows --------------------------------------------------------------------------

template <class V>
class FunctionSource final : public Source<V> {
 public:
  // fills out[r * columns + c] = k(x_rows[r], x_columns[c])
  using Function = std::function<void(Selection rows, Selection columns, V* out)>;

  FunctionSource(Function function, std::vector<double> diagonal)
      : function_(std::move(function)), diagonal_(std::move(diagonal)) {}

  int64_t size() const override { return int64_t(diagonal_.size()); }
  double work() const override { return 1e6; }  // worth keeping; threads are the function's own affair
  double diagonal(int64_t row) const override { return diagonal_[row]; }

  void line(int64_t row, Selection others, V* out, const Team&) const override {
    function_({nullptr, row, 1}, others, out);
  }

  void block(Selection rows, Selection columns, V* out, const Team&) const override { function_(rows, columns, out); }

  void product(Selection rows, Selection columns, const double* coef, double* out, const Team& team) const override {
    constexpr int64_t kValues = 1 << 20;  // bounds the block that a call of the function returns
    const int64_t step = columns.count > 0 && kValues / columns.count > 1 ? kValues / columns.count : 1;
    std::vector<V> values;
    for (int64_t first = 0; first < rows.count; first += step) {
      const int64_t count = rows.count - first < step ? rows.count - first : step;
      if (team.token) team.token->check();
      values.resize(count * columns.count);
      function_(rows.part(first, count), columns, values.data());
      for (int64_t r = 0; r < count; ++r) {
        double total = 0;
        for (int64_t c = 0; c < columns.count; ++c) total += coef[c] * double(values[r * columns.count + c]);
        out[first + r] = total;
      }
    }
  }

  void exact_product(Selection rows, Selection columns, const double* coef, double* out,
                     const Team& team) const override {
    product(rows, columns, coef, out, team);
  }

  // The values of the function are the problem; |k(x, z)| <= max k(x, x).
  void rounding(Selection rows, Selection columns, const double* coef, bool, double* bound,
                const Team&) const override {
    double largest = 0;
    for (const double d : diagonal_) largest = std::max(largest, std::abs(d));
    std::fill_n(bound, rows.count, rounding_of_sum(columns, coef, largest));
  }

 private:
  Function function_;
  std::vector<double> diagonal_;
};

}  // namespace swapsvm
