// b >= 0, Qb >= 1, b'(Qb - 1) = 0 for a positive definite Q of a hundred rows or so: the L2-SVM, solved exactly.
//
// Block principal pivoting (Judice and Pires 1994, Kim and Park 2011): on a set P of positive variables Q_PP b = 1, and
// all variables of the wrong sign change sides at once. From the support of a good solution it takes a few factors.
#pragma once

#include <cstdint>
#include <vector>

namespace swapsvm {

// b, beginning with its present positive variables; whether the signs are those of the solution up to rounding.
bool solve_by_pivoting(const double* q, std::vector<double>& b);

}  // namespace swapsvm
