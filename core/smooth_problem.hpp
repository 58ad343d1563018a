// min over u of |u|^2 / 2 + sum_i c_i max(0, q_i - z_i'u)^2 / 2, by Newton steps with conjugate gradients.
//
// It is the dual of max over b >= 0 of q'b - b'(Z Z' + diag(1/c)) b / 2, whose solution is b = c max(0, q - Z u). See
// solvers/newton.py, which does the same for passes over many rows.
#pragma once

#include <vector>

#include "low_rank.hpp"

namespace swapsvm {

class SmoothProblem {
 public:
  SmoothProblem(const LowRank& z, std::vector<double> c, std::vector<double> u)
      : z_(z), c_(std::move(c)), u_(std::move(u)) {}

  // b at a u whose error is `accuracy`, a part of the value, from the last u on.
  std::vector<double> solve(const std::vector<double>& q, double accuracy, const Team& team);

 private:
  double evaluate(const std::vector<double>& q, const std::vector<double>& u);
  std::vector<double> gradient() const;
  // H v, H = I + sum over active i of c_i z_i z_i'.
  std::vector<double> curved(const std::vector<double>& v) const;
  // -H^-1 gradient, to a part of its error.
  std::vector<double> newton_step(const std::vector<double>& gradient, const Team& team);
  void precondition(const Team& team);
  // Along a step, to a lower value.
  bool descend(const std::vector<double>& q, const std::vector<double>& step, double slope);

  const LowRank& z_;
  std::vector<double> c_, u_;
  std::vector<double> slack_;   // max(0, q - Z u)
  std::vector<double> factor_;  // of H at some u
  double value_ = 0;
};

}  // namespace swapsvm
