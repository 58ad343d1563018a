// Tests of the core: TEST registers a function, CHECK notes what does not hold, and main.cpp runs them all.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace tests {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& all() {
  static std::vector<Test> list;
  return list;
}

struct Registered {
  Registered(const char* name, void (*run)()) { all().push_back({name, run}); }
};

inline std::vector<std::string>& failures() {
  static std::vector<std::string> list;
  return list;
}

template <class... Details>
void check(const char* file, int line, const char* what, bool holds, const Details&... details) {
  if (holds) return;
  std::ostringstream text;
  text << file << ":" << line << ": " << what << ":";
  ((text << " " << details), ...);
  failures().push_back(text.str());
}

}  // namespace tests

#define TEST(name)                                               \
  static void name();                                            \
  static const tests::Registered registered_##name(#name, name); \
  static void name()

// CHECK(condition, details...)
#define CHECK(...) tests::check(__FILE__, __LINE__, #__VA_ARGS__, __VA_ARGS__)
#define CHECK_THROWS(expression, Error)                                  \
  do {                                                                   \
    bool thrown = false;                                                 \
    try {                                                                \
      expression;                                                        \
    } catch (const Error&) {                                             \
      thrown = true;                                                     \
    }                                                                    \
    tests::check(__FILE__, __LINE__, #expression " must throw", thrown); \
  } while (false)
