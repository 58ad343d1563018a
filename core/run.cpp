#include "run.hpp"

#include <stdexcept>

#include "state.hpp"
#include "steps/blended.hpp"
#include "steps/fw.hpp"
#include "steps/mfw.hpp"
#include "steps/pairwise.hpp"
#include "steps/swap.hpp"

namespace swapsvm {

template <class Step, class V>
static RunOutcome run_steps(State<V>& state, const Limits& limits) {
  const double start = steady_seconds();
  RunOutcome ran;
  while (ran.moves < limits.moves) {
    if (state.token() && state.token()->stopped()) break;
    if (!(state.gap() > std::max(limits.eps, limits.tol * state.scale()))) break;
    ran.stalled = state.exhausted() || state.gap() <= state.gap_floor();
    if (ran.stalled) break;
    const Move move = Step::choose(state);
    ran.stalled = move.empty();
    if (ran.stalled) break;
    state.move(move);
    ++ran.moves;
    ++ran.kinds[size_t(move.kind)];
    const int64_t iteration = limits.iteration + ran.moves;
    if (!is_recorded(iteration)) continue;
    ran.records.push_back({iteration, state.support_size(), state.gram().evaluations(), int64_t(move.kind),
                           steady_seconds() - start, state.value(), state.gap()});
  }
  return ran;
}

template <class V>
RunOutcome run(State<V>& state, StepKind step, const Limits& limits) {
  switch (step) {
    case StepKind::fw: return run_steps<FrankWolfe>(state, limits);
    case StepKind::mfw: return run_steps<ModifiedFrankWolfe>(state, limits);
    case StepKind::swap: return run_steps<Swap>(state, limits);
    case StepKind::swap2: return run_steps<SecondOrderSwap>(state, limits);
    case StepKind::pairwise: return run_steps<Pairwise>(state, limits);
    case StepKind::blended: return run_steps<BlendedPairwise>(state, limits);
  }
  throw std::invalid_argument("unknown step");
}

template RunOutcome run(State<float>&, StepKind, const Limits&);
template RunOutcome run(State<double>&, StepKind, const Limits&);

}  // namespace swapsvm
