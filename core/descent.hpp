// Dual coordinate steps of a linear kernel, with w at hand:
//
//   maximize D(b) = target'b - b'Qb / 2 over b >= 0,   Q_uv = s_u s_v (x_u'x_v + bias) + [u == v] ridge_u
//   g_v = s_v (x_v'w + bias w_0) + ridge_v b_v - target_v,   w = sum_v s_v b_v x_v,   w_0 = sum_v s_v b_v
//   b_v <- max(0, b_v - g_v / Q_vv),   which changes w by one row: its cost is the entries of the row, twice
//
// On the simplex such a step is a swap with the slack vertex. An epoch visits the variables in random order. Those at
// 0 whose g is above every violation of the last epoch are left out until the end of the descent.
#pragma once

#include <vector>

#include "linear.hpp"

namespace swapsvm {

// Per variable.
struct DualTerms {
  std::vector<Index> rows;
  std::vector<double> sign, ridge, target;
};

class DualDescent {
 public:
  DualDescent(const AnyRows& data, DualTerms terms, double bias);

  int64_t size() const { return int64_t(terms_.rows.size()); }

  // Changes b until the gap, as seen during an epoch, is at most `accuracy` of the value, for at most `epochs`.
  // Returns s_v (x_v'w + bias w_0) of all variables at its end.
  std::vector<double> descend(std::vector<double>& b, double accuracy, int64_t epochs, const Team& team) const;

 private:
  AnyRows data_;
  DualTerms terms_;
  double bias_;
  std::vector<double> diagonal_;  // of Q
};

}  // namespace swapsvm
