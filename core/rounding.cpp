#include <limits>

#include "packing.hpp"
#include "product.hpp"

namespace swapsvm {

template <class T>
Norm norm(const Rows<T>& data, int64_t row) {
  Norm n;
  for_each_entry(data, row, [&](int64_t, T x) {
    n.square += double(x) * double(x), n.absolute += std::abs(double(x)), ++n.entries;
  });
  return n;
}

// Some dense rows side by side: each sum waits for its last addition, so one row alone takes four times as long.
constexpr int64_t kSideBySide = 8;
template <class T>
void norms_side_by_side(const Rows<T>& data, int64_t first, Norm* norms) {
  double square[kSideBySide] = {}, absolute[kSideBySide] = {};
  const T* x = data.data + first * data.features;
  for (int64_t f = 0; f < data.features; ++f)
    for (int64_t k = 0; k < kSideBySide; ++k) {
      const double entry = double(x[k * data.features + f]);
      square[k] += entry * entry, absolute[k] += std::abs(entry);
    }
  for (int64_t k = 0; k < kSideBySide; ++k) norms[k] = {square[k], absolute[k], data.features};
}

template <class T>
Norms norms_of(const Rows<T>& data) {
  Norms norms(size_t(data.size));
  int64_t r = 0;
  if (!data.sparse())
    for (; r + kSideBySide <= data.size; r += kSideBySide) norms_side_by_side(data, r, &norms[size_t(r)]);
  for (; r < data.size; ++r) norms[size_t(r)] = norm(data, r);
  return norms;
}

// The additions between a product of two features and the sum over all of them. Sparse rows that are spread out are
// rare enough not to be told apart here.
int64_t longest_sum(int64_t features, bool sparse) {
  return sparse ? features : std::min(features, kPanel) + features / kPanel;
}

// What bounds on a sum over columns need to know of them, each weighed by its |coef|.
struct ColumnNorms {
  double total = 0, length = 0, square = 0, absolute = 0, power = 0;  // sums of 1, |z|, |z|^2, |z|_1, |z|^degree
  double largest = 0;                                                 // |z|^2
  int64_t longest = 0, count = 0;

  ColumnNorms(const Norms& norms, Selection columns, const double* coef, const KernelSpec& kernel)
      : count(columns.count) {
    for (int64_t c = 0; c < columns.count; ++c) {
      const Norm& z = norms[size_t(columns[c])];
      const double weight = std::abs(coef[c]), size = std::sqrt(z.square);
      total += weight, length += weight * size, square += weight * z.square, absolute += weight * z.absolute;
      if (kernel.kind == KernelKind::poly) power += weight * std::pow(size, kernel.degree);
      largest = std::max(largest, z.square), longest = std::max(longest, z.entries);
    }
  }
};

// Bounds on |computed - true| of fused_product in arithmetic of unit u = eps / 2, by first-order analysis with a tenth
// added for what is left out. They add up
//
//   the reduction    n u times the sum of the absolute terms: of d^2 from differences that is d^2 itself, of
//                    |x|^2 + |z|^2 - 2 x'z it is (|x| + |z|)^2, of x'z it is |x| |z|; dense rows are summed in panels,
//                    and n is the length of a panel plus the number of panels. Their |x|^2 are summed in double
//   the map          a few u, and what it makes of the error of the reduction: with s = gamma d^2,
//                    s exp(-s) <= 0.37 and sqrt(s) exp(-s) <= 0.43; |tanh'| <= 1; d t^(d-1) for powers
//   the conversion   of the data to V, if V has fewer digits: u |x_f| for each number
//   the sum          over a strip, or over kRowsSummed rows of a symmetric product, in V; over these sums in double
//
// and are infinite where numbers can leave the range of V.
template <class T, class V>
class ProductRounding {
 public:
  ProductRounding(bool sparse, const Norms& right, Selection columns, const KernelSpec& kernel, const double* coef,
                  bool differences, bool exact)
      : sparse_(sparse), kernel_(kernel), z_(right, columns, coef, kernel), differences_(differences), exact_(exact) {}

  double of(const Norm& x) const {
    if (!in_range(x)) return std::numeric_limits<double>::infinity();
    const double terms = 8 + double(differences_ || !sparse_ ? longest_sum(std::max(z_.longest, x.entries), sparse_)
                                                             : z_.longest + x.entries);
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
        if (!differences_) return gamma * of_expanded(x, terms) + map();
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
  // Of |x|^2 + |z|^2 - 2 x'z: of sparse rows all of it is one sum; of dense ones the squares, which are summed in
  // double and converted to V, are added to the product at the end.
  double of_expanded(const Norm& x, double terms) const {
    const double product = 2 * std::sqrt(x.square) * z_.length, all = z_.total * x.square + product + z_.square;
    if (sparse_) return terms * all;
    return terms * product + (8 + (sizeof(V) < sizeof(double) ? 0.0 : double(x.entries))) * all;
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
    // A strip is a sum of at most 4 vectors and of 16 lanes by halves, 4 + 4 additions; a run of rows is kRowsSummed of
    // them. With the rounding of the coefficients both stay below kStrip. Sums of at least 8 values (or of a narrower
    // strip) are added in double; what a symmetric product adds for each block of rows is between 8 and kRowsSummed.
    constexpr double kStrip = 16, kDouble = std::numeric_limits<double>::epsilon() / 2;
    static_assert(kRowsSummed + 1 < kStrip && kRowsSummed > 8);
    const double strips = double(z_.count) / std::min(hot_kernels<T, V>().strip_width, 8) + 2;
    const double additions = exact_ ? strips : double(z_.count);  // of strips, or of kept lines one by one
    return (kUnit * kStrip + kDouble * additions) * sum;
  }

  // Numbers below the smallest normal one of V count as zero. As values they are off by about that number, times the
  // slope of the map; as entries x_f, which products x_f z_f and squares (x_f - z_f)^2 multiply, by it times the norms;
  // as coefficients, which a large slack makes that small, by it times the value.
  double underflow(const Norm& x, double terms) const {
    const double largest = kernel_.gamma * std::sqrt(x.square * z_.largest) + std::abs(kernel_.coef0);
    const double slope =
        kernel_.kind == KernelKind::poly ? kernel_.degree * std::pow(largest, kernel_.degree - 1) : 1.0;
    const double entries = std::max(1.0, 2 * (std::sqrt(x.square) + std::sqrt(z_.largest)));
    return kSmallest * (z_.total * (2 + terms * std::max(1.0, kernel_.gamma) * std::max(1.0, slope) * entries) +
                        double(z_.count) * (1 + largest_value(x)));
  }

  double largest_value(const Norm& x) const {
    if (kernel_.kind == KernelKind::linear) return std::sqrt(x.square * z_.largest);
    return kernel_.kind == KernelKind::poly ? largest_power(x) : 1.0;
  }

  const bool sparse_;
  const KernelSpec& kernel_;
  const ColumnNorms z_;
  const bool differences_, exact_;
};

template <class T, class V>
void rounding_of_product(const Rows<T>& data, const Norms& left, Selection rows, const Norms& right, Selection columns,
                         const KernelSpec& kernel, const double* coef, bool differences, bool exact, double* bound,
                         const Team& team) {
  const ProductRounding<T, V> rounding(data.sparse(), right, columns, kernel, coef, differences, exact);
  parallel_chunks(rows.count, kRowChunk, team, [&](int64_t begin, int64_t count) {
    for (int64_t r = begin; r < begin + count; ++r) bound[r] = rounding.of(left[size_t(rows[r])]);
  });
}

double rounding_of_sum(const Vectors& z, double largest) {
  double total = 0;
  for (int64_t c = 0; c < z.rows.count; ++c) total += std::abs(z.coef[c]);
  return 1.1 * double(z.rows.count + 4) * std::numeric_limits<double>::epsilon() / 2 * largest * total;
}

// The largest of each number over all rows.
Norm largest_norm(const Norms& norms) {
  Norm largest;
  for (const Norm& x : norms)
    largest = {std::max(largest.square, x.square), std::max(largest.absolute, x.absolute),
               std::max(largest.entries, x.entries)};
  return largest;
}

template <class T>
bool never_loses_units(const Rows<T>& data, const KernelSpec& kernel) {
  return kernel.reduction() == Reduction::dot || (!data.sparse() && kernel.reduction() == Reduction::absolute);
}

template <class T>
double units_lost(const Rows<T>& data, const Norms& left, const Norms& right, const KernelSpec& kernel) {
  if (never_loses_units(data, kernel)) return 0;
  const Norm x = largest_norm(left), z = largest_norm(right);
  if (!data.sparse()) {  // as of_expanded
    const double terms = 8 + double(longest_sum(data.features, false));
    return kernel.gamma * (2 * terms + 32) * std::max(x.square, z.square);
  }
  const double size = kernel.reduction() == Reduction::squared ? 4 * std::max(x.square, z.square)
                                                               : 6 * std::max(x.absolute, z.absolute);
  return kernel.gamma * 2 * double(std::max<int64_t>({x.entries, z.entries, 8})) * size;
}
template <class T>
double units_lost(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel) {
  if (never_loses_units(left, kernel)) return 0;
  return units_lost(left, norms_of(left), norms_of(right), kernel);
}

template <class T>
bool fits_float(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel) {
  if (kernel.reduction() != Reduction::dot) return true;
  constexpr double kLargest = 1e37;
  const double product =
      std::sqrt(largest_norm(norms_of(left)).square) * std::sqrt(largest_norm(norms_of(right)).square);
  const double base = kernel.kind == KernelKind::linear ? product : kernel.gamma * product + std::abs(kernel.coef0);
  return product < kLargest && (kernel.kind == KernelKind::poly ? std::pow(base, kernel.degree) : base) < kLargest;
}

// Whether dense rows are subtracted, rather than multiplied: where the bound above would be that many times larger than
// with differences for the worst pair of rows, 0.37 n for the reduction and 24 for map and sum.
template <class T>
bool loses_much(const Rows<T>& left, const KernelSpec& kernel, double units, double times) {
  if (kernel.reduction() == Reduction::absolute) return true;
  return !(units < times * (0.37 * double(longest_sum(left.features, false) + 8) + 24));
}

// Sparse rows: in double, a loss of digits is tolerable as long as it does not show; in float they are never spread
// out, for speed. Dense rows: in double always, in float only where much would be lost.
template <class V, class T>
bool needs_differences(const Rows<T>& left, const KernelSpec& kernel, double units) {
  constexpr double kTolerable = 1e-9, kTimesLarger = 128;
  constexpr bool in_double = sizeof(V) == sizeof(double);
  if (kernel.reduction() == Reduction::dot) return false;
  if (left.sparse()) return in_double && !(units * std::numeric_limits<double>::epsilon() / 2 < kTolerable);
  return in_double || loses_much(left, kernel, units, kTimesLarger);
}
// Bounds limit the gaps that can be proven: those of a computation in double must be sharp. One in single precision
// aims at larger gaps, and differences would take half as long again.
template <class V, class T>
bool certificate_needs_differences(const Rows<T>& left, const KernelSpec& kernel, double units) {
  constexpr double kTimesLarger = 32;
  if (sizeof(V) == sizeof(double) || left.sparse() || kernel.reduction() == Reduction::dot)
    return needs_differences<double>(left, kernel, units);
  return loses_much(left, kernel, units, kTimesLarger);
}
bool needs_double(double units) {
  constexpr double kTolerable = 0.01;  // the bound is about ten times what happens
  return !(units * double(std::numeric_limits<float>::epsilon()) / 2 < kTolerable);
}

#define SWAPSVM_INSTANTIATE(T, V)                                                                           \
  template void rounding_of_product<T, V>(const Rows<T>&, const Norms&, Selection, const Norms&, Selection, \
                                          const KernelSpec&, const double*, bool, bool, double*, const Team&);
SWAPSVM_INSTANTIATE(float, float)
SWAPSVM_INSTANTIATE(float, double)
SWAPSVM_INSTANTIATE(double, float)
SWAPSVM_INSTANTIATE(double, double)
#undef SWAPSVM_INSTANTIATE
template bool needs_differences<float>(const Rows<float>&, const KernelSpec&, double);
template bool needs_differences<float>(const Rows<double>&, const KernelSpec&, double);
template bool needs_differences<double>(const Rows<float>&, const KernelSpec&, double);
template bool needs_differences<double>(const Rows<double>&, const KernelSpec&, double);
template bool certificate_needs_differences<float>(const Rows<float>&, const KernelSpec&, double);
template bool certificate_needs_differences<float>(const Rows<double>&, const KernelSpec&, double);
template bool certificate_needs_differences<double>(const Rows<float>&, const KernelSpec&, double);
template bool certificate_needs_differences<double>(const Rows<double>&, const KernelSpec&, double);
template Norms norms_of(const Rows<float>&);
template Norms norms_of(const Rows<double>&);
template double units_lost(const Rows<float>&, const Norms&, const Norms&, const KernelSpec&);
template double units_lost(const Rows<double>&, const Norms&, const Norms&, const KernelSpec&);
template double units_lost(const Rows<float>&, const Rows<float>&, const KernelSpec&);
template double units_lost(const Rows<double>&, const Rows<double>&, const KernelSpec&);
template bool fits_float(const Rows<float>&, const Rows<float>&, const KernelSpec&);
template bool fits_float(const Rows<double>&, const Rows<double>&, const KernelSpec&);

}  // namespace swapsvm
