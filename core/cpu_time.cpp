#include "cpu_time.hpp"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#else
#include <ctime>
#endif

namespace swapsvm {

#ifdef _WIN32
double thread_cpu_seconds() {
  FILETIME created, exited, kernel, user;  // in units of 100 ns
  GetThreadTimes(GetCurrentThread(), &created, &exited, &kernel, &user);
  const auto seconds = [](const FILETIME& time) {
    return 429.4967296 * time.dwHighDateTime + 1e-7 * time.dwLowDateTime;
  };
  return seconds(kernel) + seconds(user);
}
#else
double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}
#endif

}  // namespace swapsvm
