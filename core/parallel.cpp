#include "parallel.hpp"

#include <omp.h>
#include <pthread.h>

#include <atomic>

namespace swapsvm {
namespace {

// libgomp's pool of threads does not survive a fork: a parallel region in the child would wait for ever.
std::atomic<bool> forked_after_use{false};
std::atomic<bool> used_threads{false};

const int registered = pthread_atfork(nullptr, nullptr, [] {
  if (used_threads) forked_after_use = true;
});

}  // namespace

int usable_threads(int wanted) {
  if (registered != 0 || forked_after_use) return 1;
  const int threads = wanted > 0 ? wanted : omp_get_max_threads();
  if (threads > 1) used_threads = true;
  return threads;
}

}  // namespace swapsvm
