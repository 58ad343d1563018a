// Blended pairwise conditional gradients, K. Tsuji, K. Tanaka and S. Pokutta, ICML 2022: a swap between two active
// vertices where its slope is at least that of a toward step, else a toward step.
#pragma once

#include "../state.hpp"

namespace swapsvm {

struct BlendedPairwise {
  template <class V>
  static Move choose(State<V>& state) {
    const int64_t i = state.toward(), inside = state.active_toward(), j = state.away();
    if (2 * (state.score(j) - state.score(inside)) < state.slope()) return state.toward_move(i, state.search_toward(i));
    return state.swap_move(inside, j, state.search_swap(inside, j));
  }
};

}  // namespace swapsvm
