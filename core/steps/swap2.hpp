// [SWAP14] Alg. 5, SWAP-2o: as SWAP, but the active vertex that gives weight is the one whose swap gains most.
#pragma once

#include "swap.hpp"

namespace swapsvm {

struct SecondOrderSwap {
  template <class V>
  static Move choose(State<V>& state) {
    const int64_t i = state.toward();
    return better_of_swap_and_toward(state, i, state.second_order_away(i));
  }
};

}  // namespace swapsvm
