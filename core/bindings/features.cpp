#include "../features.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "../full_state.hpp"
#include "../linear.hpp"
#include "bindings.hpp"

namespace swapsvm {
namespace {

Selection checked(const Vector<Index>& rows, int64_t size) {
  for (size_t k = 0; k < rows.shape(0); ++k)
    if (rows(k) < 0 || rows(k) >= size) throw std::invalid_argument("a row that does not exist");
  return {rows.data(), 0, int64_t(rows.shape(0))};
}

const double* checked(const Vector<double>& values, int64_t size) {
  if (int64_t(values.shape(0)) != size) throw std::invalid_argument("a vector of the wrong length");
  return values.data();
}

template <class V>
std::shared_ptr<Features> make(Gram<V>& gram, const Vector<Index>& rows, const Vector<Index>& landmarks,
                               const Matrix<float>& factor, double bias, const nb::capsule& solve,
                               const std::shared_ptr<StopToken>& token) {
  const Selection left = checked(rows, gram.size()), right = checked(landmarks, gram.size());
  if (int64_t(factor.shape(0)) != right.count || int64_t(factor.shape(1)) != right.count || right.count == 0)
    throw std::invalid_argument("the factor must be a square matrix, with a row for each landmark");
  const auto function = reinterpret_cast<TriangularSolve>(solve.data(solve.name()));
  return until_stopped(gram, token.get(),
                       [&] { return std::make_shared<Features>(gram, left, right, factor.data(), bias, function); });
}

template <class V>
std::shared_ptr<Features> make_of_state(State<V>& state, const Vector<Index>& rows, const Vector<Index>& landmarks,
                                        const Matrix<float>& factor, double bias, const nb::capsule& solve) {
  return make(state.gram(), rows, landmarks, factor, bias, solve, state.token());
}

template <class V>
std::shared_ptr<LinearFeatures> make_linear(State<V>& state, const Vector<Index>& rows, double bias) {
  checked(rows, state.gram().size());
  return std::make_shared<LinearFeatures>(checked_linear_rows(state.gram()), to_vector(rows), bias,
                                          state.gram().threads());
}

template <class Compute>
NewVector<double> without_gil(Compute compute) {
  std::vector<double> out;
  {
    nb::gil_scoped_release release;
    const FlushSubnormals flush;
    out = compute();
  }
  return to_numpy(std::move(out));
}

// K_:F, until a token stops its passes: that of a state, or one for all of them.
template <class V>
struct StoppableColumns {
  Gram<V>& gram;
  std::function<StopToken*()> token;
  KernelColumns<V> columns;

  template <class Compute>
  NewVector<double> pass(Compute compute) {
    return to_numpy(until_stopped(gram, token(), [&] {
      gram.add_evaluations(columns.rows() * columns.columns());
      return compute();
    }));
  }
};

// All of its numbers, with padding.
template <class V>
NewMatrix<float> numbers_of(StoppableColumns<V>& c) {
  c.gram.add_evaluations(c.columns.rows() * c.columns.columns());
  return to_numpy(until_stopped(c.gram, c.token(), [&] { return c.columns.numbers(); }), size_t(c.columns.rows()),
                  size_t(c.columns.stride()));
}

// GivenColumns over an array of such numbers, which is kept alive.
void make_given(GivenColumns* self, const Matrix<float>& numbers, int64_t columns, int threads) {
  new (self) GivenColumns(numbers.data(), int64_t(numbers.shape(0)), int64_t(numbers.shape(1)), columns,
                          usable_threads(threads));
}

template <class V>
std::unique_ptr<StoppableColumns<V>> make_columns(Gram<V>& gram, const Vector<Index>& rows,
                                                  const Vector<Index>& landmarks, double bias,
                                                  std::function<StopToken*()> token) {
  checked(rows, gram.size());
  if (checked(landmarks, gram.size()).count == 0) throw std::invalid_argument("no landmarks");
  return std::unique_ptr<StoppableColumns<V>>(
      new StoppableColumns<V>{gram, std::move(token), {gram, to_vector(rows), to_vector(landmarks), bias}});
}

template <class V>
void bind_columns(nb::module_& m, const char* name) {
  using Columns = StoppableColumns<V>;
  nb::class_<Columns>(m, name)
      .def(
          "product",
          [](Columns& c, const Vector<double>& v) {
            const double* numbers = checked(v, c.columns.columns());
            return c.pass([&] { return c.columns.product(numbers); });
          },
          "v"_a)
      .def(
          "transposed",
          [](Columns& c, const Vector<double>& w) {
            const double* numbers = checked(w, c.columns.rows());
            return c.pass([&] { return c.columns.transposed(numbers); });
          },
          "w"_a)
      .def(
          "quadratic",
          [](Columns& c, const Vector<double>& w, const Vector<double>& v) {
            const double *weights = checked(w, c.columns.rows()), *numbers = checked(v, c.columns.columns());
            return c.pass([&] { return c.columns.quadratic(weights, numbers); });
          },
          "w"_a, "v"_a)
      .def("numbers", numbers_of<V>);
  m.def(
      "kernel_columns",
      [](State<V>& state, const Vector<Index>& rows, const Vector<Index>& landmarks, double bias) {
        return make_columns(state.gram(), rows, landmarks, bias, [&state] { return state.token().get(); });
      },
      nb::keep_alive<0, 1>(), "state"_a, "rows"_a, "landmarks"_a, "bias"_a);
  m.def(
      "kernel_columns",
      [](Gram<V>& gram, const Vector<Index>& rows, const Vector<Index>& landmarks, double bias,
         std::shared_ptr<StopToken> token) {
        return make_columns(gram, rows, landmarks, bias, [token = std::move(token)] { return token.get(); });
      },
      nb::keep_alive<0, 1>(), "gram"_a, "rows"_a, "landmarks"_a, "bias"_a, "token"_a.none());
}

template <class V>
void bind_making_of_features(nb::module_& m) {
  m.def("features", make_of_state<V>, "state"_a, "rows"_a, "landmarks"_a, "factor"_a, "bias"_a, "solve"_a);
  m.def("features", make<V>, "gram"_a, "rows"_a, "landmarks"_a, "factor"_a, "bias"_a, "solve"_a, "token"_a.none());
}

// The passes over Z, wherever its numbers come from.
template <class F>
nb::class_<F> bind_products(nb::module_& m, const char* name) {
  return nb::class_<F>(m, name)
      .def_prop_ro("rows", &F::rows)
      .def_prop_ro("columns", &F::columns)
      .def(
          "product",
          [](const F& f, const Vector<double>& v) {
            const double* numbers = checked(v, f.columns());
            return without_gil([&] { return f.product(numbers); });
          },
          "v"_a)
      .def(
          "transposed",
          [](const F& f, const Vector<double>& w) {
            const double* numbers = checked(w, f.rows());
            return without_gil([&] { return f.transposed(numbers); });
          },
          "w"_a)
      .def(
          "quadratic",
          [](const F& f, const Vector<double>& w, const Vector<double>& v) {
            const double *weights = checked(w, f.rows()), *numbers = checked(v, f.columns());
            return without_gil([&] { return f.quadratic(weights, numbers); });
          },
          "w"_a, "v"_a);
}

// The same with the numbers themselves, and what they leave out.
template <class F>
nb::class_<F> bind_passes(nb::module_& m, const char* name) {
  return bind_products<F>(m, name)
      .def_prop_ro(
          "residual", [](const F& f) { return to_numpy(f.residual()); }, nb::rv_policy::move)
      .def(
          "some",
          [](const F& f, const Vector<Index>& rows) {
            return to_numpy(f.some(checked(rows, f.rows())), rows.shape(0), size_t(f.columns()));
          },
          "rows"_a);
}

}  // namespace

void bind_features(nb::module_& m) {
  bind_passes<Features>(m, "Features");
  bind_passes<LinearFeatures>(m, "LinearFeatures")
      .def(
          "squares",
          [](const LinearFeatures& f, const Vector<double>& w) {
            const double* numbers = checked(w, f.rows());
            return without_gil([&] { return f.squares(numbers); });
          },
          "w"_a);
  bind_products<GivenColumns>(m, "GivenColumns")
      .def("__init__", make_given, nb::keep_alive<1, 2>(), "numbers"_a, "columns"_a, "threads"_a);
  bind_columns<float>(m, "KernelColumns32");
  bind_columns<double>(m, "KernelColumns64");
  bind_making_of_features<float>(m);
  bind_making_of_features<double>(m);
  m.def("linear_features", make_linear<float>, nb::keep_alive<0, 1>(), "state"_a, "rows"_a, "bias"_a);
  m.def("linear_features", make_linear<double>, nb::keep_alive<0, 1>(), "state"_a, "rows"_a, "bias"_a);
}

}  // namespace swapsvm
