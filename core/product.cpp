#include "product.hpp"

#include "linear.hpp"
#include "packing.hpp"

namespace swapsvm {

template <class T, class V>
void fused_product(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                   const KernelSpec& kernel, const double* coef, double* out, const Team& team, bool differences) {
  const auto& hot = hot_kernels<T, V>();
  for (int64_t r = 0; r < rows.count; ++r) out[r] = 0;
  for_each_packed<V>(right, kernel, columns, coef, hot.strip_width, differences, [&](int64_t, Packed<V> block) {
    for_each_piece(left, rows, differences, kRowChunk / 4, team,
                   [&](int64_t begin, const Rows<T>& data, Selection some) {
                     hot.product(data, kernel, block, some, out + begin);
                   });
  });
}

template <class T, class V>
void kernel_block(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                  const KernelSpec& kernel, V* out, const Team& team, bool differences) {
  const auto& hot = hot_kernels<T, V>();
  for_each_packed<V>(
      right, kernel, columns, nullptr, hot.strip_width, differences, [&](int64_t first, Packed<V> block) {
        for_each_piece(left, rows, differences, kRowChunk / 4, team,
                       [&](int64_t begin, const Rows<T>& data, Selection some) {
                         hot.block(data, kernel, block, some, out + begin * columns.count + first, columns.count);
                       });
      });
}

template <class T, class V>
static void fused_products(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const double* coefs,
                           int64_t outputs, double* out, const Team& team, bool differences) {
  const auto& hot = hot_kernels<T, V>();
  const int64_t padded = (outputs + hot.lanes - 1) / hot.lanes * hot.lanes;
  std::fill_n(out, left.size * outputs, 0.0);
  for_each_packed<V>(right, kernel, all_rows(right.size), nullptr, hot.strip_width, differences,
                     [&](int64_t first, Packed<V> block) {
                       const int64_t strips = (block.count + hot.strip_width - 1) / hot.strip_width;
                       const AlignedArray<V> some = aligned_array<V>(strips * hot.strip_width * padded);
                       std::fill_n(some.get(), strips * hot.strip_width * padded, V(0));
                       for (int64_t b = 0; b < block.count; ++b)
                         for (int64_t o = 0; o < outputs; ++o)
                           some[b * padded + o] = V(coefs[(first + b) * outputs + o]);
                       for_each_piece(left, all_rows(left.size), differences, kRowChunk / 4, team,
                                      [&](int64_t begin, const Rows<T>& data, Selection piece) {
                                        std::vector<double> sums(size_t(piece.count * padded), 0.0);
                                        hot.products(data, kernel, block, some.get(), padded, piece, sums.data());
                                        for (int64_t r = 0; r < piece.count; ++r)
                                          for (int64_t o = 0; o < outputs; ++o)
                                            out[(begin + r) * outputs + o] += sums[r * padded + o];
                                      });
                     });
}

// Through one w for each output: kernel values are not needed.
template <class T>
static void linear_products(const Rows<T>& left, const Rows<T>& right, const double* coefs, int64_t outputs,
                            double* out, const Team& team) {
  std::vector<double> coef(size_t(right.size)), sums(size_t(left.size));
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t c = 0; c < right.size; ++c) coef[size_t(c)] = coefs[c * outputs + o];
    linear_product(left, all_rows(left.size), right, all_rows(right.size), coef.data(), sums.data(), team);
    for (int64_t r = 0; r < left.size; ++r) out[r * outputs + o] = sums[size_t(r)];
  }
}

template <class T, class V>
void cross_products(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const double* coefs,
                    int64_t outputs, double* out, const Team& team) {
  check_same_features(left, right);
  if (kernel.kind == KernelKind::linear) return linear_products(left, right, coefs, outputs, out, team);
  const double units = units_lost(left, right, kernel);
  if (sizeof(V) < sizeof(double) && ((left.sparse() && needs_double(units)) || !fits_float(left, right, kernel)))
    return cross_products<T, double>(left, right, kernel, coefs, outputs, out, team);
  const bool differences = needs_differences<V>(left, kernel, units);
  if (outputs == 1)  // has a faster way
    fused_product<T, V>(left, all_rows(left.size), right, all_rows(right.size), kernel, coefs, out, team, differences);
  else
    fused_products<T, V>(left, right, kernel, coefs, outputs, out, team, differences);
}

#define SWAPSVM_INSTANTIATE(T, V)                                                                               \
  template void fused_product<T, V>(const Rows<T>&, Selection, const Rows<T>&, Selection, const KernelSpec&,    \
                                    const double*, double*, const Team&, bool);                                 \
  template void kernel_block<T, V>(const Rows<T>&, Selection, const Rows<T>&, Selection, const KernelSpec&, V*, \
                                   const Team&, bool);                                                          \
  template void cross_products<T, V>(const Rows<T>&, const Rows<T>&, const KernelSpec&, const double*, int64_t, \
                                     double*, const Team&);
SWAPSVM_INSTANTIATE(float, float)
SWAPSVM_INSTANTIATE(float, double)
SWAPSVM_INSTANTIATE(double, float)
SWAPSVM_INSTANTIATE(double, double)
#undef SWAPSVM_INSTANTIATE

}  // namespace swapsvm
