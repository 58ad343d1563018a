// Linear kernels: a sum over vectors is one product with w, so a sweep reads every row once.
//
//   sum_c coef_c x_r'z_c = x_r'w,   w = sum_c coef_c z_c
//
// All sums are in double, whatever the type of the data; in linear_product, w is compensated. Sums over rows are cut
// into fixed chunks and combined in their order. Instantiated for float and double.
#pragma once

#include <vector>

#include "source.hpp"

namespace swapsvm {

// sum_c coef[c] x_c, one number for each feature.
template <class T>
std::vector<double> weighted_sum(const Rows<T>& data, Selection rows, const double* coef, const Team& team);

// out[r] = x_r'w
template <class T>
void multiply_rows(const Rows<T>& data, Selection rows, const double* w, double* out, const Team& team);

// out[r] = sum_c coef[c] left_r'right_c, and bounds on |computed - true| of it.
template <class T>
void linear_product(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns, const double* coef,
                    double* out, const Team& team);
template <class T>
void rounding_of_linear_product(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                                const double* coef, double* bound, const Team& team);

// Rows of data with a last feature, the root of the bias, as the exact features of a linear kernel: K = Z Z'. The verbs
// are those of Features.
class LinearFeatures {
 public:
  LinearFeatures(const AnyRows& data, std::vector<Index> rows, double bias, int threads);

  int64_t rows() const { return int64_t(rows_.size()); }
  int64_t columns() const { return features_ + 1; }
  std::vector<double> residual() const { return std::vector<double>(rows_.size(), 0.0); }

  std::vector<double> product(const double* v) const;
  std::vector<double> transposed(const double* w) const;
  std::vector<double> quadratic(const double* w, const double* v) const;
  std::vector<float> some(Selection places) const;
  // The diagonal of Z' diag(w) Z.
  std::vector<double> squares(const double* w) const;

 private:
  Selection selection() const { return {rows_.data(), 0, rows()}; }

  AnyRows data_;
  std::vector<Index> rows_;
  int64_t features_;
  double constant_;  // the last feature of every row
  int threads_;
};

}  // namespace swapsvm
