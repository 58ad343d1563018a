// Python bindings: the only file that knows Python. Every call that computes releases the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "full_state.hpp"
#include "run.hpp"
#include "sampled_state.hpp"
#include "svmlight.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace swapsvm {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values) {
  const size_t size = values.size();
  return to_numpy(std::move(values), {size});
}

template <class T>
std::vector<T> to_vector(const Vector<T>& array) {
  return std::vector<T>(array.data(), array.data() + array.shape(0));
}

// ---- stopping -----------------------------------------------------------------------------------------------

// Ctrl-C inside a long computation: its handler may raise, or request a stop.
void hear_signals() {
  nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void bind_stopping(nb::module_& m) {
  nb::exception<Stopped>(m, "Stopped");
  nb::class_<StopToken>(m, "StopToken")
      .def("__init__", [](StopToken* self) { new (self) StopToken(hear_signals); })
      .def("sharing", &StopToken::sharing)
      .def("request", &StopToken::request)
      .def("heed_requests", &StopToken::heed_requests, "heed"_a)
      .def("set_seconds_left", &StopToken::set_seconds_left, "seconds"_a)
      .def_prop_ro("requested", &StopToken::requested)
      .def_prop_ro("stopped", &StopToken::stopped);
}

// ---- rows ---------------------------------------------------------------------------------------------------

// Memory safety does not rest on the caller: a CSR matrix that points outside of itself is refused.
template <class T>
Rows<T> csr_rows(const Vector<int64_t>& indptr, const Vector<Index>& indices, const Vector<T>& data, int64_t features) {
  const int64_t size = int64_t(indptr.shape(0)) - 1, entries = int64_t(data.shape(0));
  if (size < 0 || indices.shape(0) != data.shape(0)) throw std::invalid_argument("inconsistent CSR arrays");
  if (indptr(0) < 0 || indptr(size) > entries) throw std::invalid_argument("CSR indptr outside of the data");
  for (int64_t r = 0; r < size; ++r)
    if (indptr(r) > indptr(r + 1)) throw std::invalid_argument("CSR indptr decreases");
  for (int64_t p = 0; p < entries; ++p)
    if (indices(p) < 0 || indices(p) >= features) throw std::invalid_argument("CSR column index outside of the matrix");
  return {data.data(), indptr.data(), indices.data(), size, features};
}

template <class T>
void check_same_features(const Rows<T>& left, const Rows<T>& right) {
  if (left.features != right.features) throw std::invalid_argument("rows with different numbers of features");
}

// sum_c coefs[c, o] k(left_r, right_c) with kernel values in V, or in double where those in float would be wrong; one
// output has a faster way.
template <class T, class V>
void products_of(const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const double* coefs,
                 int64_t outputs, double* out, const Team& team) {
  const double units = units_lost(left, right, kernel);
  if (sizeof(V) < sizeof(double) && (needs_double(units) || !fits_float(left, right, kernel)))
    return products_of<T, double>(left, right, kernel, coefs, outputs, out, team);
  const bool spread = needs_differences(units);
  if (outputs == 1)
    fused_product<T, V>(left, all_rows(left.size), right, all_rows(right.size), kernel, coefs, out, team, spread);
  else
    fused_products<T, V>(left, right, kernel, coefs, outputs, out, team, spread);
}

template <class T>
void bind_rows(nb::module_& m, const char* name) {
  nb::class_<Rows<T>>(m, name)
      .def(
          "__init__",
          [](Rows<T>* self, const Matrix<T>& x) {
            new (self) Rows<T>{x.data(), nullptr, nullptr, int64_t(x.shape(0)), int64_t(x.shape(1))};
          },
          nb::keep_alive<1, 2>(), "dense"_a.noconvert())
      .def(
          "__init__",
          [](Rows<T>* self, const Vector<int64_t>& indptr, const Vector<Index>& indices, const Vector<T>& data,
             int64_t features) { new (self) Rows<T>(csr_rows<T>(indptr, indices, data, features)); },
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), "indptr"_a.noconvert(),
          "indices"_a.noconvert(), "data"_a.noconvert(), "features"_a)
      .def_ro("size", &Rows<T>::size)
      .def_ro("features", &Rows<T>::features);

  m.def(
      "cross_products",
      [](const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const Matrix<double>& coefs, bool single,
         int threads) {
        check_same_features(left, right);
        if (int64_t(coefs.shape(0)) != right.size) throw std::invalid_argument("one row of coefficients per row");
        const int64_t outputs = int64_t(coefs.shape(1));
        std::vector<double> out(size_t(left.size * outputs));
        {
          nb::gil_scoped_release release;
          const auto compute = single ? products_of<T, float> : products_of<T, T>;
          StopToken signals(hear_signals);
          compute(left, right, kernel, coefs.data(), outputs, out.data(), {usable_threads(threads), &signals});
        }
        return to_numpy<double>(std::move(out), {size_t(left.size), size_t(outputs)});
      },
      "left"_a, "right"_a, "kernel"_a, "coefs"_a, "single"_a, "threads"_a);
  m.def(
      "cross_rounding",
      [](const Rows<T>& left, const Rows<T>& right, const KernelSpec& kernel, const Vector<double>& coef) {
        check_same_features(left, right);
        if (int64_t(coef.shape(0)) != right.size) throw std::invalid_argument("one coefficient per row is needed");
        std::vector<double> bound(size_t(left.size));
        {
          nb::gil_scoped_release release;
          rounding_of_product<T, float>(left, all_rows(left.size), right, all_rows(right.size), kernel, coef.data(),
                                        !left.sparse(), true, bound.data(), {});
        }
        return to_numpy(std::move(bound));
      },
      "left"_a, "right"_a, "kernel"_a, "coef"_a);
}

// ---- Gram ---------------------------------------------------------------------------------------------------

std::vector<std::vector<Index>> checked_groups(const std::vector<Vector<Index>>& arrays, int64_t size) {
  std::vector<std::vector<Index>> groups;
  for (const auto& array : arrays) {
    groups.push_back(to_vector(array));
    for (size_t k = 0; k < groups.back().size(); ++k) {
      const Index r = groups.back()[k];
      if (r < 0 || r >= size) throw std::invalid_argument("a group lists a row that does not exist");
      if (k > 0 && r <= groups.back()[k - 1]) throw std::invalid_argument("a group lists its rows in order");
    }
  }
  return groups;
}

template <class V>
using Groups = std::vector<Vector<Index>>;

template <class V>
std::shared_ptr<Gram<V>> make_gram(std::unique_ptr<Source<V>> source, const Groups<V>& groups, int64_t cache_bytes,
                                   int threads) {
  auto checked = checked_groups(groups, source->size());
  return std::make_shared<Gram<V>>(std::move(source), std::move(checked), cache_bytes, threads);
}

nb::ndarray<nb::numpy, Index> index_array(Selection rows) {
  std::vector<Index> indices(rows.count);
  for (int64_t k = 0; k < rows.count; ++k) indices[k] = Index(rows[k]);
  return to_numpy(std::move(indices));
}

// The Python function is called with the GIL, and freed with it.
template <class V>
typename FunctionSource<V>::Function python_function(nb::callable callable) {
  std::shared_ptr<nb::callable> held(new nb::callable(std::move(callable)), [](nb::callable* p) {
    nb::gil_scoped_acquire acquire;
    delete p;
  });
  return [held](Selection rows, Selection columns, V* out) {
    nb::gil_scoped_acquire acquire;
    const nb::object result = (*held)(index_array(rows), index_array(columns));
    const auto values = nb::cast<Matrix<V>>(result);
    if (int64_t(values.shape(0)) != rows.count || int64_t(values.shape(1)) != columns.count)
      throw std::invalid_argument("the kernel function returned a block of the wrong shape");
    std::copy(values.data(), values.data() + rows.count * columns.count, out);
  };
}

template <class V>
Selection listed(const Vector<Index>& rows, const Gram<V>& gram) {
  for (size_t k = 0; k < rows.shape(0); ++k)
    if (rows(k) < 0 || rows(k) >= gram.size()) throw std::invalid_argument("a row that does not exist");
  return {rows.data(), 0, int64_t(rows.shape(0))};
}

template <class T, class V, class Class>
void def_from_rows(Class& c) {
  c.def_static(
      "from_rows",
      [](const Rows<T>& rows, const KernelSpec& kernel, const Groups<V>& groups, int64_t cache_bytes, int threads) {
        return make_gram<V>(std::make_unique<FeatureSource<T, V>>(rows, kernel), groups, cache_bytes, threads);
      },
      nb::keep_alive<0, 1>(), "rows"_a, "kernel"_a, "groups"_a, "cache_bytes"_a, "threads"_a);
}

template <class V>
void bind_gram(nb::module_& m, const char* name) {
  using G = Gram<V>;
  auto c = nb::class_<G>(m, name);
  def_from_rows<float, V>(c);
  def_from_rows<double, V>(c);
  c.def_static(
       "from_matrix",
       [](const Matrix<V>& values, const Groups<V>& groups, int64_t cache_bytes, int threads) {
         if (values.shape(0) != values.shape(1)) throw std::invalid_argument("a Gram matrix is square");
         return make_gram<V>(std::make_unique<MatrixSource<V>>(values.data(), int64_t(values.shape(0))), groups,
                             cache_bytes, threads);
       },
       nb::keep_alive<0, 1>(), "values"_a.noconvert(), "groups"_a, "cache_bytes"_a, "threads"_a)
      .def_static(
          "from_function",
          [](nb::callable function, const Vector<double>& diagonal, const Groups<V>& groups, int64_t cache_bytes,
             int threads) {
            return make_gram<V>(
                std::make_unique<FunctionSource<V>>(python_function<V>(std::move(function)), to_vector(diagonal)),
                groups, cache_bytes, threads);
          },
          "function"_a, "diagonal"_a, "groups"_a, "cache_bytes"_a, "threads"_a)
      .def("line",
           [](G& g, int64_t row, const Vector<Index>& others) {
             if (row < 0 || row >= g.size()) throw std::invalid_argument("a row that does not exist");
             const Selection selection = listed(others, g);
             std::vector<V> out(selection.count);
             {
               nb::gil_scoped_release release;
               std::lock_guard<std::mutex> lock(g.mutex());
               g.line(row, selection, out.data());
             }
             return to_numpy(std::move(out));
           })
      .def("block",
           [](G& g, const Vector<Index>& rows, const Vector<Index>& columns) {
             const Selection r = listed(rows, g), c2 = listed(columns, g);
             std::vector<V> out(r.count * c2.count);
             {
               nb::gil_scoped_release release;
               std::lock_guard<std::mutex> lock(g.mutex());
               g.block(r, c2, out.data());
             }
             return to_numpy<V>(std::move(out), {rows.shape(0), columns.shape(0)});
           })
      .def("diagonal",
           [](const G& g) {
             std::vector<double> out(g.size());
             for (int64_t r = 0; r < g.size(); ++r) out[r] = g.diagonal(r);
             return to_numpy(std::move(out));
           })
      .def_prop_ro("size", &G::size)
      .def_prop_ro("evaluations", &G::evaluations)
      .def_prop_ro("memory_pays", &G::memory_pays)
      .def_prop_ro("cache_hits", [](const G& g) { return g.cache().counts().hits; })
      .def_prop_ro("cache_misses", [](const G& g) { return g.cache().counts().misses; })
      .def_prop_ro("cache_evictions", [](const G& g) { return g.cache().counts().evictions; })
      .def_prop_ro("cache_bytes", [](const G& g) { return g.cache().used_bytes(); })
      .def_prop_ro("cache_budget", [](const G& g) { return g.cache().budget_bytes(); });
}

// ---- State --------------------------------------------------------------------------------------------------

using SegmentList = std::vector<std::pair<int, double>>;
using Radius = std::pair<double, bool>;  // and whether it grows

template <class V>
std::vector<Segment> checked_segments(const Gram<V>& gram, const SegmentList& list) {
  std::vector<Segment> segments;
  for (const auto& [group, sign] : list) {
    if (group < 0 || group >= gram.groups()) throw std::invalid_argument("a group that does not exist");
    segments.push_back({group, sign});
  }
  return segments;
}

std::vector<double> checked_ridge(const Vector<double>& ridge, size_t size) {
  if (ridge.shape(0) != 1 && ridge.shape(0) != size)
    throw std::invalid_argument("ridge: one number, or one per variable");
  return to_vector(ridge);
}

template <class V>
Terms checked_terms(const Gram<V>& gram, const SegmentList& list, const Vector<double>& ridge,
                    const Vector<double>& half_linear, double bias, const Radius& radius) {
  size_t size = 0;
  for (const auto& [group, sign] : list) size += sign == 0 ? 1 : size_t(gram.group(group).count);
  if (size == 0) throw std::invalid_argument("a problem without variables");
  if (half_linear.shape(0) != 0 && half_linear.shape(0) != size)
    throw std::invalid_argument("linear: none, or one number per variable");
  return {checked_ridge(ridge, size), to_vector(half_linear), bias, radius.first, radius.second};
}

template <class V>
int64_t checked(const State<V>& s, int64_t v) {
  if (v < 0 || v >= s.size()) throw std::invalid_argument("a variable that does not exist");
  return v;
}

template <class V>
void check_weights(const State<V>& s, const Vector<Index>& variables, const Vector<double>& values) {
  if (variables.shape(0) != values.shape(0) || values.shape(0) == 0)
    throw std::invalid_argument("one weight per variable, and at least one");
  for (size_t k = 0; k < values.shape(0); ++k) {
    checked(s, variables(k));
    if (!(values(k) >= 0) || !std::isfinite(values(k)))
      throw std::invalid_argument("weights are finite and not negative");
  }
}

// A snapshot may come from a file: nothing of it is believed that the core would not survive.
template <class V>
void check_snapshot(const State<V>& s, const Snapshot& p) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("a snapshot that does not fit the problem: ") + what);
  };
  const int64_t size = s.size(), capacity = p.counts.size() == 8 ? p.counts[5] : 0;
  require(p.numbers.size() == 8 && p.counts.size() == 8, "numbers");
  require(p.numbers[6] > 0 && std::isfinite(p.numbers[6]), "radius");
  require(p.weights.size() == p.active.size() && !p.active.empty(), "weights");
  require(int64_t(p.h.size()) == size, "size");
  require(int64_t(p.slots.size()) <= capacity && capacity <= size, "slots");
  for (const double a : p.weights) require(a > 0 && std::isfinite(a), "a weight");
  for (const double h : p.h) require(!std::isnan(h), "h");
  for (const int k : {0, 1}) require(p.counts[size_t(k)] >= 0 && p.counts[size_t(k)] < size, "a vertex");
  const std::vector<Index>* lists[] = {&p.active, &p.slots, &p.kept};
  for (const auto* list : lists) {
    std::vector<char> seen(size_t(size), 0);
    for (const Index v : *list) {
      if (v == -1 && list == &p.slots) continue;  // a free slot
      require(v >= 0 && v < size && !seen[size_t(v)], "variables");
      seen[size_t(v)] = 1;
    }
  }
}

// Runs body(state) without the GIL and with the Gram's cache to itself.
template <class V, class Body>
auto exclusively(State<V>& state, Body body) {
  nb::gil_scoped_release release;
  std::lock_guard<std::mutex> lock(state.gram().mutex());
  return body(state);
}

// The same, until the token of the state stops it.
template <class V, class Body>
auto stoppably(State<V>& state, Body body) {
  return exclusively(state, [&](State<V>& s) {
    struct Lent {
      Gram<V>& gram;
      ~Lent() { gram.exchange_token(nullptr); }
    } lent{s.gram()};
    s.gram().exchange_token(s.token().get());
    return body(s);
  });
}

std::tuple<double, double, bool> as_tuple(const Search& s) {
  return {s.step, s.gain, s.clipped};
}

template <class V>
void bind_state(nb::module_& m, const char* base_name, const char* full_name, const char* sampled_name) {
  using S = State<V>;
  nb::class_<S>(m, base_name)
      .def_prop_ro("size", &S::size)
      .def_prop_ro("toward", &S::toward)
      .def_prop_ro("away", &S::away)
      .def_prop_ro("value", &S::value)
      .def_prop_ro("gap", &S::gap)
      .def_prop_ro("gap_floor", &S::gap_floor)
      .def_prop_ro("scale", &S::scale)
      .def_prop_ro("exhausted", &S::exhausted)
      .def_prop_ro("radius", &S::radius)
      .def_prop_ro("support_size", &S::support_size)
      .def_prop_ro(
          "weights", [](const S& s) { return to_numpy(s.weights()); }, nb::rv_policy::move)
      .def_prop_ro(
          "support",
          [](const S& s) {
            auto support = s.active();
            std::sort(support.begin(), support.end());
            return to_numpy(std::move(support));
          },
          nb::rv_policy::move)
      .def("score", [](const S& s, int64_t v) { return s.score(checked(s, v)); })
      .def("diagonal", [](const S& s, int64_t v) { return s.diagonal(checked(s, v)); })
      .def("search_toward", [](S& s, int64_t i) { return as_tuple(s.search_toward(checked(s, i))); })
      .def("search_away", [](S& s, int64_t j) { return as_tuple(s.search_away(checked(s, j))); })
      .def("search_swap",
           [](S& s, int64_t i, int64_t j) {
             checked(s, i), checked(s, j);
             return as_tuple(exclusively(s, [=](S& state) { return state.search_swap(i, j); }));
           })
      .def("second_order_away",
           [](S& s, int64_t i) {
             checked(s, i);
             return exclusively(s, [=](S& state) { return state.second_order_away(i); });
           })
      .def("move",
           [](S& s, int kind, double scale, int64_t i, double add, int64_t j, double sub, bool drop) {
             if (add == 0 && sub == 0) throw std::invalid_argument("a move that moves nothing");
             if (add != 0) checked(s, i);
             if (sub != 0) checked(s, j);
             exclusively(s, [=](S& state) { state.move({Kind(kind), scale, i, add, j, sub, drop}); });
           })
      .def("set_weights",
           [](S& s, const Vector<Index>& variables, const Vector<double>& values) {
             check_weights(s, variables, values);
             stoppably(s, [&](S& state) { state.set_weights(to_vector(variables), to_vector(values)); });
           })
      .def("correct",
           [](S& s, const Vector<Index>& variables, const Vector<double>& values, double scale, double growth,
              bool fused) {
             check_weights(s, variables, values);
             const Correction correction{to_vector(variables), to_vector(values), scale, growth};
             stoppably(s, [&](S& state) { state.correct(correction, fused); });
           })
      .def("face",
           [](S& s, const Vector<Index>& variables) {
             for (size_t k = 0; k < variables.shape(0); ++k) {
               checked(s, variables(k));
               if (k > 0 && variables(k) <= variables(k - 1))
                 throw std::invalid_argument("a face lists its variables in order");
             }
             auto values = exclusively(s, [&](S& state) { return state.face(to_vector(variables)); });
             auto* kept = new std::shared_ptr<const V[]>(std::move(values));
             nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::shared_ptr<const V[]>*>(p); });
             const size_t n = variables.shape(0);
             return nb::ndarray<nb::numpy, const V>(kept->get(), {n, n}, owner);
           })
      .def("solve_on",
           [](S& s, const Vector<Index>& variables, int64_t capacity, int64_t block, int64_t blocks, double accuracy) {
             for (size_t k = 0; k < variables.shape(0); ++k) checked(s, variables(k));
             Correction c = stoppably(s, [&](S& state) {
               return state.solve_on(to_vector(variables), capacity, {block, blocks, accuracy, 1.0});
             });
             return std::make_tuple(to_numpy(std::move(c.variables)), to_numpy(std::move(c.weights)), c.scale,
                                    c.growth);
           })
      .def("certify", [](S& s) { stoppably(s, [](S& state) { state.certify(); }); })
      .def("prove", [](S& s) { stoppably(s, [](S& state) { state.prove(); }); })
      .def_prop_ro("certificate_seconds", &S::certificate_seconds)
      .def_prop_ro("certified", &S::certified)
      .def_prop_ro("gap_rounding", &S::gap_rounding)
      .def_prop_ro("value_rounding", &S::value_rounding)
      .def("set_token", &S::set_token, "token"_a.none())
      .def("snapshot",
           [](const S& s) {
             Snapshot p = s.snapshot();
             nb::dict parts;
             parts["active"] = to_numpy(std::move(p.active));
             parts["slots"] = to_numpy(std::move(p.slots));
             parts["kept"] = to_numpy(std::move(p.kept));
             parts["weights"] = to_numpy(std::move(p.weights));
             parts["h"] = to_numpy(std::move(p.h));
             parts["numbers"] = to_numpy(std::move(p.numbers));
             parts["counts"] = to_numpy(std::move(p.counts));
             return parts;
           })
      .def(
          "restore",
          [](S& s, const Vector<Index>& active, const Vector<Index>& slots, const Vector<Index>& kept,
             const Vector<double>& weights, const Vector<double>& h, const Vector<double>& numbers,
             const Vector<int64_t>& counts) {
            const Snapshot p{to_vector(active), to_vector(slots),   to_vector(kept),  to_vector(weights),
                             to_vector(h),      to_vector(numbers), to_vector(counts)};
            check_snapshot(s, p);
            exclusively(s, [&](S& state) { state.restore(p); });
          },
          "active"_a, "slots"_a, "kept"_a, "weights"_a, "h"_a, "numbers"_a, "counts"_a)
      .def(
          "run",
          [](S& s, StepKind step, int64_t moves, double tol, double eps, int64_t iteration) {
            const Limits limits{moves, tol, eps, iteration};
            Progress p = exclusively(s, [&](S& state) { return run(state, step, limits); });
            const char* bytes = reinterpret_cast<const char*>(p.records.data());
            std::vector<int64_t> kinds(p.kinds.begin(), p.kinds.end());
            return std::make_tuple(p.moves, p.stalled, kinds, nb::bytes(bytes, p.records.size() * sizeof(Record)));
          },
          "step"_a, "moves"_a, "tol"_a, "eps"_a, "iteration"_a);

  nb::class_<FullState<V>, S>(m, full_name)
      .def(
          "__init__",
          [](FullState<V>* self, std::shared_ptr<Gram<V>> gram, const SegmentList& segments,
             const Vector<double>& ridge, const Vector<double>& half_linear, double bias, const Radius& radius) {
            auto checked = checked_segments(*gram, segments);
            auto terms = checked_terms(*gram, segments, ridge, half_linear, bias, radius);
            new (self) FullState<V>(gram, std::move(checked), std::move(terms));
          },
          nb::keep_alive<1, 2>(), "gram"_a, "segments"_a, "ridge"_a, "half_linear"_a, "bias"_a, "radius"_a)
      .def("set_ridge",
           [](FullState<V>& s, const Vector<double>& ridge) {
             auto checked = checked_ridge(ridge, size_t(s.size()));
             if (s.support_size() == 0) throw std::invalid_argument("a state without weights has no other ridge");
             exclusively<V>(s, [&](State<V>&) { s.set_ridge(std::move(checked)); });
           })
      .def("refresh", [](FullState<V>& s) { stoppably<V>(s, [&](State<V>&) { s.refresh(); }); })
      .def("extreme", [](FullState<V>& s, int64_t size) { return to_numpy(s.extreme(size)); })
      .def("violators", [](const FullState<V>& s, int64_t count) { return to_numpy(s.violators(count)); })
      .def("shrink", [](FullState<V>& s) { s.shrink(); })
      .def("watch",
           [](FullState<V>& s, const Vector<Index>& variables) {
             for (size_t k = 0; k < variables.shape(0); ++k) checked<V>(s, variables(k));
             s.watch(to_vector(variables));
           })
      .def_prop_ro(
          "gradient_half", [](const FullState<V>& s) { return to_numpy(s.gradient_half()); }, nb::rv_policy::move);

  nb::class_<SampledState<V>, S>(m, sampled_name)
      .def(
          "__init__",
          [](SampledState<V>* self, std::shared_ptr<Gram<V>> gram, const SegmentList& segments,
             const Vector<double>& ridge, const Vector<double>& half_linear, double bias, const Radius& radius,
             int64_t sample, bool with_active, uint64_t seed) {
            if (sample < 1) throw std::invalid_argument("a sample has at least one variable");
            auto checked = checked_segments(*gram, segments);
            auto terms = checked_terms(*gram, segments, ridge, half_linear, bias, radius);
            new (self) SampledState<V>(gram, std::move(checked), std::move(terms), sample, with_active, seed);
          },
          nb::keep_alive<1, 2>(), "gram"_a, "segments"_a, "ridge"_a, "half_linear"_a, "bias"_a, "radius"_a, "sample"_a,
          "with_active"_a, "seed"_a)
      .def("look", [](SampledState<V>& s) { exclusively<V>(s, [&](State<V>&) { s.look(); }); })
      .def_prop_ro("samplings", &SampledState<V>::samplings);
}

template <class V>
void bind_functions(nb::module_& m, const char* exponential_name) {
  m.def(exponential_name, [](const Vector<V>& x) {
    std::vector<V> out = to_vector(x);
    hot_updates<V>().exponential(out.data(), int64_t(out.size()));
    return to_numpy(std::move(out));
  });
}

// ---- svmlight -----------------------------------------------------------------------------------------------

void bind_svmlight(nb::module_& m) {
  nb::class_<SvmlightReader>(m, "SvmlightReader")
      .def(nb::init<int64_t>(), "features"_a)
      .def("feed",
           [](SvmlightReader& reader, const nb::bytes& text) {
             const std::string_view view(text.c_str(), text.size());
             nb::gil_scoped_release release;
             reader.feed(view);
           })
      .def("finish", [](SvmlightReader& reader) {
        Labelled rows = reader.finish();
        return std::make_tuple(to_numpy(std::move(rows.labels)), to_numpy(std::move(rows.data)),
                               to_numpy(std::move(rows.indices)), to_numpy(std::move(rows.indptr)), rows.features);
      });
}

}  // namespace
}  // namespace swapsvm

NB_MODULE(_core, m) {
  using namespace swapsvm;
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
      .value("swap2", StepKind::swap2);
  nb::class_<KernelSpec>(m, "KernelSpec")
      .def(
          "__init__",
          [](KernelSpec* self, KernelKind kind, double gamma, double coef0, int degree) {
            new (self) KernelSpec{kind, gamma, coef0, degree};
          },
          "kind"_a, "gamma"_a = 1.0, "coef0"_a = 0.0, "degree"_a = 1);
  bind_stopping(m);
  bind_rows<float>(m, "Rows32");
  bind_rows<double>(m, "Rows64");
  bind_gram<float>(m, "Gram32");
  bind_gram<double>(m, "Gram64");
  bind_state<float>(m, "State32", "FullState32", "SampledState32");
  bind_state<double>(m, "State64", "FullState64", "SampledState64");
  bind_functions<float>(m, "exponential32");
  bind_functions<double>(m, "exponential64");
  bind_svmlight(m);
  m.def("simd_levels", &simd_levels);
  m.def("simd_level", &simd_level);
  m.def("select_simd", &select_simd, "level"_a);
  m.def("usable_threads", &usable_threads, "wanted"_a = 0);
}
