// Chooses, once, the table of hot loops for this machine. SWAPSVM_SIMD=portable|v2|v3|v4 overrides the choice.
#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "hot.hpp"
#if SWAPSVM_X86
#include "processor.hpp"
#endif

namespace swapsvm {

#define SWAPSVM_DECLARE(isa) \
  namespace isa {            \
  const HotTables& tables(); \
  }
SWAPSVM_DECLARE(portable)
#if SWAPSVM_X86
SWAPSVM_DECLARE(v2)
SWAPSVM_DECLARE(v3)
SWAPSVM_DECLARE(v4)
#endif

namespace {

struct Level {
  const char* name;
  const HotTables& (*tables)();
  bool supported;
};

const std::vector<Level>& levels() {
#if SWAPSVM_X86
  static const int level = x86_level();
  static const std::vector<Level> all{{"v4", v4::tables, level >= 4},
                                      {"v3", v3::tables, level >= 3},
                                      {"v2", v2::tables, level >= 2},
                                      {"portable", portable::tables, true}};
#else
  static const std::vector<Level> all{{"portable", portable::tables, true}};
#endif
  return all;
}

const Level* find(const std::string& name) {
  for (const Level& level : levels())
    if (level.supported && (name.empty() || name == level.name)) return &level;
  return nullptr;
}

std::atomic<const Level*>& chosen() {
  static std::atomic<const Level*> level = [] {
    const char* wanted = std::getenv("SWAPSVM_SIMD");
    const Level* named = find(wanted ? wanted : "");
    return named ? named : find("");
  }();
  return level;
}

const Level& in_use() {
  return *chosen().load(std::memory_order_relaxed);
}
const HotTables& tables() {
  return in_use().tables();
}

}  // namespace

std::vector<std::string> simd_levels() {
  std::vector<std::string> names;
  for (const Level& level : levels())
    if (level.supported) names.push_back(level.name);
  return names;
}

std::string simd_level() {
  return in_use().name;
}

void select_simd(const std::string& name) {
  const Level* level = name.empty() ? nullptr : find(name);
  if (!level) throw std::invalid_argument("simd level '" + name + "' is not available on this machine");
  chosen() = level;
}

template <>
const HotKernels<float, float>& hot_kernels() {
  return tables().float_float;
}
template <>
const HotKernels<float, double>& hot_kernels() {
  return tables().float_double;
}
template <>
const HotKernels<double, float>& hot_kernels() {
  return tables().double_float;
}
template <>
const HotKernels<double, double>& hot_kernels() {
  return tables().double_double;
}
template <>
const HotUpdates<float>& hot_updates() {
  return tables().float_updates;
}
template <>
const HotUpdates<double>& hot_updates() {
  return tables().double_updates;
}
const HotScan& hot_scan() {
  return tables().scan;
}
const HotFeatures& hot_features() {
  return tables().features;
}

}  // namespace swapsvm
