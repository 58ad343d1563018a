// Chunks of fixed size shared out over OpenMP threads: what is computed does not depend on how many there are.
#pragma once

#include <cstdint>

namespace swapsvm {

int usable_threads(int wanted);  // wanted <= 0: all that OpenMP grants; 1 in a forked child of a threaded process

template <class Body>
void parallel_chunks(int64_t count, int64_t chunk, int threads, Body body) {
  const int64_t chunks = (count + chunk - 1) / chunk;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && chunks > 1)
  for (int64_t c = 0; c < chunks; ++c) {
    const int64_t begin = c * chunk;
    body(begin, count - begin < chunk ? count - begin : chunk);
  }
}

}  // namespace swapsvm
