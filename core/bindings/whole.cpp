#include "../whole.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"

namespace swapsvm {
namespace {

using GroupsOfSides = std::pair<std::vector<int>, std::vector<int>>;  // positive and negative ones

// Solutions, one by one or a number of all of them at once.
struct Solutions {
  std::vector<PairSolution> points;

  NewVector<double> all(double PairSolution::* number) const {
    std::vector<double> found;
    for (const PairSolution& s : points) found.push_back(s.*number);
    return to_numpy(std::move(found));
  }
  const PairSolution& at(size_t k) const {
    if (k >= points.size()) throw nb::index_error();
    return points[k];
  }
};

// Those of a path.
struct PathSolutions : Solutions {
  NewMatrix<double> weights() const {
    const size_t columns = points.empty() ? 0 : points[0].weights.size();
    std::vector<double> found;
    found.reserve(points.size() * columns);
    for (const PairSolution& s : points) found.insert(found.end(), s.weights.begin(), s.weights.end());
    return to_numpy(std::move(found), points.size(), columns);
  }
};

// Those of several problems, of which some can be unsolved.
struct PairSolutions : Solutions {
  NewVector<uint8_t> solved() const {
    std::vector<uint8_t> found;
    for (const PairSolution& s : points) found.push_back(s.solved);
    return to_numpy(std::move(found));
  }
  NewVector<int64_t> evaluations() const {
    std::vector<int64_t> found;
    for (const PairSolution& s : points) found.push_back(s.evaluations);
    return to_numpy(std::move(found));
  }
  NewVector<int64_t> iterations() const {
    std::vector<int64_t> found;
    for (const PairSolution& s : points) found.push_back(int64_t(s.records.size()));
    return to_numpy(std::move(found));
  }
  NewVector<double> weights() const {
    std::vector<double> found;
    for (const PairSolution& s : points) found.insert(found.end(), s.weights.begin(), s.weights.end());
    return to_numpy(std::move(found));
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
  for (auto& points : solved) found.push_back({{std::move(points)}});
  return found;
}

// At C = 1, all with the same ridge.
template <class V>
PairSolutions solve_each(const std::shared_ptr<Gram<V>>& gram, const std::vector<GroupsOfSides>& problems,
                         const Vector<double>& ridge, double bias, const WholeOptions& options,
                         const std::shared_ptr<StopToken>& token) {
  const auto copied = std::make_shared<const std::vector<double>>(to_vector(ridge));
  std::vector<PairPath> paths;
  for (const GroupsOfSides& groups : problems) paths.push_back({{groups.first, groups.second}, copied});
  auto solved = until_stopped(*gram, token.get(), [&] { return solve_paths(gram, paths, {1.0}, bias, options); });
  PairSolutions found;
  for (auto& points : solved) found.points.push_back(points.empty() ? PairSolution() : std::move(points[0]));
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
  const auto all_of = [](auto number) { return [number](const Solutions& s) { return s.all(number); }; };
  nb::class_<Solutions>(m, "Solutions")
      .def("__len__", [](const Solutions& s) { return s.points.size(); })
      .def("__getitem__", &Solutions::at, nb::rv_policy::reference_internal)
      .def_prop_ro("values", all_of(&PairSolution::value), nb::rv_policy::move)
      .def_prop_ro("gaps", all_of(&PairSolution::gap), nb::rv_policy::move)
      .def_prop_ro("scales", all_of(&PairSolution::scale), nb::rv_policy::move)
      .def_prop_ro("simplex_gaps", all_of(&PairSolution::simplex_gap), nb::rv_policy::move)
      .def_prop_ro("primal_gaps", all_of(&PairSolution::primal_gap), nb::rv_policy::move)
      .def_prop_ro("roundings", all_of(&PairSolution::rounding), nb::rv_policy::move)
      .def_prop_ro("seconds", all_of(&PairSolution::seconds), nb::rv_policy::move);
  nb::class_<PathSolutions, Solutions>(m, "PathSolutions")
      .def_prop_ro("weights", &PathSolutions::weights, nb::rv_policy::move, "One line for each C.");
  nb::class_<PairSolutions, Solutions>(m, "PairSolutions")
      .def_prop_ro("solved", &PairSolutions::solved, nb::rv_policy::move)
      .def_prop_ro("evaluations", &PairSolutions::evaluations, nb::rv_policy::move)
      .def_prop_ro("iterations", &PairSolutions::iterations, nb::rv_policy::move)
      .def_prop_ro("weights", &PairSolutions::weights, nb::rv_policy::move, "One after the other.");
  m.def("solve_paths", solve<float>, "gram"_a, "problems"_a, "ridges"_a, "Cs"_a, "bias"_a, "options"_a,
        "token"_a.none(), "noted"_a.none() = nb::none());
  m.def("solve_paths", solve<double>, "gram"_a, "problems"_a, "ridges"_a, "Cs"_a, "bias"_a, "options"_a,
        "token"_a.none(), "noted"_a.none() = nb::none());
  m.def("solve_pairs", solve_each<float>, "gram"_a, "problems"_a, "ridge"_a, "bias"_a, "options"_a, "token"_a.none());
  m.def("solve_pairs", solve_each<double>, "gram"_a, "problems"_a, "ridge"_a, "bias"_a, "options"_a, "token"_a.none());
}

}  // namespace swapsvm
