// The pool: every chunk is done once, exceptions reach the caller, tokens stop a computation, callers share it.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "check.hpp"
#include "cpu_time.hpp"
#include "threads.hpp"

using namespace swapsvm;

namespace {

constexpr int64_t kCount = 1000;

std::vector<int> visits(int64_t chunk, const Team& team) {
  std::vector<int> found(kCount, 0);
  parallel_chunks(kCount, chunk, team, [&](int64_t begin, int64_t count) {
    for (int64_t k = begin; k < begin + count; ++k) ++found[size_t(k)];
  });
  return found;
}

}  // namespace

TEST(threads_do_every_chunk_once) {
  const std::vector<int> once(kCount, 1);
  for (const int threads : {1, 2, 5})
    for (const int64_t chunk : {1, 7, 1000, 5000}) CHECK(visits(chunk, {threads}) == once, threads, chunk);
}

TEST(threads_pass_exceptions_on) {
  const auto fail = [](int64_t begin, int64_t) {
    if (begin == 500) throw std::runtime_error("a chunk failed");
  };
  for (const int threads : {1, 4}) CHECK_THROWS(parallel_chunks(kCount, 1, Team{threads}, fail), std::runtime_error);
  CHECK(visits(1, {4}) == std::vector<int>(kCount, 1));  // the pool is as before
}

TEST(threads_stop_at_a_request_and_at_a_deadline) {
  StopToken requested, late;
  std::atomic<int64_t> done{0};
  const auto request = [&](int64_t, int64_t) {
    if (++done == 3) requested.request();
  };
  CHECK_THROWS(parallel_chunks(kCount, 1, Team{2, &requested}, request), Stopped);
  CHECK(done < kCount, done);
  late.set_seconds_left(0);
  CHECK_THROWS(visits(1, {2, &late}), Stopped);
  requested.heed_requests(false);
  CHECK(visits(1, {2, &requested}) == std::vector<int>(kCount, 1));
}

TEST(threads_are_shared_by_several_callers) {
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int k = 0; k < 4; ++k)
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) right += visits(3, {3}) == std::vector<int>(kCount, 1);
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(right == 80, right);
}

TEST(the_clock_of_a_thread_counts_its_work_only) {
  const double asleep = thread_cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double awake = thread_cpu_seconds();
  CHECK(awake >= asleep && awake - asleep < 0.1, awake - asleep);
  std::thread([&] {
    const double begin = thread_cpu_seconds(), wall = steady_seconds();
    while (thread_cpu_seconds() - begin < 0.02) CHECK(steady_seconds() - wall < 60);
  }).join();
  CHECK(thread_cpu_seconds() - awake < 0.02, thread_cpu_seconds() - awake);
}
