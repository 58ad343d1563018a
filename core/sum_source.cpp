// Kernel values that are sums: k(x, z) = sum_t weight_t k_t(x, z), where each k_t has columns of its own.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "source.hpp"

namespace swapsvm {
namespace {

template <class V>
class SumSource final : public Source<V> {
 public:
  explicit SumSource(const std::vector<Term>& terms) {
    if (terms.empty()) throw std::invalid_argument("a sum of kernels needs a term");
    for (const Term& term : terms) {
      const bool linear = term.kernel.kind == KernelKind::linear;  // its products too are sums of kernel values
      parts_.push_back({feature_source<V>(term.data, term.kernel, linear), term.weight, {}});
      Part& part = parts_.back();
      if (part.source->size() != size()) throw std::invalid_argument("terms with different numbers of rows");
      part.lengths.resize(size_t(size()), 1.0);
      if (term.kernel.kind == KernelKind::sigmoid) continue;  // at most 1
      for (int64_t r = 0; r < size(); ++r) part.lengths[size_t(r)] = std::sqrt(part.source->diagonal(r));
    }
    for (const Part& part : parts_)
      for (const double length : part.lengths) largest_ = std::max(largest_, part.weight * length * length);
    largest_ *= double(parts_.size());
  }

  int64_t size() const override { return parts_.front().source->size(); }
  double work() const override {
    return added([](const Part& part) { return part.source->work(); });
  }
  double diagonal(int64_t row) const override {
    return added([&](const Part& part) { return part.weight * part.source->diagonal(row); });
  }

  void line(int64_t row, Selection others, V* out, const Team& team) const override {
    add_up(others.count, out, [&](const Part& part, V* values) { part.source->line(row, others, values, team); });
  }
  void block(Selection rows, Selection columns, V* out, const Team& team) const override {
    by_pieces(rows, columns, out,
              [&](const Part& part, Selection some, V* values) { part.source->block(some, columns, values, team); });
  }
  void exact_block(Selection rows, Selection columns, double* out, const Team& team) const override {
    by_pieces(rows, columns, out, [&](const Part& part, Selection some, double* values) {
      part.source->exact_block(some, columns, values, team);
    });
  }

  void product(Selection rows, const Vectors& z, bool exact, double* out, const Team& team) const override {
    require_own(z);
    add_up(rows.count, out, [&](const Part& part, double* sums) { part.source->product(rows, z, exact, sums, team); });
  }
  void symmetric_product(Selection rows, const double* coef, bool exact, double* out, const Team& team) const override {
    add_up(rows.count, out,
           [&](const Part& part, double* sums) { part.source->symmetric_product(rows, coef, exact, sums, team); });
  }
  bool symmetry_pays(int64_t rows, bool exact) const override {
    const auto pays = [&](const Part& part) { return part.source->symmetry_pays(rows, exact); };
    return std::all_of(parts_.begin(), parts_.end(), pays);
  }

  // The bounds of the terms, and the rounding of their sum: that of values in V where those are added up and kept, and
  // that of products in double.
  void rounding(Selection rows, const Vectors& z, bool exact, double* bound, const Team& team) const override {
    require_own(z);
    constexpr double kInV = double(std::numeric_limits<V>::epsilon()) / 2;
    constexpr double kInDouble = std::numeric_limits<double>::epsilon() / 2;
    constexpr double kSmallest = double(std::numeric_limits<V>::min()),
                     kLargest = double(std::numeric_limits<V>::max());
    const double unit = (exact ? kInDouble : kInV) * 1.1 * double(parts_.size() + 2);
    add_up(rows.count, bound, [&](const Part& part, double* own) {
      part.source->rounding(rows, z, exact, own, team);
      const double others = part.total_length(z);
      for (int64_t r = 0; r < rows.count; ++r) own[r] += unit * part.lengths[size_t(rows[r])] * others;
    });
    double underflow = 0;
    for (int64_t c = 0; c < z.rows.count; ++c) underflow += 2 * kSmallest * double(parts_.size()) * std::abs(z.coef[c]);
    for (int64_t r = 0; r < rows.count; ++r)
      bound[r] = largest_ < kLargest / 30 ? bound[r] + underflow : std::numeric_limits<double>::infinity();
  }

 private:
  struct Part {
    std::unique_ptr<Source<V>> source;
    double weight;
    std::vector<double> lengths;  // |k(x_r, x_c)| <= lengths[r] lengths[c]

    double total_length(const Vectors& z) const {
      double total = 0;
      for (int64_t c = 0; c < z.rows.count; ++c) total += std::abs(z.coef[c]) * lengths[size_t(z.rows[c])];
      return total;
    }
  };

  static void require_own(const Vectors& z) {
    if (z.data.index() != 0) throw std::invalid_argument("a sum of kernels takes vectors among its own rows");
  }

  template <class Of>
  double added(Of of) const {
    double total = 0;
    for (const Part& part : parts_) total += of(part);
    return total;
  }

  // out = sum_t weight_t values_t, where compute(part, values) gives those of a term.
  template <class W, class Compute>
  void add_up(int64_t count, W* out, Compute compute) const {
    std::vector<W> values(parts_.size() > 1 ? size_t(count) : 0);
    for (const Part& part : parts_) {
      const bool first = &part == &parts_.front();
      W* const own = first ? out : values.data();
      compute(part, own);
      for (int64_t k = 0; k < count; ++k) out[k] = W(part.weight) * own[k] + (first ? W(0) : out[k]);
    }
  }

  // The same of a block, whose rows are cut into pieces: this bounds the memory of one term.
  template <class W, class Compute>
  void by_pieces(Selection rows, Selection columns, W* out, Compute compute) const {
    constexpr int64_t kValues = 1 << 20;
    const int64_t step = std::max<int64_t>(1, kValues / std::max<int64_t>(1, columns.count));
    for (int64_t first = 0; first < rows.count; first += step) {
      const Selection some = rows.part(first, std::min(step, rows.count - first));
      add_up(some.count * columns.count, out + first * columns.count,
             [&](const Part& part, W* values) { compute(part, some, values); });
    }
  }

  std::vector<Part> parts_;
  double largest_ = 0;  // a bound on |k|
};

}  // namespace

template <class V>
std::unique_ptr<Source<V>> sum_source(const std::vector<Term>& terms) {
  return std::make_unique<SumSource<V>>(terms);
}
template std::unique_ptr<Source<float>> sum_source(const std::vector<Term>&);
template std::unique_ptr<Source<double>> sum_source(const std::vector<Term>&);

}  // namespace swapsvm
