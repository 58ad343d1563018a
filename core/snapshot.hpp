// All that the next moves of a state depend on, but kernel values: a run continues from it to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "move.hpp"
#include "rows.hpp"

namespace swapsvm {

// Whether moves still raise the value or lower the gap. If many in a row do neither, what is left is noise of the
// arithmetic, and the state is exhausted.
struct Improvement {
  static constexpr int64_t kWindow = 256;  // least moves of a window; two more for each variable of the support

  int64_t moves = 0, fruitless = 0;  // of the window; corrections in a row
  bool exhausted = false;
  double best_value = -std::numeric_limits<double>::infinity();
  double best_gap = std::numeric_limits<double>::infinity(), window_gap = best_gap;

  // Returns whether the window ends with this move.
  bool note_move(double gap, int64_t support) {
    window_gap = std::min(window_gap, gap);
    return ++moves >= kWindow + 2 * support;
  }

  void end_window(double value) {
    exhausted = value <= best_value && window_gap >= best_gap;
    note(value, window_gap);
    window_gap = std::numeric_limits<double>::infinity();
    moves = 0;
  }

  // One correction that improves nothing can happen; three in a row are noise.
  void note_correction(double value, double gap) {
    fruitless = value > best_value || gap < best_gap ? 0 : fruitless + 1;
    exhausted = fruitless >= 3;
    note(value, gap);
  }

 private:
  void note(double value, double gap) {
    best_value = std::max(best_value, value);
    best_gap = std::min(best_gap, gap);
  }
};

struct Snapshot {
  std::vector<Index> active, slots, kept;  // in the order in which the state and its working set hold them
  std::vector<double> weights, h;
  std::vector<uint8_t> live;
  double quadratic = 0, half_linear_value = 0, radius = 1;
  Summary oracles;
  Improvement improvement;
  int64_t capacity = 0;                    // of the working set
  bool restricted = false, fresh = false;  // of a state that knows all of h
  int64_t samplings = 0, cache_hits = 0;   // of a sampled state
  uint64_t random = 0;

  // Throws if a problem of this many variables cannot have it: it may come from a file.
  void check(int64_t size) const {
    require(radius > 0 && std::isfinite(radius), "radius");
    require(weights.size() == active.size() && !active.empty(), "weights");
    require(int64_t(h.size()) == size && int64_t(live.size()) == size, "size");
    require(int64_t(slots.size()) <= capacity && capacity <= size, "slots");
    for (const double a : weights) require(a > 0 && std::isfinite(a), "a weight");
    for (const double x : h) require(!std::isnan(x), "h");
    for (const int64_t v : {oracles.toward, oracles.away}) require(v >= 0 && v < size, "a vertex");
    for (const uint8_t l : live) require(l == 0 || l == 1, "live");
    check_list(active, size, false);
    check_list(slots, size, true);
    check_list(kept, size, false);
    for (const Index v : active) require(live[size_t(v)], "an active variable is left out");
  }

 private:
  static void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("the snapshot does not fit the problem: ") + what);
  }
  // Each variable at most once; -1 stands for a free slot.
  static void check_list(const std::vector<Index>& variables, int64_t size, bool with_free) {
    std::vector<char> seen(size_t(size), 0);
    for (const Index v : variables) {
      if (v == -1 && with_free) continue;
      require(v >= 0 && v < size && !seen[size_t(v)], "variables");
      seen[size_t(v)] = 1;
    }
  }
};

// visit(name, field) for each field.
template <class S, class Visit>
void for_each_field(S& s, Visit visit) {
  visit("active", s.active), visit("slots", s.slots), visit("kept", s.kept);
  visit("weights", s.weights), visit("h", s.h), visit("live", s.live);
  visit("quadratic", s.quadratic), visit("half_linear_value", s.half_linear_value), visit("radius", s.radius);
  visit("toward", s.oracles.toward), visit("away", s.oracles.away);
  visit("toward_score", s.oracles.toward_score), visit("excess", s.oracles.excess);
  visit("moves", s.improvement.moves), visit("fruitless", s.improvement.fruitless);
  visit("exhausted", s.improvement.exhausted), visit("best_value", s.improvement.best_value);
  visit("best_gap", s.improvement.best_gap), visit("window_gap", s.improvement.window_gap);
  visit("capacity", s.capacity), visit("restricted", s.restricted), visit("fresh", s.fresh);
  visit("samplings", s.samplings), visit("cache_hits", s.cache_hits), visit("random", s.random);
}

}  // namespace swapsvm
