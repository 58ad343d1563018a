// Pairwise Frank-Wolfe, S. Lacoste-Julien and M. Jaggi, NIPS 2015: weight goes from the worst active vertex to the best
// one, every time.
#pragma once

#include "../state.hpp"

namespace swapsvm {

struct Pairwise {
  template <class V>
  static Move choose(State<V>& state) {
    const int64_t i = state.toward(), j = state.away();
    return state.swap_move(i, j, state.search_swap(i, j));
  }
};

}  // namespace swapsvm
