// Kernel values from a matrix, and from a function of two lists of rows. Their products have one precision: the values
// that they are given are the problem.
#include <algorithm>
#include <cmath>

#include "product.hpp"

namespace swapsvm {
namespace {

void require_own(const Vectors& z) {
  if (z.data.index() != 0) throw std::invalid_argument("vectors of other data need a kernel of features");
}

template <class V>
class MatrixSource final : public Source<V> {
 public:
  MatrixSource(const V* values, int64_t size) : values_(values), size_(size), largest_(size_t(size), 0.0) {
    for (int64_t r = 0; r < size; ++r)
      for (int64_t c = 0; c < size; ++c) largest_[r] = std::max(largest_[r], std::abs(double(values[r * size + c])));
  }

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

  void product(Selection rows, const Vectors& z, bool, double* out, const Team& team) const override {
    require_own(z);
    if (!rows.listed) return product_by_rows(rows, z, out, team);
    if (const Selection range = surrounding(rows); range.count <= 2 * rows.count) {  // whose values need no gathering
      std::vector<double> all(static_cast<size_t>(range.count));
      product_by_rows(range, z, all.data(), team);
      for (int64_t r = 0; r < rows.count; ++r) out[r] = all[size_t(rows[r] - range.first)];
      return;
    }
    parallel_chunks(rows.count, 64, team, [&](int64_t begin, int64_t count) {
      for (int64_t r = begin; r < begin + count; ++r) {
        const V* values = values_ + rows[r] * size_;
        double total = 0;
        for (int64_t c = 0; c < z.rows.count; ++c) total += z.coef[c] * double(values[z.rows[c]]);
        out[r] = total;
      }
    });
  }

  void rounding(Selection rows, const Vectors& z, bool, double* bound, const Team&) const override {
    const double one = rounding_of_sum(z, 1.0);
    for (int64_t r = 0; r < rows.count; ++r) bound[r] = one * largest_[rows[r]];
  }

 private:
  static Selection surrounding(Selection rows) {
    int64_t first = rows[0], last = rows[0];
    for (int64_t r = 0; r < rows.count; ++r) first = std::min(first, rows[r]), last = std::max(last, rows[r]);
    return {nullptr, first, last - first + 1};
  }
  // The matrix is symmetric: its rows, which are contiguous, stand for its columns.
  void product_by_rows(Selection rows, const Vectors& z, double* out, const Team& team) const {
    parallel_chunks(rows.count, 2 * kRowChunk, team, [&](int64_t begin, int64_t count) {
      std::fill_n(out + begin, count, 0.0);
      const V* first = values_ + rows.first + begin;
      add_scaled<V>(z.rows.count, [&](int64_t c) { return first + z.rows[c] * size_; }, z.coef, out + begin, count);
    });
  }

  const V* values_;
  int64_t size_;
  std::vector<double> largest_;  // |value| of each row
};

template <class V>
class FunctionSource final : public Source<V> {
 public:
  FunctionSource(KernelFunction<V> function, std::vector<double> diagonal)
      : function_(std::move(function)), diagonal_(std::move(diagonal)) {}

  int64_t size() const override { return int64_t(diagonal_.size()); }
  double work() const override { return 1e6; }  // worth keeping; the function manages its own threads
  double diagonal(int64_t row) const override { return diagonal_[row]; }

  void line(int64_t row, Selection others, V* out, const Team&) const override {
    function_({nullptr, row, 1}, others, out);
  }

  void block(Selection rows, Selection columns, V* out, const Team&) const override { function_(rows, columns, out); }

  void product(Selection rows, const Vectors& z, bool, double* out, const Team& team) const override {
    constexpr int64_t kValues = 1 << 20;  // bounds the block that a call of the function returns
    require_own(z);
    const int64_t width = z.rows.count, step = std::max<int64_t>(1, kValues / std::max<int64_t>(1, width));
    std::vector<V> values;
    for (int64_t first = 0; first < rows.count; first += step) {
      const int64_t count = std::min(step, rows.count - first);
      if (team.token) team.token->check();
      values.resize(count * width);
      function_(rows.part(first, count), z.rows, values.data());
      for (int64_t r = 0; r < count; ++r) {
        double total = 0;
        for (int64_t c = 0; c < width; ++c) total += z.coef[c] * double(values[r * width + c]);
        out[first + r] = total;
      }
    }
  }

  // |k(x, z)| <= max k(x, x)
  void rounding(Selection rows, const Vectors& z, bool, double* bound, const Team&) const override {
    double largest = 0;
    for (const double d : diagonal_) largest = std::max(largest, std::abs(d));
    std::fill_n(bound, rows.count, rounding_of_sum(z, largest));
  }

 private:
  KernelFunction<V> function_;
  std::vector<double> diagonal_;
};

}  // namespace

template <class V>
std::unique_ptr<Source<V>> matrix_source(const V* values, int64_t size) {
  return std::make_unique<MatrixSource<V>>(values, size);
}
template <class V>
std::unique_ptr<Source<V>> function_source(KernelFunction<V> function, std::vector<double> diagonal) {
  return std::make_unique<FunctionSource<V>>(std::move(function), std::move(diagonal));
}
template std::unique_ptr<Source<float>> matrix_source(const float*, int64_t);
template std::unique_ptr<Source<double>> matrix_source(const double*, int64_t);
template std::unique_ptr<Source<float>> function_source(KernelFunction<float>, std::vector<double>);
template std::unique_ptr<Source<double>> function_source(KernelFunction<double>, std::vector<double>);

}  // namespace swapsvm
