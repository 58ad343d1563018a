#include "../state.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "../full_state.hpp"
#include "../run.hpp"
#include "../sampled_state.hpp"
#include "../whole_matrix.hpp"
#include "bindings.hpp"

namespace swapsvm {
namespace {

// Snapshots as dicts of arrays, one for each field; numbers are arrays of one element, and flags bytes.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
nb::object to_array(const std::vector<T>& values) {
  return nb::cast(to_numpy(values));
}
template <class T>
nb::object to_array(const T& number) {
  return to_array(std::vector<Stored<T>>{Stored<T>(number)});
}

template <class T>
bool from_array(nb::handle array, std::vector<T>& values) {
  Vector<T> found;
  if (!nb::try_cast(array, found, false)) return false;
  values = to_vector(found);
  return true;
}
template <class T>
bool from_array(nb::handle array, T& number) {
  std::vector<Stored<T>> values;
  if (!from_array(array, values) || values.size() != 1) return false;
  number = T(values[0]);
  return !std::is_same_v<T, bool> || values[0] <= 1;
}

nb::dict to_dict(const Snapshot& s) {
  nb::dict fields;
  for_each_field(s, [&](const char* name, const auto& field) { fields[name] = to_array(field); });
  return fields;
}

// Throws if a field is missing or has another type.
Snapshot from_dict(const nb::dict& fields) {
  Snapshot s;
  for_each_field(s, [&](const char* name, auto& field) {
    if (!fields.contains(name)) throw std::invalid_argument(std::string("the snapshot lacks the field ") + name);
    if (!from_array(nb::object(fields[name]), field))
      throw std::invalid_argument(std::string("the snapshot has a field of the wrong type or size: ") + name);
  });
  return s;
}

std::tuple<double, double, bool> as_tuple(const Search& s) {
  return {s.step, s.gain, s.clipped};
}

template <class V>
void def_queries(nb::class_<State<V>>& c) {
  using S = State<V>;
  c.def_prop_ro("size", &S::size)
      .def_prop_ro("toward", &S::toward)
      .def_prop_ro("away", &S::away)
      .def_prop_ro("active_toward", &S::active_toward)
      .def_prop_ro("slope", &S::slope)
      .def_prop_ro("value", &S::value)
      .def_prop_ro("gap", &S::gap)
      .def_prop_ro("simplex_gap", &S::simplex_gap)
      .def_prop_ro("primal_gap", &S::primal_gap)
      .def_prop_ro("level", &S::level)
      .def_prop_ro("gap_floor", &S::gap_floor)
      .def_prop_ro("gap_rounding", &S::gap_rounding)
      .def_prop_ro("value_rounding", &S::value_rounding)
      .def_prop_ro("score_rounding", &S::score_rounding)
      .def_prop_ro("certified", &S::certified)
      .def_prop_ro("certificate_seconds", &S::certificate_seconds)
      .def_prop_ro("scale", &S::scale)
      .def_prop_ro("exhausted", &S::exhausted)
      .def_prop_ro("radius", &S::radius)
      .def_prop_ro("support_size", &S::support_size)
      .def_prop_ro(
          "weights", [](const S& s) { return to_numpy(s.point().weights()); }, nb::rv_policy::move)
      .def_prop_ro(
          "support",
          [](const S& s) {
            auto support = s.point().active();
            std::sort(support.begin(), support.end());
            return to_numpy(std::move(support));
          },
          nb::rv_policy::move)
      .def(
          "score", [](const S& s, int64_t v) { return s.score(s.checked(v)); }, "v"_a)
      .def(
          "search_toward", [](const S& s, int64_t i) { return as_tuple(s.search_toward(s.checked(i))); }, "i"_a)
      .def(
          "search_away", [](const S& s, int64_t j) { return as_tuple(s.search_away(s.checked(j))); }, "j"_a)
      .def(
          "search_swap",
          [](S& s, int64_t i, int64_t j) {
            s.checked(i), s.checked(j);
            return as_tuple(exclusively(s.gram(), [&] { return s.search_swap(i, j); }));
          },
          "i"_a, "j"_a)
      .def(
          "second_order_away",
          [](S& s, int64_t i) {
            s.checked(i);
            return exclusively(s.gram(), [&] { return s.second_order_away(i); });
          },
          "i"_a);
}

template <class V>
void move(State<V>& s, int kind, double scale, int64_t i, double add, int64_t j, double sub, bool drop) {
  const Move m{Kind(kind), scale, i, add, j, sub, drop};
  if (m.empty()) throw std::invalid_argument("a move that moves nothing");
  if (add != 0) s.checked(i);
  if (sub != 0) s.checked(j);
  exclusively(s.gram(), [&] { s.move(m); });
}

template <class V>
nb::ndarray<nb::numpy, const V, nb::ndim<2>> face(State<V>& s, const Vector<Index>& variables) {
  auto values = exclusively(s.gram(), [&] { return s.face(to_vector(variables)); });
  auto* kept = new std::shared_ptr<const V[]>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::shared_ptr<const V[]>*>(p); });
  const size_t n = variables.shape(0);
  return nb::ndarray<nb::numpy, const V, nb::ndim<2>>(kept->get(), {n, n}, owner);
}

template <class V>
auto solve_on(State<V>& s, const Vector<Index>& variables, int64_t capacity, int64_t block, int64_t blocks,
              double accuracy, double block_accuracy) {
  Correction c = stoppably(
      s, [&] { return s.solve_on(to_vector(variables), capacity, {block, blocks, accuracy, block_accuracy}); });
  return std::make_tuple(to_numpy(std::move(c.variables)), to_numpy(std::move(c.weights)), c.scale, c.growth);
}

// The records are those of kRecordFields, as bytes.
template <class V>
auto run_moves(State<V>& s, StepKind step, int64_t moves, double tol, double eps, int64_t iteration) {
  const RunOutcome ran = exclusively(s.gram(), [&] { return run(s, step, {moves, tol, eps, iteration}); });
  const nb::bytes records(reinterpret_cast<const char*>(ran.records.data()), ran.records.size() * sizeof(Record));
  return std::make_tuple(ran.moves, ran.stalled, std::vector<int64_t>(ran.kinds.begin(), ran.kinds.end()), records);
}

template <class V>
void def_changes(nb::class_<State<V>>& c) {
  using S = State<V>;
  c.def("move", move<V>, "kind"_a, "scale"_a, "i"_a, "add"_a, "j"_a, "sub"_a, "drop"_a)
      .def(
          "set_weights",
          [](S& s, const Vector<Index>& variables, const Vector<double>& weights) {
            stoppably(s, [&] { s.set_weights(to_vector(variables), to_vector(weights)); });
          },
          "variables"_a, "weights"_a)
      .def(
          "correct",
          [](S& s, const Vector<Index>& variables, const Vector<double>& weights, double scale, double growth,
             bool fused, bool afresh) {
            const Correction c{to_vector(variables), to_vector(weights), scale, growth, fused, afresh};
            stoppably(s, [&] { s.correct(c); });
          },
          "variables"_a, "weights"_a, "scale"_a, "growth"_a, "fused"_a, "afresh"_a)
      .def("face", face<V>, "variables"_a)
      .def("solve_on", solve_on<V>, "variables"_a, "capacity"_a, "block"_a, "blocks"_a, "accuracy"_a,
           "block_accuracy"_a)
      .def("certify", [](S& s) { stoppably(s, [&] { s.certify(); }); })
      .def("prove", [](S& s) { stoppably(s, [&] { s.prove(); }); })
      .def(
          "snapshot", [](const S& s) { return to_dict(s.snapshot()); },
          nb::sig("def snapshot(self) -> dict[str, numpy.ndarray]"))
      .def(
          "restore",
          [](S& s, const nb::dict& fields) {
            const Snapshot snapshot = from_dict(fields);
            exclusively(s.gram(), [&] { s.restore(snapshot); });
          },
          nb::sig("def restore(self, snapshot: dict[str, numpy.ndarray]) -> None"), "snapshot"_a)
      .def("measure", &S::measure, "measure"_a, "scales"_a)
      .def("set_token", &S::set_token, "token"_a.none())
      .def_prop_ro("token", &S::token)
      .def("run", run_moves<V>, "step"_a, "moves"_a, "tol"_a, "eps"_a, "iteration"_a);
}

template <class S, class V, class... Options>
void construct(S* self, std::shared_ptr<Gram<V>> gram, const std::vector<std::pair<int, double>>& groups_and_signs,
               const Vector<double>& ridge, const Vector<double>& half_linear, double bias,
               const std::pair<double, bool>& radius_and_growth, Options... options) {
  std::vector<Segment> segments;
  for (const auto& [group, sign] : groups_and_signs) segments.push_back({group, sign});
  const auto [radius, grows] = radius_and_growth;
  new (self) S(std::move(gram), std::move(segments), {to_vector(ridge), to_vector(half_linear), bias},
               Radius(radius, grows), options...);
}

template <class V>
void bind_full_state(nb::module_& m, const char* name) {
  using S = FullState<V>;
  nb::class_<S, State<V>>(m, name)
      .def("__init__", construct<S, V>, nb::keep_alive<1, 2>(), "gram"_a, "segments"_a, "ridge"_a, "half_linear"_a,
           "bias"_a, "radius"_a)
      .def(
          "set_ridge",
          [](S& s, const Vector<double>& ridge) { exclusively(s.gram(), [&] { s.set_ridge(to_vector(ridge)); }); },
          "ridge"_a)
      .def_prop_ro(
          "products", [](const S& s) { return to_numpy(s.products()); }, nb::rv_policy::move)
      .def(
          "product",
          [](S& s, const Vector<double>& weights, bool exact) {
            std::vector<double> all = to_vector(weights);
            return to_numpy(stoppably(s, [&] { return s.product(all, exact); }));
          },
          "weights"_a, "exact"_a)
      .def(
          "place",
          [](S& s, const Vector<double>& weights, const Vector<double>& products, bool afresh, bool exact) {
            exclusively(s.gram(), [&] { s.place(to_vector(weights), to_vector(products), afresh, exact); });
          },
          "weights"_a, "products"_a, "afresh"_a, "exact"_a)
      .def(
          "place_sums",
          [](S& s, const Vector<double>& weights, const Vector<double>& products, double rounding) {
            exclusively(s.gram(), [&] { s.place_sums(to_vector(weights), to_vector(products), rounding); });
          },
          "weights"_a, "products"_a, "rounding"_a)
      .def_prop_ro(
          "first_variables", [](const S& s) { return to_numpy(s.first_variables()); }, nb::rv_policy::move)
      .def(
          "solve_whole",
          [](S& s, double accuracy) {
            const auto whole = stoppably(s, [&] {
              auto matrix = s.whole_matrix();
              matrix->solve(accuracy, s.gram().team());
              return matrix;
            });
            return std::make_tuple(to_numpy(whole->weights()), to_numpy(whole->products()), whole->rounding());
          },
          "accuracy"_a)
      .def("polish", [](S& s) { return stoppably(s, [&] { return s.polish(); }); })
      .def("refresh", [](S& s) { stoppably(s, [&] { s.refresh(); }); })
      .def(
          "extreme", [](S& s, int64_t size) { return to_numpy(s.extreme(size)); }, "size"_a)
      .def(
          "violators", [](const S& s, int64_t count) { return to_numpy(s.violators(count)); }, "count"_a)
      .def("shrink", &S::shrink)
      .def(
          "restrict", [](S& s, const Vector<Index>& variables) { s.restrict_to(to_vector(variables)); }, "variables"_a);
}

template <class V>
void bind_sampled_state(nb::module_& m, const char* name) {
  using S = SampledState<V>;
  nb::class_<S, State<V>>(m, name)
      .def("__init__", construct<S, V, Draw>, nb::keep_alive<1, 2>(), "gram"_a, "segments"_a, "ridge"_a,
           "half_linear"_a, "bias"_a, "radius"_a, "draw"_a)
      .def("look", [](S& s) { exclusively(s.gram(), [&] { s.look(); }); })
      .def_prop_ro("samplings", &S::samplings)
      .def_prop_ro("cache_hits", &S::cache_hits)
      .def_prop_ro("sample", [](const S& s) { return to_numpy(s.sample()); }, nb::rv_policy::move);
}

template <class V>
void bind_base(nb::module_& m, const char* name) {
  nb::class_<State<V>> c(m, name);
  def_queries(c);
  def_changes(c);
}

}  // namespace

void bind_states(nb::module_& m) {
  nb::enum_<Measure>(m, "Measure").value("simplex", Measure::simplex).value("primal", Measure::primal);
  bind_base<float>(m, "State32");
  bind_base<double>(m, "State64");
  bind_full_state<float>(m, "FullState32");
  bind_full_state<double>(m, "FullState64");
  nb::class_<Draw>(m, "Draw").def(nb::init<int64_t, bool, bool, bool, uint64_t>(), "size"_a, "with_active"_a,
                                  "balanced"_a, "outside_active"_a, "seed"_a);
  bind_sampled_state<float>(m, "SampledState32");
  bind_sampled_state<double>(m, "SampledState64");
}

}  // namespace swapsvm
