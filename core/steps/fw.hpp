// [SWAP14] Alg. 1, Frank-Wolfe: toward the best vertex, every time.
#pragma once

#include "../state.hpp"

namespace swapsvm {

struct FrankWolfe {
  template <class V>
  static Move choose(State<V>& state) {
    const int64_t i = state.toward();
    return state.toward_move(i, state.search_toward(i));
  }
};

}  // namespace swapsvm
