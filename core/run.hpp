// The loop: a step only chooses a move. Ends at the gap, after the given number of moves, or when rounding leaves no
// ascent.
#pragma once

#include <array>
#include <chrono>

#include "state.hpp"
#include "steps/fw.hpp"
#include "steps/mfw.hpp"
#include "steps/swap.hpp"
#include "steps/swap2.hpp"

namespace swapsvm {

enum class StepKind { fw, mfw, swap, swap2 };

struct Record {  // one row of the trace; bindings.cpp hands it to NumPy as it is
  int64_t iteration, support, evaluations, kind;
  double seconds, value, gap;
};

struct Limits {
  int64_t moves;
  double tol, eps;    // gap <= max(tol scale, eps)
  int64_t iteration;  // number of the last iteration so far
};

// Whether an iteration makes a record: the first 1024 do, then 512 of every octave, so that a long run stays readable
// at every scale and its trace short.
inline bool is_recorded(int64_t iteration) {
  int64_t stride = 1;
  while (stride * 1024 <= iteration) stride *= 2;
  return iteration % stride == 0;
}

struct Progress {
  int64_t moves = 0;
  bool stalled = false;  // no move ascends: the gap is below what double precision resolves
  std::array<int64_t, kKinds> kinds{};
  std::vector<Record> records;
};

template <class Step, class V>
Progress run(State<V>& state, const Limits& limits) {
  const auto start = std::chrono::steady_clock::now();
  Progress progress;
  while (progress.moves < limits.moves) {
    if (state.token() && state.token()->stopped()) break;
    if (state.gap() <= std::max(limits.eps, limits.tol * state.scale())) break;
    const Move move = Step::choose(state);
    progress.stalled = move.empty() || state.exhausted() || state.gap() <= state.gap_floor();
    if (progress.stalled) break;
    state.move(move);
    ++progress.moves;
    ++progress.kinds[size_t(move.kind)];
    const int64_t iteration = limits.iteration + progress.moves;
    if (!is_recorded(iteration)) continue;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    progress.records.push_back({iteration, state.support_size(), state.gram().evaluations(), int64_t(move.kind),
                                seconds.count(), state.value(), state.gap()});
  }
  return progress;
}

template <class V>
Progress run(State<V>& state, StepKind step, const Limits& limits) {
  switch (step) {
    case StepKind::fw: return run<FrankWolfe>(state, limits);
    case StepKind::mfw: return run<ModifiedFrankWolfe>(state, limits);
    case StepKind::swap: return run<Swap>(state, limits);
    case StepKind::swap2: return run<SecondOrderSwap>(state, limits);
  }
  throw std::invalid_argument("unknown step");
}

}  // namespace swapsvm
