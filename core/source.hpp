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
#include "parallel.hpp"

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
  virtual void line(int64_t row, Selection others, V* out, int threads) const = 0;
  // Several lines of one row; a source may fill them in one pass over the data.
  virtual void lines(int64_t row, const std::vector<LineRequest<V>>& requests, int threads) const {
    for (const auto& request : requests) line(row, request.others, request.out, threads);
  }
  virtual void block(Selection rows, Selection columns, V* out, int threads) const = 0;
  // out[r] = sum_c coef[c] k(x_r, x_c), kernel values in V
  virtual void product(Selection rows, Selection columns, const double* coef, double* out, int threads) const = 0;
  // the same with kernel values in double: what certificates are made of
  virtual void exact_product(Selection rows, Selection columns, const double* coef, double* out, int threads) const = 0;
  // bound[r] >= |product - exact_product| of row r; infinite where nothing is known
  virtual void product_error(Selection rows, Selection, const double*, double* bound) const {
    std::fill_n(bound, rows.count, std::numeric_limits<double>::infinity());
  }
};

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

// out[r] = sum_c coef[c] k(left_r, right_c): the fused product of prediction, sampling and certificates.
template <class T, class V>
void fused_product(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                   const KernelSpec& kernel, const double* coef, double* out, int threads) {
  const auto& hot = hot_kernels<T, V>();
  for (int64_t r = 0; r < rows.count; ++r) out[r] = 0;
  for_each_packed<V>(right, kernel, columns, coef, hot.strip_width, [&](int64_t, Packed<V> block) {
    parallel_chunks(rows.count, kRowChunk / 4, threads, [&](int64_t begin, int64_t count) {
      hot.product(left, kernel, block, rows.part(begin, count), out + begin);
    });
  });
}

// out[r * columns.count + c] = k(left_r, right_c)
template <class T, class V>
void kernel_block(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                  const KernelSpec& kernel, V* out, int threads) {
  const auto& hot = hot_kernels<T, V>();
  for_each_packed<V>(right, kernel, columns, nullptr, hot.strip_width, [&](int64_t first, Packed<V> block) {
    parallel_chunks(rows.count, kRowChunk / 4, threads, [&](int64_t begin, int64_t count) {
      hot.block(left, kernel, block, rows.part(begin, count), out + begin * columns.count + first, columns.count);
    });
  });
}

// The same for several vectors of coefficients, coefs[c * outputs + o]; out[r * outputs + o].
template <class T, class V>
void fused_products(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const double* coefs,
                    int64_t outputs, double* out, int threads) {
  const auto& hot = hot_kernels<T, V>();
  const int64_t padded = (outputs + hot.lanes - 1) / hot.lanes * hot.lanes;
  std::fill_n(out, left.size * outputs, 0.0);
  for_each_packed<V>(
      right, kernel, all_rows(right.size), nullptr, hot.strip_width, [&](int64_t first, Packed<V> block) {
        const int64_t strips = (block.count + hot.strip_width - 1) / hot.strip_width;
        const AlignedArray<V> some = aligned_array<V>(strips * hot.strip_width * padded);
        std::fill_n(some.get(), strips * hot.strip_width * padded, V(0));
        for (int64_t b = 0; b < block.count; ++b)
          for (int64_t o = 0; o < outputs; ++o) some[b * padded + o] = V(coefs[(first + b) * outputs + o]);
        parallel_chunks(left.size, kRowChunk / 4, threads, [&](int64_t begin, int64_t count) {
          std::vector<double> sums(size_t(count * padded), 0.0);
          hot.products(left, kernel, block, some.get(), padded, all_rows(left.size).part(begin, count), sums.data());
          for (int64_t r = 0; r < count; ++r)
            for (int64_t o = 0; o < outputs; ++o) out[(begin + r) * outputs + o] += sums[r * padded + o];
        });
      });
}

struct Norm {
  double square = 0;
  int64_t entries = 0;
};

template <class T>
Norm norm(const Rows<T>& data, int64_t row) {
  Norm n;
  for_each_entry(data, row, [&](int64_t, T x) { n.square += double(x) * double(x), ++n.entries; });
  return n;
}

inline constexpr double kLeastFloat = 1e-30, kSmallestFloat = 1.2e-38, kLargestSquare = 1e37, kLongestStrip = 80;

// Bounds on what rounding does to fused_product: first-order analysis of exp(-gamma d^2) in V, u its unit. It adds up
// the conversion of the data, the sum of d^2, exp, and the sum over a strip; with s = gamma d^2, s exp(-s) <= 0.37 and
// sqrt(s) exp(-s) <= 0.43. Sparse rows get d^2 as |x|^2 + |z|^2 - 2 x'z, whose rounding is that of (|x| + |z|)^2.
template <class T, class V>
void rounding_of_product(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                         const KernelSpec& kernel, const double* coef, double* bound) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (kernel.kind != KernelKind::rbf || !(kernel.gamma > kLeastFloat && kernel.gamma < 1 / kLeastFloat)) {
    std::fill_n(bound, rows.count, infinity);
    return;
  }
  const double u = std::numeric_limits<V>::epsilon() / 2, safety = 1.1, gamma = kernel.gamma;
  double total = 0, first = 0, second = 0, largest = 0;  // sums of |coef|, |coef| |z|, |coef| |z|^2; largest |z|^2
  int64_t longest = 0;
  for (int64_t c = 0; c < columns.count; ++c) {
    const Norm z = norm(right, columns[c]);
    total += std::abs(coef[c]), first += std::abs(coef[c]) * std::sqrt(z.square);
    second += std::abs(coef[c]) * z.square;
    longest = std::max(longest, z.entries);
    largest = std::max(largest, z.square);
  }
  for (int64_t r = 0; r < rows.count; ++r) {
    const Norm x = norm(left, rows[r]);
    const double length = std::sqrt(x.square), terms = double(longest + x.entries + 8);
    const double distance = left.sparse() ? gamma * terms * (total * x.square + 2 * length * first + second)
                                          : 0.37 * terms * total + 0.86 * std::sqrt(gamma) * (total * length + first);
    const bool in_range = std::max(largest, x.square) < kLargestSquare;  // else d^2 leaves the range of a float
    const double underflow = gamma * terms * kSmallestFloat * total;
    bound[r] = in_range ? safety * (u * (distance + kLongestStrip * total) + underflow) : infinity;
  }
}

// ---- features and a kernel ----------------------------------------------------------------------------------

template <class T, class V>
class FeatureSource final : public Source<V> {
 public:
  FeatureSource(Rows<T> data, KernelSpec kernel) : data_(data), kernel_(kernel) {}

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

  void line(int64_t row, Selection others, V* out, int threads) const override {
    const SpreadRow z(data_, kernel_.reduction(), row);
    const auto& hot = hot_kernels<T, V>();
    parallel_chunks(others.count, kRowChunk, threads, [&](int64_t begin, int64_t count) {
      hot.line(data_, kernel_, z.query(), others.part(begin, count), out + begin);
    });
  }

  // Groups lie interleaved in the data. Range by range, all of them are served while the range is in cache.
  void lines(int64_t row, const std::vector<LineRequest<V>>& requests, int threads) const override {
    const SpreadRow z(data_, kernel_.reduction(), row);
    const auto& hot = hot_kernels<T, V>();
    parallel_chunks(data_.size, kRowChunk, threads, [&](int64_t begin, int64_t count) {
      for (const auto& [others, out] : requests) {
        const int64_t from = first_at_least(others, begin), to = first_at_least(others, begin + count);
        if (from < to) hot.line(data_, kernel_, z.query(), others.part(from, to - from), out + from);
      }
    });
  }

  void block(Selection rows, Selection columns, V* out, int threads) const override {
    kernel_block<T, V>(data_, rows, data_, columns, kernel_, out, threads);
  }

  void product(Selection rows, Selection columns, const double* coef, double* out, int threads) const override {
    fused_product<T, V>(data_, rows, data_, columns, kernel_, coef, out, threads);
  }

  void exact_product(Selection rows, Selection columns, const double* coef, double* out, int threads) const override {
    fused_product<T, double>(data_, rows, data_, columns, kernel_, coef, out, threads);
  }

  void product_error(Selection rows, Selection columns, const double* coef, double* bound) const override {
    rounding_of_product<T, V>(data_, rows, data_, columns, kernel_, coef, bound);
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

  Rows<T> data_;
  KernelSpec kernel_;
};

// ---- a matrix -----------------------------------------------------------------------------------------------

template <class V>
class MatrixSource final : public Source<V> {
 public:
  MatrixSource(const V* values, int64_t size) : values_(values), size_(size) {}

  int64_t size() const override { return size_; }
  double work() const override { return 4; }
  double diagonal(int64_t row) const override { return double(values_[row * size_ + row]); }

  void line(int64_t row, Selection others, V* out, int) const override {
    const V* values = values_ + row * size_;
    for (int64_t k = 0; k < others.count; ++k) out[k] = values[others[k]];
  }

  void block(Selection rows, Selection columns, V* out, int threads) const override {
    parallel_chunks(rows.count, 64, threads, [&](int64_t begin, int64_t count) {
      for (int64_t r = begin; r < begin + count; ++r) line(rows[r], columns, out + r * columns.count, 1);
    });
  }

  void product(Selection rows, Selection columns, const double* coef, double* out, int threads) const override {
    if (!rows.listed) return product_by_rows(rows, columns, coef, out, threads);
    parallel_chunks(rows.count, 64, threads, [&](int64_t begin, int64_t count) {
      for (int64_t r = begin; r < begin + count; ++r) {
        const V* values = values_ + rows[r] * size_;
        double total = 0;
        for (int64_t c = 0; c < columns.count; ++c) total += coef[c] * double(values[columns[c]]);
        out[r] = total;
      }
    });
  }

  void exact_product(Selection rows, Selection columns, const double* coef, double* out, int threads) const override {
    product(rows, columns, coef, out, threads);
  }

 private:
  // The matrix is symmetric: its rows, which lie in one piece, stand for its columns.
  void product_by_rows(Selection rows, Selection columns, const double* coef, double* out, int threads) const {
    parallel_chunks(rows.count, 2 * kRowChunk, threads, [&](int64_t begin, int64_t count) {
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

  void line(int64_t row, Selection others, V* out, int) const override { function_({nullptr, row, 1}, others, out); }

  void block(Selection rows, Selection columns, V* out, int) const override { function_(rows, columns, out); }

  void product(Selection rows, Selection columns, const double* coef, double* out, int) const override {
    constexpr int64_t kValues = 1 << 20;  // bounds the block that a call of the function returns
    const int64_t step = columns.count > 0 && kValues / columns.count > 1 ? kValues / columns.count : 1;
    std::vector<V> values;
    for (int64_t first = 0; first < rows.count; first += step) {
      const int64_t count = rows.count - first < step ? rows.count - first : step;
      values.resize(count * columns.count);
      function_(rows.part(first, count), columns, values.data());
      for (int64_t r = 0; r < count; ++r) {
        double total = 0;
        for (int64_t c = 0; c < columns.count; ++c) total += coef[c] * double(values[r * columns.count + c]);
        out[first + r] = total;
      }
    }
  }

  void exact_product(Selection rows, Selection columns, const double* coef, double* out, int threads) const override {
    product(rows, columns, coef, out, threads);
  }

 private:
  Function function_;
  std::vector<double> diagonal_;
};

}  // namespace swapsvm
