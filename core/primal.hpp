// Primal minus dual as a certificate. With score_i = h_i - c_i/2 and ridge D_i, every number nu bounds the value from
// above by weak duality:
//
//   max g - g(a) <= G(nu) = sum_i excess(score_i - nu, a_i, D_i).
//
// G is the primal value at w = sum a phi with offset nu and the best slack, minus the dual value. Rows of ridge 0 have
// no slack: G is finite only if nu <= score_i. At nu = min score, G is at most the gap of the simplex.
//
// The primal of the SVM has no offset. There b = a/f has the dual value D = 1/(2f), and w scaled by f/nu the primal
// value P = (G(nu) + 2 nu - f) / (2 nu^2). So
//
//   P/D - 1 = (f G(nu) - (f - nu)^2) / nu^2.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "hot.hpp"
#include "move.hpp"

namespace swapsvm {

enum class Measure { simplex, primal };  // which gap a state answers with

inline void add(Shortfall& total, const Shortfall& part) {
  total.excess += part.excess;
  total.inverse += part.inverse, total.first += part.first, total.second += part.second;
  total.ceiling = std::min(total.ceiling, part.ceiling);
}

// A bound on max g - g(a), and the level nu that it comes from.
struct Bound {
  double level = 0, gap = std::numeric_limits<double>::infinity();
};

// f (P/D - 1), increasing in G and f and decreasing in apart = |f - nu|; infinite if no multiple of w has a margin.
inline double scaled_gap(double excess, double f, double apart, double level) {
  if (!(level > 0) || !(f > 0)) return std::numeric_limits<double>::infinity();
  const double ratio = f / level;
  return std::max(0.0, ratio * (ratio * excess - apart * (apart / level)));
}

// The point that a bound is for: a'score, the lowest score, and |w|^2 = f - a'Da if w may be scaled, else 0.
struct BoundedPoint {
  double mean, lowest, norm;
  bool scales;

  double gap(double excess, double level) const {
    return scales ? scaled_gap(excess, mean, std::abs(mean - level), level) : excess;
  }
  // The level at which the derivative of P by 1/nu, or of G, is 0 if the same variables stay below it.
  // Where w is of no use, as with contradicting labels, the best multiple of it is 0, and the level infinite.
  double next_level(const Shortfall& s) const {
    constexpr double kLargest = 100;
    const double multiple = s.first / (norm + s.second);
    const double scaled = multiple * kLargest * mean > 1 ? 1 / multiple : kLargest * mean;
    return std::fmin(scales ? scaled : (1 + s.first) / s.inverse, s.ceiling);
  }
};

// The smallest bound, by Newton steps; sums(nu) is the shortfall at a level. Every level gives a valid bound: the
// number of steps decides how sharp it is, not whether it holds. Both derivatives bend one way only, so that after the
// first step the levels approach from one side. Where they do not get there, the lowest score is a level.
template <class Sums>
Bound lowest_bound(const BoundedPoint& point, Sums sums) {
  constexpr int kSteps = 24;
  Bound best;
  double level = point.mean;
  for (int step = 0; step < kSteps; ++step) {
    const Shortfall s = sums(level);
    const double gap = point.gap(s.excess, level), next = point.next_level(s);
    const bool sharp = step > 1 && gap > 0.999 * best.gap && gap < std::numeric_limits<double>::infinity();
    if (gap < best.gap) best = {level, gap};
    if (sharp || next == level || !std::isfinite(next)) break;
    level = next;
  }
  if (best.gap <= point.gap(2 * (point.mean - point.lowest), point.lowest)) return best;
  const double gap = point.gap(sums(point.lowest).excess, point.lowest);
  return gap < best.gap ? Bound{point.lowest, gap} : best;
}

}  // namespace swapsvm
