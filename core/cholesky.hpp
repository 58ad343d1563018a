// Cholesky factors of small matrices in double.
#pragma once

#include <cstdint>
#include <vector>

namespace swapsvm {

// Q = U'U, in place, in the upper triangle; whether Q is positive definite.
bool factor_cholesky(double* q, int64_t n);

// y <- (U'U)^-1 y
void solve_factored(const double* u, int64_t n, std::vector<double>& y);

}  // namespace swapsvm
