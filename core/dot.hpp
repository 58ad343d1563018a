// x'y as four independent sums: the compiler must not reorder the additions of one.
#pragma once

#include <cstdint>

namespace swapsvm {

inline double dot(const double* x, const double* y, int64_t count) {
  double sums[4] = {};
  int64_t k = 0;
  for (; k + 4 <= count; k += 4)
    for (int s = 0; s < 4; ++s) sums[s] += x[k + s] * y[k + s];
  for (; k < count; ++k) sums[0] += x[k] * y[k];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace swapsvm
