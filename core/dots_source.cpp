#include <cmath>

#include "dots.hpp"
#include "packing.hpp"
#include "product.hpp"

namespace swapsvm {
namespace {

// The map of a kernel, applied to dot products in place: those of a row with some others.
template <class V>
class DotMap {
 public:
  explicit DotMap(const KernelSpec& kernel) : kernel_(kernel) {}

  template <class Square>
  void apply(double square, Square square_of, V* values, int64_t count) const {
    const double gamma = kernel_.gamma;
    switch (kernel_.kind) {
      case KernelKind::rbf:
        for (int64_t k = 0; k < count; ++k)
          values[k] = V(-gamma * std::max(0.0, square + square_of(k) - 2 * double(values[k])));
        return hot_updates<V>().exponential(values, count);
      case KernelKind::poly:
        for (int64_t k = 0; k < count; ++k) values[k] = V(power(gamma * double(values[k]) + kernel_.coef0));
        return;
      case KernelKind::sigmoid:
        for (int64_t k = 0; k < count; ++k) values[k] = V(std::tanh(gamma * double(values[k]) + kernel_.coef0));
        return;
      default: return;  // linear
    }
  }

 private:
  double power(double u) const {  // by squaring
    double result = 1;
    for (int rest = kernel_.degree; rest > 0; rest /= 2, u *= u)
      if (rest % 2 == 1) result *= u;
    return result;
  }
  KernelSpec kernel_;
};

template <class V>
class DotsSource final : public Source<V> {
 public:
  DotsSource(std::shared_ptr<const Dots<V>> dots, std::unique_ptr<Source<V>> rows, const KernelSpec& kernel)
      : dots_(std::move(dots)), rows_(std::move(rows)), map_(kernel) {
    if (rows_->size() != dots_->size) throw std::invalid_argument("dot products of other rows");
  }

  int64_t size() const override { return dots_->size; }
  double work() const override { return 16; }
  double diagonal(int64_t row) const override { return rows_->diagonal(row); }

  void line(int64_t row, Selection others, V* out, const Team&) const override {
    const V* values = dots_->row(row);
    for (int64_t k = 0; k < others.count; ++k) out[k] = values[others[k]];
    map_.apply(dots_->squares[row], [&](int64_t k) { return dots_->squares[others[k]]; }, out, others.count);
  }
  void block(Selection rows, Selection columns, V* out, const Team& team) const override {
    parallel_chunks(rows.count, 64, team, [&](int64_t begin, int64_t count) {
      for (int64_t r = begin; r < begin + count; ++r) line(rows[r], columns, out + r * columns.count, {});
    });
  }
  void exact_block(Selection rows, Selection columns, double* out, const Team& team) const override {
    if constexpr (std::is_same_v<V, double>)
      block(rows, columns, out, team);
    else
      rows_->exact_block(rows, columns, out, team);
  }
  void product(Selection rows, const Vectors& z, bool exact, double* out, const Team& team) const override {
    if (z.data.index() != 0 || (exact && !std::is_same_v<V, double>)) return rows_->product(rows, z, exact, out, team);
    parallel_chunks(rows.count, 64, team, [&](int64_t begin, int64_t count) {
      std::vector<V> values(size_t(z.rows.count));
      for (int64_t r = begin; r < begin + count; ++r) {
        line(rows[r], z.rows, values.data(), {});
        double total = 0;
        for (int64_t c = 0; c < z.rows.count; ++c) total += z.coef[c] * double(values[c]);
        out[r] = total;
      }
    });
  }
  void rounding(Selection rows, const Vectors& z, bool exact, double* bound, const Team& team) const override {
    rows_->rounding(rows, z, exact, bound, team);
  }

 private:
  std::shared_ptr<const Dots<V>> dots_;
  std::unique_ptr<Source<V>> rows_;  // whose distances are sums of dot products too
  DotMap<V> map_;
};

template <class T, class V>
void fill(const Rows<T>& data, V* out, const Team& team) {
  constexpr int64_t kPanel = 256, kTile = 16;
  const int64_t n = data.size;
  std::vector<V> panel;
  for (int64_t first = 0; first < n; first += kPanel) {
    const int64_t width = std::min(kPanel, n - first), rows = n - first;
    panel.resize(size_t(rows * width));
    kernel_block<T, V>(data, {nullptr, first, rows}, data, {nullptr, first, width}, {}, panel.data(), team, false);
    parallel_chunks(rows, 4 * kTile, team, [&](int64_t begin, int64_t count) {
      for (int64_t r = begin; r < begin + count; ++r)
        std::copy_n(&panel[r * width], width, out + (first + r) * n + first);
      for (int64_t r = begin; r < begin + count; r += kTile)
        for (int64_t c = 0; c < width; ++c)
          for (int64_t k = std::max(r, width); k < std::min(r + kTile, begin + count); ++k)
            out[(first + c) * n + first + k] = panel[k * width + c];
    });
  }
}

}  // namespace

template <class V>
std::shared_ptr<const Dots<V>> dots_of(const AnyRows& data, const Team& team) {
  auto dots = std::make_shared<Dots<V>>();
  std::visit(
      [&](const auto& rows) {
        using T = std::decay_t<decltype(*rows.data)>;
        dots->size = rows.size;
        dots->values = aligned_array<V>(rows.size * rows.size, Filling::full);
        dots->squares.assign(size_t(rows.size), 0.0);
        for (int64_t r = 0; r < rows.size; ++r)
          for_each_entry(rows, r, [&](int64_t, T x) { dots->squares[r] += double(V(x)) * double(V(x)); });
        fill<T, V>(rows, dots->values.get(), team);
      },
      data);
  return dots;
}

template <class V>
bool dots_suffice(const AnyRows& data, const KernelSpec& kernel) {
  constexpr double kTolerable = 1e-10;
  if (kernel.reduction() == Reduction::absolute) return false;
  const auto suffice = [&](const auto& rows) {
    const double units = units_lost(rows, rows, kernel);
    return units * std::numeric_limits<double>::epsilon() < kTolerable &&
           (std::is_same_v<V, double> || !needs_differences<float>(rows, kernel, units));
  };
  return std::visit(suffice, data);
}

template <class V>
std::unique_ptr<Source<V>> dots_source(std::shared_ptr<const Dots<V>> dots, const AnyRows& data,
                                       const KernelSpec& kernel) {
  return std::make_unique<DotsSource<V>>(std::move(dots), feature_source<V>(data, kernel, true), kernel);
}

template std::shared_ptr<const Dots<float>> dots_of(const AnyRows&, const Team&);
template std::shared_ptr<const Dots<double>> dots_of(const AnyRows&, const Team&);
template bool dots_suffice<float>(const AnyRows&, const KernelSpec&);
template bool dots_suffice<double>(const AnyRows&, const KernelSpec&);
template std::unique_ptr<Source<float>> dots_source(std::shared_ptr<const Dots<float>>, const AnyRows&,
                                                    const KernelSpec&);
template std::unique_ptr<Source<double>> dots_source(std::shared_ptr<const Dots<double>>, const AnyRows&,
                                                     const KernelSpec&);

}  // namespace swapsvm
