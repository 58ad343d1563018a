#include "../votes.hpp"

#include <nanobind/stl/pair.h>

#include "bindings.hpp"

namespace swapsvm {
namespace {

void check_pairs(const Matrix<double>& decisions, int64_t classes) {
  if (classes < 1 || classes * (classes - 1) / 2 != int64_t(decisions.shape(1)))
    throw std::invalid_argument("one decision for each pair of classes is needed");
}

std::pair<NewMatrix<double>, NewMatrix<double>> votes(const Matrix<double>& decisions, const Vector<bool>& present) {
  const size_t rows = decisions.shape(0), pairs = decisions.shape(1), classes = present.shape(0);
  check_pairs(decisions, int64_t(classes));
  std::vector<double> counts(rows * classes, 0.0), sums(rows * classes, 0.0);
  {
    nb::gil_scoped_release release;
    for (size_t r = 0; r < rows; ++r)
      count_votes(decisions.data() + r * pairs, int64_t(classes), present.data(), counts.data() + r * classes,
                  sums.data() + r * classes);
  }
  return {to_numpy(std::move(counts), rows, classes), to_numpy(std::move(sums), rows, classes)};
}

NewVector<bool> sure_winners(const Matrix<double>& decisions, const Vector<double>& bounds, int64_t classes) {
  check_pairs(decisions, classes);
  const size_t rows = decisions.shape(0), pairs = decisions.shape(1);
  if (bounds.shape(0) != rows) throw std::invalid_argument("one bound per row is needed");
  auto* sure = new bool[rows];
  nb::capsule owner(sure, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  {
    nb::gil_scoped_release release;
    for (size_t r = 0; r < rows; ++r) sure[r] = has_sure_winner(decisions.data() + r * pairs, classes, bounds(r));
  }
  return NewVector<bool>(sure, {rows}, owner);
}

}  // namespace

void bind_votes(nb::module_& m) {
  m.def("count_votes", votes, "decisions"_a, "present"_a);
  m.def("sure_winners", sure_winners, "decisions"_a, "bounds"_a, "classes"_a);
}

}  // namespace swapsvm
