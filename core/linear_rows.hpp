// One row of the data times a vector, and added to one: what every pass of a linear kernel is made of.
#pragma once

#include <algorithm>
#include <cmath>

#include "rows.hpp"

namespace swapsvm {

struct Plain {
  double operator()(double x) const { return x; }
};
struct Square {
  double operator()(double x) const { return x * x; }
};
struct Absolute {
  double operator()(double x) const { return std::abs(x); }
};

// x'w; `of` is applied to each number of x. Independent sums hide the latency of an addition.
template <class T, class Of = Plain>
double dot_row(const Rows<T>& data, int64_t row, const double* w, Of of = {}) {
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  if (data.sparse()) {
    const int64_t end = data.indptr[row + 1];
    int64_t p = data.indptr[row];
    for (; p + 4 <= end; p += 4)
      for (int64_t k = 0; k < 4; ++k) sums[k] += of(double(data.data[p + k])) * w[data.indices[p + k]];
    for (; p < end; ++p) sums[0] += of(double(data.data[p])) * w[data.indices[p]];
  } else {
    const T* x = data.data + row * data.features;
    int64_t f = 0;
    for (; f + kSums <= data.features; f += kSums)
      for (int64_t k = 0; k < kSums; ++k) sums[k] += of(double(x[f + k])) * w[f + k];
    for (; f < data.features; ++f) sums[f % kSums] += of(double(x[f])) * w[f];
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// w += coef x
template <class T, class Of = Plain>
void add_row(const Rows<T>& data, int64_t row, double coef, double* w, Of of = {}) {
  if (data.sparse()) {
    for (int64_t p = data.indptr[row]; p < data.indptr[row + 1]; ++p)
      w[data.indices[p]] += coef * of(double(data.data[p]));
  } else {
    const T* x = data.data + row * data.features;
    for (int64_t f = 0; f < data.features; ++f) w[f] += coef * of(double(x[f]));
  }
}

}  // namespace swapsvm
