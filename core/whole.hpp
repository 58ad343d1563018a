// Pairs of classes whose kernel values fit into memory, each solved from its start to its certificate without a break,
// several side by side. A path along C goes on from one solution to the next with the same values.
//
// It is what a run (run.py) does with the same problem if nobody watches it: start, one step on all variables, the
// certificate, and for a few rows the exact solution. A pair that needs more than that is left to a run.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "full_state.hpp"
#include "run.hpp"

namespace swapsvm {

struct WholeOptions {
  double tol, eps;                   // of the gap: max(tol scale, eps)
  double margin;                     // the part of it to aim at before the certificate
  double accuracy;                   // the part of the aim to which the step goes
  int64_t exact_below;               // variables: a problem of fewer is solved exactly
  std::function<void()> noted = {};  // called after each solution, by the thread that found it; may throw
};

// The groups of either sign.
struct Sides {
  std::vector<int> positive, negative;
};

struct PairSolution {
  bool solved = false;
  std::vector<double> weights;  // of the rows of the positive groups, then of the negative ones
  double value = 0, gap = 0, scale = 0, simplex_gap = 0, primal_gap = 0, level = 0, rounding = 0;
  double certificate_seconds = 0, seconds = 0;  // CPU time of the certificate; time of all
  int64_t evaluations = 0;
  std::vector<Record> records;
};

// A pair of classes at some values of C: the ridge of a variable is that of its row divided by C. It is one number, or
// one for each row of the data.
struct PairPath {
  Sides sides;
  std::shared_ptr<const std::vector<double>> ridge;
};

// One list of solutions for each path, as far as it was solved in one step for each C.
template <class V>
std::vector<std::vector<PairSolution>> solve_paths(const std::shared_ptr<Gram<V>>& gram,
                                                   const std::vector<PairPath>& paths, const std::vector<double>& Cs,
                                                   double bias, const WholeOptions& options);

}  // namespace swapsvm
