// Fused products: kernel values are multiplied and summed as they are computed, none is stored. The rows on the left
// and the vectors on the right may come from different data. And what rounding does to them, which decides on the
// arithmetic that they need. Instantiated for float and double.
#pragma once

#include "source.hpp"

namespace swapsvm {

// out[r] = sum_c coef[c] k(left_r, right_c): the product of sweeps, samples and certificates.
// `differences`: distances are summed from differences, else, squared ones, as |x|^2 + |z|^2 - 2 x'z.
template <class T, class V>
void fused_product(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                   const KernelSpec& kernel, const double* coef, double* out, const Team& team, bool differences);

// The same for the product of rows with themselves; each value is computed once. See symmetric_product.cpp.
template <class T, class V>
void symmetric_product(const Rows<T>& data, Selection rows, const KernelSpec& kernel, const double* coef, double* out,
                       const Team& team, bool differences);
// Rows on the left and on the right with each other: the sums of both, each value computed once.
template <class T, class V>
void mutual_product(const Rows<T>& data, const KernelSpec& kernel, const Side& left, const Side& right,
                    const Team& team, bool differences);
// Whether this many rows are enough, and not so wide that packing blocks of them would take the time.
template <class V>
bool symmetry_pays(int64_t features, int64_t rows);

// out[r * columns.count + c] = k(left_r, right_c)
template <class T, class V>
void kernel_block(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                  const KernelSpec& kernel, V* out, const Team& team, bool differences);

// Vectors in consecutive groups, such as classes, with several lines of coefficients. Each line of a group is a sum of
// its own, which goes to one of the columns of the output.
struct Groups {
  const double* coef = nullptr;    // of line l and vector c: coef[l * vectors + c]
  const int64_t* ends = nullptr;   // of the groups
  const Index* columns = nullptr;  // of line l of group g: columns[g * lines + l]
  int64_t vectors = 0, groups = 0, lines = 0, outputs = 0;

  int64_t begin(int64_t group) const { return group > 0 ? ends[group - 1] : 0; }
  Selection vectors_of(int64_t group) const { return {nullptr, begin(group), ends[group] - begin(group)}; }
};

// out[r * outputs + columns[g * lines + l]] += sum of coef[l * vectors + c] k(left_r, right_c) over the vectors c of
// group g. Kernel values are in V, or in double where those in float would be wrong; of few rows always in double.
template <class T, class V>
void grouped_products(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const Groups& groups,
                      double* out, const Team& team);

using Norms = std::vector<Norm>;  // of all rows
template <class T>
Norms norms_of(const Rows<T>& data);

// Bounds on |computed - true| of fused_product in arithmetic of type V for each of the rows of `data`, or of others
// that are stored alike; see rounding.cpp. `exact`: strips are summed in double, not kept lines.
template <class T, class V>
void rounding_of_product(const Rows<T>& data, const Norms& left, Selection rows, const Norms& right, Selection columns,
                         const KernelSpec& kernel, const double* coef, bool differences, bool exact, double* bound,
                         const Team& team);

// Of sums of given values, each at most `largest`: n u times the sum of their absolute values.
double rounding_of_sum(const Vectors& z, double largest);

// How much squared distances as |x|^2 + |z|^2 - 2 x'z (and absolute ones of sparse rows) can change a kernel value, in
// units of the arithmetic: much for rows that are far from the origin and close to each other.
template <class T>
double units_lost(const Rows<T>& data, const Norms& left, const Norms& right, const KernelSpec& kernel);
template <class T>
double units_lost(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel);
// Whether that is too much: distances are then summed from differences, for which sparse rows are spread out ...
template <class V, class T>
bool needs_differences(const Rows<T>& left, const KernelSpec& kernel, double units);
// ... which is too slow for single precision: it is not used for such sparse rows.
bool needs_double(double units);
// The same for products in double that certify what was computed in V.
template <class V, class T>
bool certificate_needs_differences(const Rows<T>& left, const KernelSpec& kernel, double units);

// Whether products of these rows, and what a kernel makes of them, stay within the range of float.
template <class T>
bool fits_float(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel);

}  // namespace swapsvm
