// Kernel values from features and a kernel.
#include "linear.hpp"
#include "packing.hpp"
#include "product.hpp"

namespace swapsvm {
namespace {

template <class T, class V>
class FeatureSource final : public Source<V> {
 public:
  FeatureSource(Rows<T> data, KernelSpec kernel, bool expanded, const Norm& beyond)
      : data_(data),
        any_rows_(data),
        kernel_(kernel),
        through_w_(kernel.kind == KernelKind::linear && !expanded),
        norms_(through_w_ ? Norms{} : norms_of(data)) {
    const double units = expanded ? 0.0 : units_lost(data, norms_, {beyond}, kernel);
    differences_ = !expanded && needs_differences<V>(data, kernel, units);
    exact_differences_ = !expanded && needs_differences<double>(data, kernel, units);
    certificate_differences_ = !expanded && certificate_needs_differences<V>(data, kernel, units);
  }

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
    const SpreadRow<V> z(data_, kernel_.reduction(), row);
    const auto& hot = hot_kernels<T, V>();
    for_each_piece(data_, others, differences_, kRowChunk, team,
                   [&](int64_t begin, const Rows<T>& data, Selection some) {
                     hot.line(data, kernel_, z.query(), some, out + begin);
                   });
  }

  // Groups lie interleaved in the data. Range by range, all of them are served while the range is in cache.
  void lines(int64_t row, const std::vector<LineRequest<V>>& requests, const Team& team) const override {
    if (differences_ && data_.sparse()) return Source<V>::lines(row, requests, team);
    const SpreadRow<V> z(data_, kernel_.reduction(), row);
    const auto& hot = hot_kernels<T, V>();
    parallel_chunks(data_.size, kRowChunk, team, [&](int64_t begin, int64_t count) {
      for (const auto& [others, out] : requests) {
        const int64_t from = first_at_least(others, begin), to = first_at_least(others, begin + count);
        if (from < to) hot.line(data_, kernel_, z.query(), others.part(from, to - from), out + from);
      }
    });
  }

  void block(Selection rows, Selection columns, V* out, const Team& team) const override {
    kernel_block<T, V>(data_, rows, data_, columns, kernel_, out, team, differences_);
  }

  void exact_block(Selection rows, Selection columns, double* out, const Team& team) const override {
    kernel_block<T, double>(data_, rows, data_, columns, kernel_, out, team, exact_differences_);
  }

  void product(Selection rows, const Vectors& z, bool exact, double* out, const Team& team) const override {
    const Rows<T>& right = data_of(z);
    if (linear_rows()) return linear_product(data_, rows, right, z.rows, z.coef, out, team);
    const auto compute = exact ? fused_product<T, double> : fused_product<T, V>;
    compute(data_, rows, right, z.rows, kernel_, z.coef, out, team, differences(right, exact));
  }

  void symmetric_product(Selection rows, const double* coef, bool exact, double* out, const Team& team) const override {
    const auto compute = exact ? swapsvm::symmetric_product<T, double> : swapsvm::symmetric_product<T, V>;
    compute(data_, rows, kernel_, coef, out, team, differences(data_, exact));
  }

  void mutual_product(const Side& left, const Side& right, bool exact, const Team& team) const override {
    if (!symmetry_pays(std::min(left.rows.count, right.rows.count), exact))
      return Source<V>::mutual_product(left, right, exact, team);
    const auto compute = exact ? swapsvm::mutual_product<T, double> : swapsvm::mutual_product<T, V>;
    compute(data_, kernel_, left, right, team, differences(data_, exact));
  }

  bool symmetry_pays(int64_t rows, bool exact) const override {
    return !linear_rows() && (exact ? swapsvm::symmetry_pays<double> : swapsvm::symmetry_pays<V>)(data_.features, rows);
  }

  const AnyRows* linear_rows() const override { return through_w_ ? &any_rows_ : nullptr; }

  void rounding(Selection rows, const Vectors& z, bool exact, double* bound, const Team& team) const override {
    const Rows<T>& right = data_of(z);
    if (linear_rows()) return rounding_of_linear_product(data_, rows, right, z.rows, z.coef, bound, team);
    const auto bounds = exact ? rounding_of_product<T, double> : rounding_of_product<T, V>;
    const Norms others = &right == &data_ ? Norms{} : norms_of(right);
    bounds(data_, norms_, rows, &right == &data_ ? norms_ : others, z.rows, kernel_, z.coef, differences(right, exact),
           exact, bound, team);
  }

 private:
  // Place in an ascending selection of the first row that is not before `row`.
  static int64_t first_at_least(Selection rows, int64_t row) {
    if (rows.listed) return std::lower_bound(rows.listed, rows.listed + rows.count, Index(row)) - rows.listed;
    return std::min(std::max<int64_t>(row - rows.first, 0), rows.count);
  }

  const Rows<T>& data_of(const Vectors& z) const {
    if (z.data.index() == 0) return data_;
    const Rows<T>* other = std::get_if<Rows<T>>(&z.data);
    if (!other) throw std::invalid_argument("the vectors and the rows must have the same floating-point type");
    check_same_features(data_, *other);
    return *other;
  }

  bool differences(const Rows<T>& right, bool exact) const {
    if (&right == &data_) return exact ? certificate_differences_ : differences_;
    const double units = units_lost(data_, right, kernel_);
    return exact ? certificate_needs_differences<V>(data_, kernel_, units)
                 : needs_differences<V>(data_, kernel_, units);
  }

  Rows<T> data_;
  AnyRows any_rows_;
  KernelSpec kernel_;
  bool through_w_;  // whether products are
  Norms norms_;     // every certificate needs them
  // Whether distances are summed from differences: in V, in blocks in double, in products in double.
  bool differences_, exact_differences_, certificate_differences_;
};

}  // namespace

template <class V>
std::unique_ptr<Source<V>> feature_source(const AnyRows& data, const KernelSpec& kernel, bool expanded,
                                          const Norm& beyond) {
  const auto make = [&](const auto& rows) -> std::unique_ptr<Source<V>> {
    return std::make_unique<FeatureSource<std::decay_t<decltype(*rows.data)>, V>>(rows, kernel, expanded, beyond);
  };
  return std::visit(make, data);
}
template std::unique_ptr<Source<float>> feature_source(const AnyRows&, const KernelSpec&, bool, const Norm&);
template std::unique_ptr<Source<double>> feature_source(const AnyRows&, const KernelSpec&, bool, const Norm&);

}  // namespace swapsvm
