#include "../whole.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"

namespace swapsvm {
namespace {

using GroupsOfSides = std::pair<std::vector<int>, std::vector<int>>;  // positive and negative ones

// The solutions of a path, one by one or a number of all of them at once.
struct PathSolutions {
  std::vector<PairSolution> points;

  NewVector<double> all(double PairSolution::* number) const {
    std::vector<double> found;
    for (const PairSolution& s : points) found.push_back(s.*number);
    return to_numpy(std::move(found));
  }
  NewMatrix<double> weights() const {
    const size_t columns = points.empty() ? 0 : points[0].weights.size();
    std::vector<double> found;
    found.reserve(points.size() * columns);
    for (const PairSolution& s : points) found.insert(found.end(), s.weights.begin(), s.weights.end());
    return to_numpy(std::move(found), points.size(), columns);
  }
  const PairSolution& at(size_t k) const {
    if (k >= points.size()) throw nb::index_error();
    return points[k];
  }
};

template <class V>
std::vector<PathSolutions> solve(const std::shared_ptr<Gram<V>>& gram,
                                 const std::vector<std::pair<GroupsOfSides, size_t>>& problems,
                                 const std::vector<Vector<double>>& ridges, const Vector<double>& Cs, double bias,
                                 WholeOptions options, const std::shared_ptr<StopToken>& token,
                                 const std::optional<nb::typed<nb::callable, void()>>& noted) {
  if (noted)
    options.noted = [&] {
      nb::gil_scoped_acquire acquire;
      const FlushSubnormals as_usual(false);
      (*noted)();
    };
  std::vector<std::shared_ptr<const std::vector<double>>> copied;
  for (const auto& ridge : ridges) copied.push_back(std::make_shared<const std::vector<double>>(to_vector(ridge)));
  std::vector<PairPath> paths;
  for (const auto& [groups, ridge] : problems) paths.push_back({{groups.first, groups.second}, copied.at(ridge)});
  auto solved =
      until_stopped(*gram, token.get(), [&] { return solve_paths(gram, paths, to_vector(Cs), bias, options); });
  std::vector<PathSolutions> found;
  for (auto& points : solved) found.push_back({std::move(points)});
  return found;
}

nb::bytes records_of(const PairSolution& s) {
  return nb::bytes(reinterpret_cast<const char*>(s.records.data()), s.records.size() * sizeof(Record));
}

}  // namespace

void bind_whole(nb::module_& m) {
  nb::class_<WholeOptions>(m, "WholeOptions")
      .def(
          "__init__",
          [](WholeOptions* self, double tol, double eps, double margin, double accuracy, int64_t exact_below) {
            new (self) WholeOptions{tol, eps, margin, accuracy, exact_below};
          },
          "tol"_a, "eps"_a, "margin"_a, "accuracy"_a, "exact_below"_a);
  nb::class_<PairSolution>(m, "PairSolution")
      .def_ro("solved", &PairSolution::solved)
      .def_ro("value", &PairSolution::value)
      .def_ro("gap", &PairSolution::gap)
      .def_ro("scale", &PairSolution::scale)
      .def_ro("simplex_gap", &PairSolution::simplex_gap)
      .def_ro("primal_gap", &PairSolution::primal_gap)
      .def_ro("level", &PairSolution::level)
      .def_ro("rounding", &PairSolution::rounding)
      .def_ro("certificate_seconds", &PairSolution::certificate_seconds)
      .def_ro("seconds", &PairSolution::seconds)
      .def_ro("evaluations", &PairSolution::evaluations)
      .def_prop_ro(
          "weights", [](const PairSolution& s) { return to_numpy(s.weights); }, nb::rv_policy::move)
      .def_prop_ro("records", records_of, "As in the trace of a run, as bytes.");
  nb::class_<PathSolutions>(m, "PathSolutions")
      .def("__len__", [](const PathSolutions& s) { return s.points.size(); })
      .def("__getitem__", &PathSolutions::at, nb::rv_policy::reference_internal)
      .def_prop_ro("weights", &PathSolutions::weights, nb::rv_policy::move, "One line for each C.")
      .def_prop_ro(
          "values", [](const PathSolutions& s) { return s.all(&PairSolution::value); }, nb::rv_policy::move)
      .def_prop_ro(
          "scales", [](const PathSolutions& s) { return s.all(&PairSolution::scale); }, nb::rv_policy::move)
      .def_prop_ro(
          "primal_gaps", [](const PathSolutions& s) { return s.all(&PairSolution::primal_gap); }, nb::rv_policy::move)
      .def_prop_ro(
          "seconds", [](const PathSolutions& s) { return s.all(&PairSolution::seconds); }, nb::rv_policy::move);
  m.def("solve_paths", solve<float>, "gram"_a, "problems"_a, "ridges"_a, "Cs"_a, "bias"_a, "options"_a,
        "token"_a.none(), "noted"_a.none() = nb::none());
  m.def("solve_paths", solve<double>, "gram"_a, "problems"_a, "ridges"_a, "Cs"_a, "bias"_a, "options"_a,
        "token"_a.none(), "noted"_a.none() = nb::none());
}

}  // namespace swapsvm
