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
struct InnerProblem {
  std::vector<V> q;  // n x n
  std::vector<double> diagonal, weights, score, half_linear;
  double quadratic = 0, half_linear_value = 0, scale = 1;

  // Moves until what a swap or a toward step sees of slope is `accuracy` of what it was at first.
  void run(double accuracy, int64_t max_moves) {
    double target = -1;
    for (int64_t moves = 0; moves < max_moves; ++moves) {
      const Lowest low = hot_scan().lowest(score.data(), size());
      const int64_t i = low.place;
      const int64_t j = hot_updates<V>().best_swap(
          {row(i), diagonal.data(), score.data(), weights.data(), diagonal[i], low.score, size()});
      const double mean = quadratic - half_linear_value;
      const double slope = std::max(j >= 0 ? score[j] : mean, mean) - low.score;
      if (target < 0) target = accuracy * slope;
      if (!(slope > target) || !step(i, j, mean)) return;
    }
  }

 private:
  int64_t size() const { return int64_t(weights.size()); }
  const V* row(int64_t v) const { return q.data() + v * size(); }
  double h(int64_t v) const { return score[v] + half_linear[v]; }

  // The better of a swap and a toward step, as steps/swap.hpp; false if neither ascends.
  bool step(int64_t i, int64_t j, double mean) {
    const Search toward = Search::along(2 * (mean - score[i]), 2 * (diagonal[i] - 2 * h(i) + quadratic), 1.0);
    Search swap;
    if (j >= 0)
      swap =
          Search::along(2 * (score[j] - score[i]), 2 * (diagonal[i] - 2 * double(row(i)[j]) + diagonal[j]), weights[j]);
    if (swap.step > 0 && swap.gain >= toward.gain)
      move({Kind::swap_add, 1.0, i, swap.step, j, swap.step, swap.clipped});
    else if (toward.step > 0)
      move({Kind::toward, 1 - toward.step, i, toward.step, -1, 0, false});
    else
      return false;
    return true;
  }

  void move(const Move& m) {
    const double s = m.scale, p = m.add, r = m.sub;
    const V* row_i = row(m.i);
    const V* row_j = r != 0 ? row(m.j) : row_i;
    double f = s * s * quadratic + p * p * diagonal[m.i] + 2 * s * p * h(m.i);
    if (r != 0) f += r * r * diagonal[m.j] - 2 * s * r * h(m.j) - 2 * p * r * double(row_i[m.j]);
    quadratic = f;
    half_linear_value = s * half_linear_value + p * half_linear[m.i] - (r != 0 ? r * half_linear[m.j] : 0.0);
    hot_updates<V>().update({s, p, r, 0.0, row_i, row_j}, score.data(), size());
    score[m.i] += p * (diagonal[m.i] - double(row_i[m.i]));  // the diagonal is kept in double
    if (r != 0) score[m.j] -= r * (diagonal[m.j] - double(row_j[m.j]));
    if (s != 1.0)
      for (int64_t v = 0; v < size(); ++v) {
        weights[v] *= s;
        score[v] += (s - 1) * half_linear[v];  // it is h that is scaled
      }
    weights[m.i] += p;
    if (r != 0) weights[m.j] = m.drop ? 0.0 : weights[m.j] - r;
    scale *= s;
  }
};

}  // namespace swapsvm
