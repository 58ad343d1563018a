// The innermost level of the block engine: SWAP-2o among about a thousand vertices, at cache speed.
//
// If b >= 0 is all that is required, two variables at a time take what they need from the slack: exact steps in a
// plane. Otherwise swaps keep the weight of the block, and toward moves also scale everything outside of it, which is
// one number, `scale`, for the caller, who updates the other scores. Scores and Q are in V here: the owner of the block
// computes the scores that follow from the new weights afresh, in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "gram.hpp"
#include "move.hpp"

namespace swapsvm {

// `quadratic` and `half_linear_value` belong to the whole point, not to the block.
template <class V>
struct InnerProblem {
  SpareArray<V> q;  // n x n
  std::vector<V> diagonal, score, active;
  std::vector<double> weights, half_linear;
  double quadratic = 0, half_linear_value = 0, scale = 1;
  bool linear = false;  // whether any half_linear is not zero
  double unit = 1;      // scores are divided by it, so that their squares stay within the range of a float

  void reset(size_t n, double largest_score, double f, double linear_value) {
    for (auto* array : {&diagonal, &score, &active}) array->resize(n);
    for (auto* array : {&weights, &half_linear}) array->resize(n);
    unit = largest_score > 0 ? largest_score : 1.0;
    quadratic = f, half_linear_value = linear_value, scale = 1, linear = false;
  }

  void set(size_t v, double q_vv, double score_v, double half_linear_v, double weight) {
    diagonal[v] = V(q_vv);
    score[v] = V(score_v / unit);
    half_linear[v] = half_linear_v;
    linear = linear || half_linear_v != 0;
    weights[v] = weight;
    active[v] = weight > 0 ? V(1) : V(0);
  }

  // After a change of the ridge, which is on the diagonal only.
  void set_diagonal() {
    for (int64_t v = 0; v < size(); ++v) q.values.get()[v * size() + v] = diagonal[size_t(v)];
  }

  // Copies the lower triangle of q to the upper one, tile by tile.
  void mirror() {
    constexpr int64_t kTile = 16;
    V* values = q.values.get();
    for (int64_t i = 0; i < size(); i += kTile)
      for (int64_t j = 0; j <= i; j += kTile)
        for (int64_t u = i; u < std::min(i + kTile, size()); ++u)
          for (int64_t v = j; v < std::min(j + kTile, u); ++v) values[v * size() + u] = values[u * size() + v];
  }

  // Moves until the slope of the best swap or toward step is `accuracy` times the initial one.
  int64_t run(double accuracy, int64_t max_moves) {
    if (size() == 0) return 0;
    Lowest low = update_scores({V(1), V(0), V(0), row(0), row(0)});
    double target = -1;
    for (int64_t moves = 0; moves < max_moves; ++moves) {
      const int64_t i = low.place;
      const int64_t j = hot_updates<V>().best_swap(
          {row(i), diagonal.data(), score.data(), active.data(), diagonal[i], V(low.score), size()});
      const double mean = (quadratic - half_linear_value) / unit;
      const double slope = std::max(j >= 0 ? double(score[j]) : mean, mean) - low.score;
      if (target < 0) target = accuracy * slope;
      const Move m = slope > target ? choose(i, j, mean) : Move{};
      if (m.empty()) return moves;
      low = move(m);
    }
    return max_moves;
  }

  // The same for b >= 0: the worst variable, and the one that gains most beside it.
  int64_t run_pairs(double accuracy, int64_t max_moves) {
    if (size() == 0) return 0;
    Lowest worst = update_violations({V(1), V(0), V(0), row(0), row(0)});
    const double target = accuracy * worst.score;
    for (int64_t moves = 0; moves < max_moves; ++moves) {
      if (!(worst.score < target)) return moves;
      const int64_t i = worst.place;
      const int64_t partner = hot_updates<V>().best_partner(
          {row(i), diagonal.data(), score.data(), active.data(), diagonal[i], score[i], size()});
      const int64_t j = partner == i ? -1 : partner;
      const PairStep step = pair_step(i, j);
      if (step.i == 0 && step.j == 0) return moves;
      add(i, step.i);
      if (j >= 0) add(j, step.j);
      worst = update_violations({V(1), V(step.i / unit), V(-step.j / unit), row(i), row(j >= 0 ? j : i)});
    }
    return max_moves;
  }

 private:
  struct PairStep {
    double i = 0, j = 0;
  };

  int64_t size() const { return int64_t(weights.size()); }
  const V* row(int64_t v) const { return q.values.get() + v * size(); }
  double h(int64_t v) const { return unit * double(score[v]) + half_linear[v]; }

  // min of t'Qt / 2 + score't over t_i >= -weight_i and t_j >= -weight_j: inside, or on the better of two edges.
  PairStep pair_step(int64_t i, int64_t j) const {
    const double q_ii = double(diagonal[i]), s_i = unit * double(score[i]);
    if (j < 0) return {least_of(s_i, q_ii, weights[i]), 0};
    const double q_jj = double(diagonal[j]), q_ij = double(row(i)[j]), s_j = unit * double(score[j]);
    const double determinant = q_ii * q_jj - q_ij * q_ij;
    const PairStep inside{(q_ij * s_j - q_jj * s_i) / determinant, (q_ij * s_i - q_ii * s_j) / determinant};
    if (determinant > 0 && inside.i >= -weights[i] && inside.j >= -weights[j]) return inside;
    const PairStep edge_i{-weights[i], least_of(s_j - q_ij * weights[i], q_jj, weights[j])};
    const PairStep edge_j{least_of(s_i - q_ij * weights[j], q_ii, weights[i]), -weights[j]};
    const auto value = [&](const PairStep& t) {
      return t.i * (s_i + q_ii * t.i / 2) + t.j * (s_j + q_jj * t.j / 2) + t.i * t.j * q_ij;
    };
    return value(edge_i) < value(edge_j) ? edge_i : edge_j;
  }
  static double least_of(double slope, double curvature, double weight) {
    return curvature > 0 ? std::max(-slope / curvature, -weight) : 0.0;
  }

  void add(int64_t v, double step) {
    weights[v] = step == -weights[v] ? 0.0 : weights[v] + step;
    active[v] = weights[v] > 0 ? V(1) : V(0);
  }

  Lowest update_violations(const ScoreUpdate<V>& u) {
    return hot_updates<V>().update_violations(u, score.data(), active.data(), size());
  }

  // The better of a swap and a toward step, as steps/swap.hpp.
  Move choose(int64_t i, int64_t j, double mean) const {
    const Search toward =
        Search::along(2 * unit * (mean - double(score[i])), 2 * (double(diagonal[i]) - 2 * h(i) + quadratic), 1.0);
    Search swap;
    if (j >= 0)
      swap = Search::along(2 * unit * (double(score[j]) - double(score[i])),
                           2 * (double(diagonal[i]) - 2 * double(row(i)[j]) + double(diagonal[j])), weights[j]);
    if (swap.step > 0 && swap.gain >= toward.gain)
      return {Kind::swap_add, 1.0, i, swap.step, j, swap.step, swap.clipped};
    return {Kind::toward, 1 - toward.step, i, toward.step, -1, 0, false};
  }

  Lowest move(const Move& m) {
    const double s = m.scale, p = m.add, r = m.sub;
    const V* row_i = row(m.i);
    const V* row_j = r != 0 ? row(m.j) : row_i;
    double f = s * s * quadratic + p * p * double(diagonal[m.i]) + 2 * s * p * h(m.i);
    if (r != 0) f += r * r * double(diagonal[m.j]) - 2 * s * r * h(m.j) - 2 * p * r * double(row_i[m.j]);
    quadratic = f;
    half_linear_value = s * half_linear_value + p * half_linear[m.i] - (r != 0 ? r * half_linear[m.j] : 0.0);
    if (s != 1.0) scale_weights(s);
    weights[m.i] += p;
    active[m.i] = V(1);
    if (r != 0) {
      weights[m.j] = m.drop ? 0.0 : weights[m.j] - r;
      if (!(weights[m.j] > 0)) active[m.j] = V(0);
    }
    const Lowest low = update_scores({V(s), V(p / unit), V(r / unit), row_i, row_j});
    return s != 1.0 && linear ? shift_scores(s) : low;
  }

  Lowest update_scores(const ScoreUpdate<V>& u) { return hot_updates<V>().update_scores(u, score.data(), size()); }

  // A toward step scales h, not the score h - c/2: corrects for c.
  Lowest shift_scores(double s) {
    for (int64_t v = 0; v < size(); ++v) score[v] += V((s - 1) * half_linear[v] / unit);
    return update_scores({V(1), V(0), V(0), row(0), row(0)});
  }

  void scale_weights(double s) {
    scale *= s;
    for (int64_t v = 0; v < size(); ++v) {
      weights[v] *= s;
      if (!(weights[v] > 0)) active[v] = V(0);
    }
  }
};

// The vertices that a block keeps, and the slack, through which it takes and gives weight.
inline std::vector<int32_t>& with_slack(std::vector<int32_t>& kept, int64_t slack) {
  if (slack >= 0 && std::find(kept.begin(), kept.end(), int32_t(slack)) == kept.end()) kept.push_back(int32_t(slack));
  return kept;
}

// Vertices of the next block: the lowest scores of all, the highest of the active ones, and `kept`, which is replaced
// by what the block after it should keep: up to half of it, of those that are new in this one. score(v) may be infinite
// for vertices that take no part.
template <class Score, class Active>
std::vector<int32_t> choose_block(int64_t count, Score score, Active active, int64_t size, std::vector<int32_t>& kept) {
  using Scored = std::pair<double, int32_t>;  // ties go to the lowest index
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  std::vector<char> taken(size_t(count), 0);
  for (const int32_t v : kept) taken[size_t(v)] = 1;
  for (int64_t v = 0; v < count; ++v) {
    lowest = std::min(lowest, score(v));
    if (active(v)) highest = std::max(highest, score(v));
  }
  std::vector<Scored> low, high;
  for (int64_t v = 0; v < count; ++v) {
    if (taken[size_t(v)]) continue;
    if (score(v) < highest) low.push_back({score(v), int32_t(v)});
    if (active(v) && score(v) > lowest) high.push_back({-score(v), int32_t(v)});
  }
  std::vector<int32_t> block = kept;
  const auto take = [&](std::vector<Scored>& candidates, int64_t wanted) {
    wanted = std::min<int64_t>(std::max<int64_t>(wanted, 1), int64_t(candidates.size()));
    std::nth_element(candidates.begin(), candidates.begin() + wanted, candidates.end());
    for (int64_t k = 0; k < wanted; ++k) {
      const int32_t v = candidates[size_t(k)].second;
      if (!taken[size_t(v)]) block.push_back(v);
      taken[size_t(v)] = 1;
    }
  };
  take(low, (size - int64_t(kept.size())) / 2);
  take(high, size - int64_t(block.size()));
  kept.assign(block.begin() + int64_t(kept.size()), block.end());
  if (int64_t(kept.size()) > size / 2) kept.resize(size_t(size / 2));
  return block;
}

}  // namespace swapsvm
