// [SWAP14] Alg. 3, modified Frank-Wolfe: toward the best vertex or away from the worst active one,
// whichever direction has the steeper slope: f - h_i >= h_j - f.
#pragma once

#include "../state.hpp"

namespace swapsvm {

struct ModifiedFrankWolfe {
  template <class V>
  static Move choose(State<V>& state) {
    const int64_t i = state.toward(), j = state.away();
    const double slope_toward = state.slope(), slope_away = 2 * (state.score(j) - state.score(i)) - slope_toward;
    const Search away = state.search_away(j);
    if (slope_toward >= slope_away || away.step == 0) return state.toward_move(i, state.search_toward(i));
    return state.away_move(j, away);
  }
};

}  // namespace swapsvm
