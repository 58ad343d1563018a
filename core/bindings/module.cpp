#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "../hot.hpp"
#include "../run.hpp"
#include "../snapshot.hpp"
#include "../threads.hpp"
#include "bindings.hpp"

namespace swapsvm {
namespace {

template <class V>
NewVector<V> exponential(const Vector<V>& x) {
  std::vector<V> out = to_vector(x);
  hot_updates<V>().exponential(out.data(), int64_t(out.size()));
  return to_numpy(std::move(out));
}

std::vector<std::string> move_kinds() {
  return {std::begin(kKindNames), std::end(kKindNames)};
}

std::vector<std::tuple<std::string, std::string>> record_layout() {
  std::vector<std::tuple<std::string, std::string>> layout;
  for (const auto& [name, format] : kRecordFields) layout.push_back({name, format});
  return layout;
}

std::vector<std::string> snapshot_fields() {
  std::vector<std::string> names;
  const Snapshot s;
  for_each_field(s, [&](const char* name, const auto&) { names.push_back(name); });
  return names;
}

std::map<std::string, std::string> source_digests() {
  return {
#include "source_digests.hpp"
  };
}

// What Python would otherwise repeat.
void bind_constants(nb::module_& m) {
  m.def("move_kinds", move_kinds, "The names of the kinds of moves; a record has their index.");
  m.def("record_layout", record_layout, "Name and NumPy format of the fields of a record, in order and without gaps.");
  m.def("snapshot_fields", snapshot_fields, "The names of the fields of a snapshot.");
  m.def("is_recorded", is_recorded, "iteration"_a, "Whether an iteration makes a record of the trace.");
  m.def("source_digests", source_digests, "SHA-256 of each of the sources this module was compiled from.");
  m.attr("PROGRESS_WINDOW") = Improvement::kWindow;
  m.attr("MOST_THREADS") = kMostThreads;
}

void bind_kernels(nb::module_& m) {
  nb::enum_<KernelKind>(m, "KernelKind")
      .value("linear", KernelKind::linear)
      .value("poly", KernelKind::poly)
      .value("sigmoid", KernelKind::sigmoid)
      .value("rbf", KernelKind::rbf)
      .value("laplacian", KernelKind::laplacian);
  nb::enum_<StepKind>(m, "StepKind")
      .value("fw", StepKind::fw)
      .value("mfw", StepKind::mfw)
      .value("swap", StepKind::swap)
      .value("swap2", StepKind::swap2)
      .value("pairwise", StepKind::pairwise)
      .value("blended", StepKind::blended);
  nb::class_<KernelSpec>(m, "KernelSpec")
      .def(
          "__init__",
          [](KernelSpec* self, KernelKind kind, double gamma, double coef0, int degree) {
            new (self) KernelSpec{kind, gamma, coef0, degree};
          },
          "kind"_a, "gamma"_a = 1.0, "coef0"_a = 0.0, "degree"_a = 1);
  m.def("exponential32", exponential<float>, "x"_a);
  m.def("exponential64", exponential<double>, "x"_a);
  m.def("simd_levels", simd_levels);
  m.def("simd_level", simd_level);
  m.def("select_simd", select_simd, "level"_a);
  m.def("usable_threads", usable_threads, "wanted"_a = 0);
}

}  // namespace
}  // namespace swapsvm

NB_MODULE(_core, m) {
  using namespace swapsvm;
  nb::set_leak_warnings(false);  // models may live until the interpreter ends
  bind_constants(m);
  bind_kernels(m);
  bind_stop_token(m);
  bind_rows(m);
  bind_gram(m);
  bind_states(m);
  bind_features(m);
  bind_whole(m);
  bind_linear(m);
  bind_svmlight(m);
  bind_votes(m);
}
