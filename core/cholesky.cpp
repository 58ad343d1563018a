#include "cholesky.hpp"

#include <cmath>

#include "source.hpp"

namespace swapsvm {

bool factor_cholesky(double* q, int64_t n) {
  std::vector<double> coef(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < i; ++k) coef[k] = -q[k * n + i];
    add_scaled<double>(i, [&](int64_t k) { return &q[k * n + i]; }, coef.data(), &q[i * n + i], n - i);
    if (!(q[i * n + i] > 0)) return false;
    const double root = std::sqrt(q[i * n + i]);
    for (int64_t k = i; k < n; ++k) q[i * n + k] /= root;
  }
  return true;
}

void solve_factored(const double* u, int64_t n, std::vector<double>& y) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] /= u[i * n + i];
    for (int64_t k = i + 1; k < n; ++k) y[k] -= u[i * n + k] * y[i];
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t k = i + 1; k < n; ++k) y[i] -= u[i * n + k] * y[k];
    y[i] /= u[i * n + i];
  }
}

}  // namespace swapsvm
