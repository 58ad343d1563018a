#include "../features.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "../full_state.hpp"
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
std::shared_ptr<Features> make(State<V>& state, const Vector<Index>& rows, const Vector<Index>& landmarks,
                               const Matrix<float>& factor, double bias, const nb::capsule& solve) {
  const Selection left = checked(rows, state.gram().size()), right = checked(landmarks, state.gram().size());
  if (int64_t(factor.shape(0)) != right.count || int64_t(factor.shape(1)) != right.count || right.count == 0)
    throw std::invalid_argument("the factor must be a square matrix, with a row for each landmark");
  const auto function = reinterpret_cast<TriangularSolve>(solve.data(solve.name()));
  return stoppably(
      state, [&] { return std::make_shared<Features>(state.gram(), left, right, factor.data(), bias, function); });
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

}  // namespace

void bind_features(nb::module_& m) {
  nb::class_<Features>(m, "Features")
      .def_prop_ro("rows", &Features::rows)
      .def_prop_ro("columns", &Features::columns)
      .def_prop_ro(
          "residual", [](const Features& f) { return to_numpy(f.residual()); }, nb::rv_policy::move)
      .def(
          "product",
          [](const Features& f, const Vector<double>& v) {
            const double* numbers = checked(v, f.columns());
            return without_gil([&] { return f.product(numbers); });
          },
          "v"_a)
      .def(
          "transposed",
          [](const Features& f, const Vector<double>& w) {
            const double* numbers = checked(w, f.rows());
            return without_gil([&] { return f.transposed(numbers); });
          },
          "w"_a)
      .def(
          "quadratic",
          [](const Features& f, const Vector<double>& w, const Vector<double>& v) {
            const double *weights = checked(w, f.rows()), *numbers = checked(v, f.columns());
            return without_gil([&] { return f.quadratic(weights, numbers); });
          },
          "w"_a, "v"_a)
      .def(
          "some",
          [](const Features& f, const Vector<Index>& rows) {
            return to_numpy(f.some(checked(rows, f.rows())), rows.shape(0), size_t(f.columns()));
          },
          "rows"_a);
  m.def("features", make<float>, "state"_a, "rows"_a, "landmarks"_a, "factor"_a, "bias"_a, "solve"_a);
  m.def("features", make<double>, "state"_a, "rows"_a, "landmarks"_a, "factor"_a, "bias"_a, "solve"_a);
}

}  // namespace swapsvm
