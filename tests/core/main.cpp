// core_tests [PART]: runs the tests whose names contain PART, or all.
#include <cstdio>
#include <exception>
#include <string>

#include "check.hpp"

static bool passes(const tests::Test& test) {
  tests::failures().clear();
  try {
    test.run();
  } catch (const std::exception& error) {
    tests::failures().push_back(std::string("unexpected: ") + error.what());
  }
  std::printf("%s %s\n", tests::failures().empty() ? "ok    " : "FAILED", test.name);
  for (const std::string& failure : tests::failures()) std::printf("  %s\n", failure.c_str());
  return tests::failures().empty();
}

int main(int count, char** arguments) {
  const std::string part = count > 1 ? arguments[1] : "";
  int run = 0, failed = 0;
  for (const tests::Test& test : tests::all()) {
    if (std::string(test.name).find(part) == std::string::npos) continue;
    ++run;
    if (!passes(test)) ++failed;
  }
  std::printf("%d tests, %d failed\n", run, failed);
  return run == 0 || failed > 0;
}
