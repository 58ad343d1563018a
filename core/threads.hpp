// Work cut into chunks of fixed size, done by a pool of threads: results do not depend on the number of threads.
//
// Threads wait without spinning, are started when first needed and survive neither exit nor fork: a forked child starts
// its own. A chunk that throws ends the work, and the caller gets the exception. If no thread can be started, the
// caller does the work alone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>

namespace swapsvm {

inline constexpr int kMostThreads = 1024;  // of the pool; results do not depend on it
int usable_threads(int wanted);            // wanted <= 0: OMP_NUM_THREADS, or the processors that this process may use

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Thrown out of a computation that its token has stopped.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "the computation was stopped"; }
};

// What a computation checks between chunks: a request to stop, which the tokens of one fit share, and a deadline.
class StopToken {
 public:
  using Listener = void (*)();  // called now and then by the thread that began the computation; may throw

  explicit StopToken(Listener listener = nullptr)
      : requested_(std::make_shared<std::atomic<bool>>(false)), listener_(listener) {}

  // A token with the same request to stop and a deadline of its own.
  std::shared_ptr<StopToken> sharing() const {
    auto token = std::make_shared<StopToken>(listener_);
    token->requested_ = requested_;
    return token;
  }

  // A token with the same request and deadline, for other threads than the one that listens.
  std::shared_ptr<StopToken> silent() const {
    auto token = std::make_shared<StopToken>();
    token->requested_ = requested_, token->deadline_ = deadline_.load(), token->heeds_ = heeds_.load();
    return token;
  }

  void request() { *requested_ = true; }
  bool requested() const { return *requested_; }
  void set_seconds_left(double seconds) { deadline_ = steady_seconds() + seconds; }
  // Whether a request stops it. If not, only the deadline does: a fit that was asked to stop can still finish.
  void heed_requests(bool heed) { heeds_ = heed; }

  bool stopped() const { return (heeds_ && requested()) || steady_seconds() >= deadline_; }
  void check() const {
    if (stopped()) throw Stopped();
  }
  void listen() {
    constexpr double kBetween = 0.02;  // seconds
    const double now = steady_seconds();
    if (!listener_ || now < heard_ + kBetween) return;
    heard_ = now;
    listener_();
  }

 private:
  std::shared_ptr<std::atomic<bool>> requested_;
  std::atomic<double> deadline_{std::numeric_limits<double>::infinity()};
  std::atomic<bool> heeds_{true};
  Listener listener_;
  double heard_ = 0;
};

// The threads that do a piece of work, until the token stops them.
struct Team {
  int threads = 1;
  StopToken* token = nullptr;
};

using ChunkBody = void (*)(const void* body, int64_t chunk);
void run_chunks(int64_t chunks, const Team& team, ChunkBody run, const void* body);

template <class Body>
void parallel_chunks(int64_t count, int64_t chunk, const Team& team, const Body& body) {
  const auto run = [&](int64_t c) {
    const int64_t begin = c * chunk;
    body(begin, count - begin < chunk ? count - begin : chunk);
  };
  using Run = decltype(run);
  run_chunks((count + chunk - 1) / chunk, team, [](const void* f, int64_t c) { (*static_cast<const Run*>(f))(c); },
             &run);
}

}  // namespace swapsvm
