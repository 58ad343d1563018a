// A move on the simplex, weights <- scale * weights + add * e_i - sub * e_j, and the search that leads to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace swapsvm {

enum class Kind : int32_t { toward, away, swap_add, swap_drop, corrective, surrogate, linear };
inline constexpr int kKinds = 7;
inline constexpr const char* kKindNames[kKinds] = {"toward",     "away",      "swap-add", "swap-drop",
                                                   "corrective", "surrogate", "linear"};

struct Move {
  Kind kind = Kind::toward;
  double scale = 1.0;
  int64_t i = -1;
  double add = 0.0;
  int64_t j = -1;
  double sub = 0.0;
  bool drop = false;  // weight j becomes exactly zero

  bool empty() const { return add == 0.0 && sub == 0.0; }
};

// Weights for some variables; those of all others are multiplied by `scale`.
struct Correction {
  std::vector<int32_t> variables;
  std::vector<double> weights;
  double scale = 1.0;
  double growth = 1.0;  // of the radius, which scale and weights have seen already
  bool fused = false;   // bring h up to date in one pass over the rows, not by cached columns
  bool afresh = false;  // sum h from the new weights alone: increments would carry the rounding of the first ones
};

// What a variable adds to twice (primal - dual) of min b'Qb / 2 - c'b, b >= 0, at w = sum b phi: with q = c - Qb and
// the slack variable xi = max(q + ridge b, 0) it is xi^2 / ridge + ridge b^2 - 2 b (q + ridge b). Here the score is -q.
inline double excess(double score, double weight, double ridge) {
  if (!(weight > 0) && score >= 0) return 0;
  return score < ridge * weight ? score * score / ridge : weight * (2 * score - ridge * weight);
}

// What the oracles need of a pass over all variables.
struct Summary {
  int64_t toward = -1, away = -1;
  double toward_score = 0;
  double excess = 0;  // sum of excess() over all variables, if the radius grows
};

// Exact line search on g(a + t d) = g(a) + t slope - t^2 curvature / 2 over 0 <= t <= longest.
struct Search {
  double step = 0.0;
  double gain = 0.0;  // of the best step in [0, 1]: that is what SWAP compares ([SWAP14] Alg. 4)
  bool clipped = false;

  static Search along(double slope, double curvature, double longest) {
    if (!(slope > 0.0)) return {};
    const double infinity = std::numeric_limits<double>::infinity();
    const double best = curvature > 0.0 ? slope / curvature : infinity;
    const double gain = best < 1.0 ? slope * slope / (2 * curvature) : slope - curvature / 2;
    // differs from [SWAP14]: the feasible step is min(step, bound), the paper prints max
    return {std::min(best, longest), gain, best >= longest};
  }
};

}  // namespace swapsvm
