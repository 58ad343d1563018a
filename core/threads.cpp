#include "threads.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "subnormals.hpp"

#if defined(__linux__)
#include <sched.h>
#endif
#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif

namespace swapsvm {
namespace {

// One call of run_chunks. Threads take chunks as they come; which thread computes a chunk does not matter.
class Job {
 public:
  Job(int64_t chunks, StopToken* token, ChunkBody run, const void* body)
      : chunks_(chunks), token_(token), run_(run), body_(body) {}

  // Takes chunks until none is left. Only the caller's thread listens to signals.
  void work(bool listens) {
    try {
      for (int64_t c; (c = next_++) < chunks_;) {
        if (token_ && listens) token_->listen();
        if (token_) token_->check();
        run_(body_, c);
      }
    } catch (...) {
      next_ = chunks_;
      const std::lock_guard<std::mutex> lock(failing_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  // Guarded by the mutex of the pool.
  int places = 0;  // for helpers that have not arrived yet
  int helping = 0;
  std::condition_variable alone;

 private:
  const int64_t chunks_;
  StopToken* token_;
  ChunkBody run_;
  const void* body_;
  std::atomic<int64_t> next_{0};
  std::mutex failing_;
  std::exception_ptr error_;
};

class Pool {
 public:
  void run(Job& job, int helpers) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job.places = std::min(helpers, start_threads(helpers));
      if (job.places > 0) jobs_.push_back(&job);
      for (int k = 0; k < job.places; ++k) wanted_.notify_one();
    }
    job.work(true);
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), &job), jobs_.end());
    job.alone.wait(lock, [&] { return job.helping == 0; });
  }

 private:
  // Starts threads until as many wait as the jobs have places, or the system has no more. Returns how many there are.
  int start_threads(int helpers) {
    int places = helpers;
    for (const Job* job : jobs_) places += job->places;
    try {
      for (; waiting_ < places && threads_ < kMostThreads; ++waiting_, ++threads_) start_thread();
    } catch (const std::exception&) {  // no more threads, or no memory for one: the present ones do the work
    }
    return threads_;
  }

  void start_thread() {
#if defined(_WIN32)
    std::thread([this] { serve(); }).detach();
#else  // signals must reach the threads of the program
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { serve(); }).detach();
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
  }

  void serve() {
    const FlushSubnormals flush;  // as in the threads that call for help
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wanted_.wait(lock, [&] { return !jobs_.empty(); });
      Job& job = *jobs_.front();
      if (--job.places == 0) jobs_.pop_front();
      ++job.helping, --waiting_;
      lock.unlock();
      job.work(false);
      lock.lock();
      ++waiting_;
      if (--job.helping == 0) job.alone.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<Job*> jobs_;
  int threads_ = 0, waiting_ = 0;
};

// Never destroyed: its threads may wait in it until the process ends. Null until needed, and again in a forked child.
std::atomic<Pool*> current_pool{nullptr};

Pool& pool() {
#if !defined(_WIN32)
  static const int registered = pthread_atfork(nullptr, nullptr, [] { current_pool = nullptr; });
  (void)registered;
#endif
  Pool* found = current_pool;
  if (found) return *found;
  auto fresh = std::make_unique<Pool>();
  if (current_pool.compare_exchange_strong(found, fresh.get())) return *fresh.release();
  return *found;
}

int processors() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return std::max(1, int(std::thread::hardware_concurrency()));
}

}  // namespace

int usable_threads(int wanted) {
  if (wanted > 0) return wanted;
  static const int granted = [] {
    const char* text = std::getenv("OMP_NUM_THREADS");  // what joblib, Dask and job schedulers set
    return text ? std::atoi(text) : 0;
  }();
  return granted > 0 ? granted : processors();
}

void run_chunks(int64_t chunks, const Team& team, ChunkBody run, const void* body) {
  Job job(chunks, team.token, run, body);
  const int helpers = int(std::min<int64_t>(team.threads, chunks)) - 1;
  if (helpers > 0)
    pool().run(job, helpers);
  else
    job.work(true);
  job.rethrow();
}

}  // namespace swapsvm
