// [SWAP14] Alg. 4, SWAP: weight goes from the worst active vertex to the best one, unless a toward step gains more,
// each at its best step in [0, 1]; and Alg. 5, SWAP-2o: the active vertex that gives weight is the one whose swap gains
// most.
#pragma once

#include "../state.hpp"

namespace swapsvm {

template <class V>
Move better_of_swap_and_toward(State<V>& state, int64_t i, int64_t j) {
  const Search swap = state.search_swap(i, j), toward = state.search_toward(i);
  return swap.gain >= toward.gain ? state.swap_move(i, j, swap) : state.toward_move(i, toward);
}

struct Swap {
  template <class V>
  static Move choose(State<V>& state) {
    return better_of_swap_and_toward(state, state.toward(), state.away());
  }
};

struct SecondOrderSwap {
  template <class V>
  static Move choose(State<V>& state) {
    const int64_t i = state.toward();
    return better_of_swap_and_toward(state, i, state.second_order_away(i));
  }
};

}  // namespace swapsvm
