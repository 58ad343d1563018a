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

// out[r] = sum_c coef[c] k(x_r, z_c), z by z in their order, two at a time. line(c, first, count, buffer) gives the
// values of some of the rows with z_c: in the buffer, or where they are.
template <class V, class Line>
void add_lines(int64_t rows, const Vectors& z, Line line, double* out, const Team& team) {
  constexpr int64_t kTogether = 512;  // a multiple of every vector: sums do not depend on where rows are cut
  parallel_chunks(rows, kTogether, team, [&](int64_t first, int64_t count) {
    V buffers[2][kTogether];
    std::fill_n(out + first, count, 0.0);
    add_scaled<V>(
        z.rows.count, [&](int64_t c) { return line(c, first, count, buffers[c % 2]); }, z.coef, out + first, count);
  });
}

template <class V>
class DotsSource;

// Kernel values of some rows of a source with each other, all in memory. Sums are those of the source, bit for bit.
template <class V>
class KeptSource final : public Source<V> {
 public:
  KeptSource(const DotsSource<V>& all, std::vector<Index> rows, AlignedArray<V> values)
      : all_(all), rows_(std::move(rows)), values_(std::move(values)) {}

  int64_t size() const override { return int64_t(rows_.size()); }
  double work() const override { return all_.work(); }
  double diagonal(int64_t row) const override { return all_.diagonal(rows_[size_t(row)]); }

  void line(int64_t row, Selection others, V* out, const Team&) const override {
    for (int64_t k = 0; k < others.count; ++k) out[k] = values_[size_t(row * size() + others[k])];
  }
  void block(Selection rows, Selection columns, V* out, const Team&) const override {
    for (int64_t r = 0; r < rows.count; ++r) line(rows[r], columns, out + r * columns.count, {});
  }
  void exact_block(Selection rows, Selection columns, double* out, const Team& team) const override {
    if constexpr (std::is_same_v<V, double>)
      block(rows, columns, out, team);
    else
      all_.exact_block(listed(rows).selection(), listed(columns).selection(), out, team);
  }
  void product(Selection rows, const Vectors& z, bool exact, double* out, const Team& team) const override {
    if (exact && !std::is_same_v<V, double>) {
      const Listed left = listed(rows), right = listed(z.rows);
      return all_.product(left.selection(), {right.selection(), z.coef, z.total}, exact, out, team);
    }
    const auto line = [&](int64_t c, int64_t first, int64_t count, V* buffer) {
      this->line(z.rows[c], rows.part(first, count), buffer, {});
      return buffer;
    };
    add_lines<V>(rows.count, z, line, out, team);
  }
  void rounding(Selection rows, const Vectors& z, bool exact, double* bound, const Team& team) const override {
    const Listed left = listed(rows), right = listed(z.rows);
    all_.rounding(left.selection(), {right.selection(), z.coef, z.total}, exact, bound, team);
  }

 private:
  struct Listed {
    std::vector<Index> rows;
    Selection selection() const { return {rows.data(), 0, int64_t(rows.size())}; }
  };
  // As the source of all rows knows them.
  Listed listed(Selection rows) const {
    Listed found;
    for (int64_t k = 0; k < rows.count; ++k) found.rows.push_back(rows_[size_t(rows[k])]);
    return found;
  }

  const DotsSource<V>& all_;
  std::vector<Index> rows_;
  AlignedArray<V> values_;
};

template <class V>
class DotsSource final : public Source<V> {
 public:
  DotsSource(std::shared_ptr<const Dots<V>> dots, std::unique_ptr<Source<V>> rows, const KernelSpec& kernel)
      : dots_(std::move(dots)), rows_(std::move(rows)), map_(kernel) {
    if (rows_->size() != dots_->size()) throw std::invalid_argument("dot products of other rows");
  }

  int64_t size() const override { return dots_->size(); }
  double work() const override { return 16; }
  double diagonal(int64_t row) const override { return rows_->diagonal(row); }

  void line(int64_t row, Selection others, V* out, const Team&) const override {
    const int64_t p = place(row);
    for (int64_t k = 0; k < others.count; ++k) out[k] = dots_->at(p, place(others[k]));
    map_.apply(dots_->squares[p], [&](int64_t k) { return dots_->squares[place(others[k])]; }, out, others.count);
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
    const auto line = [&](int64_t c, int64_t first, int64_t count, V* buffer) {
      this->line(z.rows[c], rows.part(first, count), buffer, {});
      return buffer;
    };
    add_lines<V>(rows.count, z, line, out, team);
  }
  // Own products are sums of single values in any case.
  void rounding(Selection rows, const Vectors& z, bool exact, double* bound, const Team& team) const override {
    const bool own = z.data.index() == 0 && std::is_same_v<V, double>;
    rows_->rounding(rows, z, exact && !own, bound, team);
  }
  bool keeps_values() const override { return true; }
  std::unique_ptr<Source<V>> among(std::vector<Index> rows) const override {
    const int64_t n = int64_t(rows.size());
    auto values = aligned_array<V>(n * n);
    std::vector<int64_t> places;
    std::vector<double> squares;
    for (int64_t r = 0; r < n; ++r) {
      V* own = values.get() + r * n;
      places.push_back(place(rows[size_t(r)])), squares.push_back(dots_->squares[size_t(places.back())]);
      for (int64_t c = 0; c <= r; ++c) own[c] = dots_->at(places.back(), places[size_t(c)]);
      map_.apply(squares.back(), [&](int64_t c) { return squares[size_t(c)]; }, own, r + 1);
      for (int64_t c = 0; c < r; ++c) values[size_t(c * n + r)] = own[c];
    }
    return std::make_unique<KeptSource<V>>(*this, std::move(rows), std::move(values));
  }

 private:
  int64_t place(int64_t row) const { return dots_->places[size_t(row)]; }

  std::shared_ptr<const Dots<V>> dots_;
  std::unique_ptr<Source<V>> rows_;  // whose distances are sums of dot products too
  DotMap<V> map_;
};

// In panels of columns, from the first place of each down to the last row.
template <class T, class V>
void fill(const Rows<T>& data, const std::vector<Index>& order, Dots<V>& dots, const Team& team) {
  constexpr int64_t kPanel = 256;
  const int64_t n = data.size;
  std::vector<V> panel;
  for (int64_t first = 0; first < n; first += kPanel) {
    const int64_t width = std::min(kPanel, n - first);
    const Selection rows{order.data() + first, 0, n - first};
    panel.resize(size_t(rows.count * width));
    kernel_block<T, V>(data, rows, data, rows.part(0, width), {}, panel.data(), team, false);
    parallel_chunks(rows.count, 64, team, [&](int64_t begin, int64_t count) {
      for (int64_t r = begin; r < begin + count; ++r)
        std::copy_n(&panel[size_t(r * width)], std::min(width, r + 1),
                    dots.values.get() + dots.count(first + r) + first);
    });
  }
}

template <class T, class V>
void set_places(const Rows<T>& data, const std::vector<Index>& order, Dots<V>& dots) {
  dots.places.assign(size_t(data.size), -1);
  dots.squares.assign(size_t(data.size), 0.0);
  for (size_t p = 0; p < order.size(); ++p) {
    if (order[p] < 0 || order[p] >= data.size) throw std::invalid_argument("a row that does not exist");
    dots.places[size_t(order[p])] = Index(p);
    for_each_entry(data, order[p], [&](int64_t, T x) { dots.squares[p] += double(V(x)) * double(V(x)); });
  }
  if (int64_t(order.size()) != data.size || std::count(dots.places.begin(), dots.places.end(), -1) > 0)
    throw std::invalid_argument("an order must list each row once");
}

}  // namespace

template <class V>
std::shared_ptr<const Dots<V>> dots_of(const AnyRows& data, const std::vector<Index>& order, const Team& team) {
  auto dots = std::make_shared<Dots<V>>();
  const auto compute = [&](const auto& rows) {
    set_places(rows, order, *dots);
    dots->values = aligned_array<V>(dots->count(rows.size), Filling::full);
    fill(rows, order, *dots, team);
  };
  std::visit(compute, data);
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

template std::shared_ptr<const Dots<float>> dots_of(const AnyRows&, const std::vector<Index>&, const Team&);
template std::shared_ptr<const Dots<double>> dots_of(const AnyRows&, const std::vector<Index>&, const Team&);
template bool dots_suffice<float>(const AnyRows&, const KernelSpec&);
template bool dots_suffice<double>(const AnyRows&, const KernelSpec&);
template std::unique_ptr<Source<float>> dots_source(std::shared_ptr<const Dots<float>>, const AnyRows&,
                                                    const KernelSpec&);
template std::unique_ptr<Source<double>> dots_source(std::shared_ptr<const Dots<double>>, const AnyRows&,
                                                     const KernelSpec&);

}  // namespace swapsvm
