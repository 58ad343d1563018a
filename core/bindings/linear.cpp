#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "../descent.hpp"
#include "../full_state.hpp"
#include "bindings.hpp"

namespace swapsvm {
namespace {

template <class V>
std::vector<Index> rows_of_state(const Vector<Index>& rows, State<V>& state) {
  for (size_t k = 0; k < rows.shape(0); ++k)
    if (rows(k) < 0 || rows(k) >= state.gram().size()) throw std::invalid_argument("a row that does not exist");
  return to_vector(rows);
}

template <class V>
std::shared_ptr<DualDescent> make_descent(State<V>& state, const Vector<Index>& rows, const Vector<double>& sign,
                                          const Vector<double>& ridge, const Vector<double>& target, double bias) {
  DualTerms terms{rows_of_state(rows, state), to_vector(sign), to_vector(ridge), to_vector(target)};
  return std::make_shared<DualDescent>(checked_linear_rows(state.gram()), std::move(terms), bias);
}

// New weights, and their products.
template <class V>
auto descend(const DualDescent& descent, State<V>& state, const Vector<double>& weights, double accuracy,
             int64_t epochs) {
  if (int64_t(weights.shape(0)) != descent.size()) throw std::invalid_argument("one weight per variable is needed");
  std::vector<double> b = to_vector(weights);
  std::vector<double> products =
      stoppably(state, [&] { return descent.descend(b, accuracy, epochs, state.gram().team()); });
  return std::make_pair(to_numpy(std::move(b)), to_numpy(std::move(products)));
}

template <class V>
void bind_descent_of(nb::module_& m) {
  m.def("dual_descent", make_descent<V>, nb::keep_alive<0, 1>(), "state"_a, "rows"_a, "sign"_a, "ridge"_a, "target"_a,
        "bias"_a);
}

}  // namespace

void bind_linear(nb::module_& m) {
  nb::class_<DualDescent>(m, "DualDescent")
      .def("descend", descend<float>, "state"_a, "weights"_a, "accuracy"_a, "epochs"_a)
      .def("descend", descend<double>, "state"_a, "weights"_a, "accuracy"_a, "epochs"_a);
  bind_descent_of<float>(m);
  bind_descent_of<double>(m);
}

}  // namespace swapsvm
