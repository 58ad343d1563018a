// The block step: choose q vertices, swap among them at cache speed, bring h up to date in one fused sweep.
//
// The block W holds the best toward and the worst away vertices and some of the last block. Q_WW is formed once; inside
// it SWAP-2o runs on small dense arrays until the block's own violation has shrunk tenfold. Swaps keep the weight of
// the block; toward moves also scale everything outside it, which is one number for the sweep: h <- scale h + Q_:W d.
#pragma once

#include <algorithm>
#include <vector>

#include "hot.hpp"
#include "move.hpp"

namespace swapsvm {

// SWAP-2o on a face of a larger problem. `quadratic` and `half_linear_value` belong to the whole point, not to the
// face.
template <class V>
class InnerProblem {
 public:
  std::vector<V> q;  // n x n
  std::vector<double> diagonal, weights, h, half_linear;
  double quadratic = 0, half_linear_value = 0, scale = 1;

  // Moves until max over active score - min score is `accuracy` of what it was; returns their number.
  int64_t run(double accuracy, int64_t max_moves) {
    const int64_t n = int64_t(weights.size());
    score_ = h;
    for (int64_t v = 0; v < n; ++v) score_[v] -= half_linear[v];
    double target = -1;
    int64_t moves = 0;
    for (; moves < max_moves; ++moves) {
      const Extremes e = hot_scan().scan(score_.data(), nullptr, weights.data(), n);
      const double mean = quadratic - half_linear_value;
      const double violation = std::max(e.highest_active, mean) - e.lowest;
      if (target < 0) target = accuracy * violation;
      if (!(violation > target)) break;
      const int64_t i = std::find(score_.begin(), score_.end(), e.lowest) - score_.begin();
      if (!step(i, mean)) break;
    }
    return moves;
  }

 private:
  bool step(int64_t i, double mean) {
    const int64_t n = int64_t(weights.size());
    const V* row_i = q.data() + i * n;
    const int64_t j =
        hot_updates<V>().best_swap({row_i, diagonal.data(), score_.data(), weights.data(), diagonal[i], score_[i], n});
    const Search toward = Search::along(2 * (mean - score_[i]), 2 * (diagonal[i] - 2 * h[i] + quadratic), 1.0);
    Search swap;
    if (j >= 0)
      swap = Search::along(2 * (score_[j] - score_[i]), 2 * (diagonal[i] - 2 * double(row_i[j]) + diagonal[j]),
                           weights[j]);
    if (swap.gain >= toward.gain && swap.step > 0)
      move({swap.clipped ? Kind::swap_drop : Kind::swap_add, 1.0, i, swap.step, j, swap.step, swap.clipped});
    else if (toward.step > 0)
      move({Kind::toward, 1 - toward.step, i, toward.step, -1, 0, false});
    else
      return false;
    return true;
  }

  void move(const Move& m) {
    const int64_t n = int64_t(weights.size());
    const double s = m.scale, p = m.add, r = m.sub;
    const V* row_i = q.data() + m.i * n;
    const V* row_j = m.sub != 0 ? q.data() + m.j * n : row_i;
    double f = s * s * quadratic + p * p * diagonal[m.i] + 2 * s * p * h[m.i];
    if (r != 0) f += r * r * diagonal[m.j] - 2 * s * r * h[m.j] - 2 * p * r * double(row_i[m.j]);
    quadratic = f;
    half_linear_value = s * half_linear_value + p * half_linear[m.i] - (r != 0 ? r * half_linear[m.j] : 0.0);
    hot_updates<V>().update({s, p, r, 0.0, row_i, row_j}, h.data(), n);
    h[m.i] += p * (diagonal[m.i] - double(row_i[m.i]));  // the diagonal is kept in double
    if (r != 0) h[m.j] -= r * (diagonal[m.j] - double(row_j[m.j]));
    if (s != 1.0)
      for (double& a : weights) a *= s;
    weights[m.i] += p;
    if (r != 0) weights[m.j] = m.drop ? 0.0 : weights[m.j] - r;
    scale *= s;
    for (int64_t v = 0; v < n; ++v) score_[v] = h[v] - half_linear[v];
  }

  std::vector<double> score_;
};

}  // namespace swapsvm
