#include "product.hpp"

#include "dot.hpp"
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

// Adds the sums of group g, each to its column.
template <class T, class V>
static void fused_products(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const Groups& groups,
                           int64_t g, double* out, const Team& team, bool differences) {
  const auto& hot = hot_kernels<T, V>();
  const int64_t lines = groups.lines, padded = (lines + hot.lanes - 1) / hot.lanes * hot.lanes;
  const Selection group = groups.vectors_of(g);
  const Index* columns = groups.columns + g * lines;
  for_each_packed<V>(right, kernel, group, nullptr, hot.strip_width, differences, [&](int64_t first, Packed<V> block) {
    const int64_t strips = (block.count + hot.strip_width - 1) / hot.strip_width;
    const AlignedArray<V> coefs = aligned_array<V>(strips * hot.strip_width * padded);
    std::fill_n(coefs.get(), strips * hot.strip_width * padded, V(0));
    for (int64_t l = 0; l < lines; ++l)
      for (int64_t b = 0; b < block.count; ++b)
        coefs[b * padded + l] = V(groups.coef[l * groups.vectors + group[first + b]]);
    for_each_piece(left, all_rows(left.size), differences, kRowChunk / 4, team,
                   [&](int64_t begin, const Rows<T>& data, Selection piece) {
                     std::vector<double> some(size_t(piece.count * padded), 0.0);
                     hot.products(data, kernel, block, coefs.get(), padded, piece, some.data());
                     for (int64_t r = 0; r < piece.count; ++r) {
                       double* row = out + (begin + r) * groups.outputs;
                       for (int64_t l = 0; l < lines; ++l) row[columns[l]] += some[size_t(r * padded + l)];
                     }
                   });
  });
}

// Through one w for each output: kernel values are not needed.
template <class T>
static void linear_products(const Rows<T>& left, const Rows<T>& right, const Groups& groups, double* out,
                            const Team& team) {
  struct Sum {
    std::vector<Index> vectors;
    std::vector<double> coef;
  };
  std::vector<Sum> outputs(size_t(groups.outputs));
  for (int64_t g = 0; g < groups.groups; ++g)
    for (int64_t l = 0; l < groups.lines; ++l)
      for (int64_t v = groups.begin(g); v < groups.ends[g]; ++v) {
        const double coef = groups.coef[l * groups.vectors + v];
        Sum& sum = outputs[size_t(groups.columns[g * groups.lines + l])];
        if (coef != 0) sum.vectors.push_back(Index(v)), sum.coef.push_back(coef);
      }
  std::vector<double> sums(size_t(left.size));
  for (int64_t o = 0; o < groups.outputs; ++o) {
    const Sum& sum = outputs[size_t(o)];
    const Selection vectors{sum.vectors.data(), 0, int64_t(sum.vectors.size())};
    linear_product(left, all_rows(left.size), right, vectors, sum.coef.data(), sums.data(), team);
    for (int64_t r = 0; r < left.size; ++r) out[r * groups.outputs + o] = sums[size_t(r)];
  }
}

template <class T, class V>
static void packed_products(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const Groups& groups,
                            double* out, const Team& team, bool differences) {
  if (groups.lines > 1) {
    for (int64_t g = 0; g < groups.groups; ++g)
      fused_products<T, V>(left, right, kernel, groups, g, out, team, differences);
    return;
  }
  std::vector<double> sums(size_t(left.size));  // a single line has a faster way
  for (int64_t g = 0; g < groups.groups; ++g) {
    fused_product<T, V>(left, all_rows(left.size), right, groups.vectors_of(g), kernel, groups.coef + groups.begin(g),
                        sums.data(), team, differences);
    for (int64_t r = 0; r < left.size; ++r) out[r * groups.outputs + groups.columns[g]] += sums[size_t(r)];
  }
}

// Row by row, all kernel values of a row at once: to pack the vectors would take longer.
template <class T>
static void row_products(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const Groups& groups,
                         double* out, const Team& team, bool differences) {
  std::vector<double> values(size_t(right.size));
  for (int64_t r = 0; r < left.size; ++r, out += groups.outputs) {
    const SpreadRow<double> x(left, kernel.reduction(), r);
    for_each_piece(right, all_rows(right.size), differences, kRowChunk, team,
                   [&](int64_t begin, const Rows<T>& data, Selection piece) {
                     hot_kernels<T, double>().line(data, kernel, x.query(), piece, values.data() + begin);
                   });
    for (int64_t g = 0; g < groups.groups; ++g) {
      const int64_t begin = groups.begin(g), count = groups.ends[g] - begin;
      for (int64_t l = 0; l < groups.lines; ++l)
        out[groups.columns[g * groups.lines + l]] +=
            dot(groups.coef + l * groups.vectors + begin, values.data() + begin, count);
    }
  }
}

template <class T, class V>
void grouped_products(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const Groups& groups,
                      double* out, const Team& team) {
  constexpr int64_t kFewRows = 4;
  constexpr double kAlone = 262144;  // operations that are not worth a team of threads
  check_same_features(left, right);
  if (kernel.kind == KernelKind::linear) return linear_products(left, right, groups, out, team);
  if (left.size <= kFewRows) {
    const bool small = double(right.size) * double(right.features) < kAlone;
    const bool differences =  // of dense vectors, distances are always summed from them
        right.sparse() && needs_differences<double>(right, kernel, units_lost(right, left, kernel));
    return row_products(left, right, kernel, groups, out, small ? Team{1, team.token} : team, differences);
  }
  const double units = units_lost(left, right, kernel);
  if (sizeof(V) < sizeof(double) && ((left.sparse() && needs_double(units)) || !fits_float(left, right, kernel)))
    return packed_products<T, double>(left, right, kernel, groups, out, team,
                                      needs_differences<double>(left, kernel, units));
  packed_products<T, V>(left, right, kernel, groups, out, team, needs_differences<V>(left, kernel, units));
}

#define SWAPSVM_INSTANTIATE(T, V)                                                                                 \
  template void fused_product<T, V>(const Rows<T>&, Selection, const Rows<T>&, Selection, const KernelSpec&,      \
                                    const double*, double*, const Team&, bool);                                   \
  template void kernel_block<T, V>(const Rows<T>&, Selection, const Rows<T>&, Selection, const KernelSpec&, V*,   \
                                   const Team&, bool);                                                            \
  template void grouped_products<T, V>(const Rows<T>&, const Rows<T>&, const KernelSpec&, const Groups&, double*, \
                                       const Team&);
SWAPSVM_INSTANTIATE(float, float)
SWAPSVM_INSTANTIATE(float, double)
SWAPSVM_INSTANTIATE(double, float)
SWAPSVM_INSTANTIATE(double, double)
#undef SWAPSVM_INSTANTIATE

}  // namespace swapsvm
