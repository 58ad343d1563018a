#include "../rows.hpp"

#include <algorithm>

#include "../product.hpp"
#include "bindings.hpp"

namespace swapsvm {
namespace {

// Refuses a matrix that points outside of itself: memory safety does not rest on the caller.
template <class T>
void from_csr(Rows<T>* self, const Vector<int64_t>& indptr, const Vector<Index>& indices, const Vector<T>& data,
              int64_t features) {
  if (indptr.shape(0) == 0 || indices.shape(0) != data.shape(0)) throw std::invalid_argument("inconsistent CSR arrays");
  const Rows<T> rows{data.data(), indptr.data(), indices.data(), int64_t(indptr.shape(0)) - 1, features};
  const int64_t entries = int64_t(data.shape(0));
  if (rows.indptr[0] < 0 || rows.indptr[rows.size] > entries)
    throw std::invalid_argument("CSR indptr points outside of the data");
  if (!std::is_sorted(rows.indptr, rows.indptr + rows.size + 1)) throw std::invalid_argument("CSR indptr decreases");
  const auto outside = [&](Index column) { return column < 0 || column >= features; };
  if (std::any_of(rows.indices, rows.indices + entries, outside))
    throw std::invalid_argument("CSR column index outside of the matrix");
  new (self) Rows<T>(rows);
}

// body(left, right) of rows of one floating-point type, without the GIL.
template <class Body>
void visit_both(const AnyRows& left, const AnyRows& right, Body body) {
  if (left.index() != right.index())
    throw std::invalid_argument("the left and the right rows must have the same floating-point type");
  nb::gil_scoped_release release;
  const FlushSubnormals flush;
  if (left.index() == 0) return body(std::get<0>(left), std::get<0>(right));
  body(std::get<1>(left), std::get<1>(right));
}

// The vectors of a model with their coefficients, checked once. See Groups.
class KernelSums {
 public:
  KernelSums(const AnyRows& vectors, const KernelSpec& kernel, Matrix<double> coef, Vector<int64_t> ends,
             Matrix<Index> columns)
      : vectors_(vectors),
        kernel_(kernel),
        coef_(std::move(coef)),
        ends_(std::move(ends)),
        columns_(std::move(columns)) {
    const int64_t size = std::visit([](const auto& z) { return z.size; }, vectors_);
    const size_t lines = coef_.shape(0), count = ends_.shape(0);
    const Index* places = columns_.data();
    if (int64_t(coef_.shape(1)) != size) throw std::invalid_argument("one column of coefficients per vector is needed");
    if (columns_.shape(0) != count || columns_.shape(1) != lines || lines * count == 0)
      throw std::invalid_argument("one output for each line of each group is needed");
    if (ends_(0) < 0 || !std::is_sorted(ends_.data(), ends_.data() + count) || ends_(count - 1) != size)
      throw std::invalid_argument("the groups must end with the vectors");
    if (*std::min_element(places, places + lines * count) < 0) throw std::invalid_argument("a negative output");
    const int64_t outputs = 1 + *std::max_element(places, places + lines * count);
    groups_ = {coef_.data(), ends_.data(), places, size, int64_t(count), int64_t(lines), outputs};
  }

  NewMatrix<double> of(const AnyRows& rows, bool single, int threads) const {
    size_t size = 0;
    std::vector<double> out;
    visit_both(rows, vectors_, [&](const auto& x, const auto& z) {
      using T = std::decay_t<decltype(*x.data)>;
      size = size_t(x.size);
      out.assign(size * size_t(groups_.outputs), 0.0);
      StopToken signals(hear_signals);
      const auto compute = single ? grouped_products<T, float> : grouped_products<T, T>;
      compute(x, z, kernel_, groups_, out.data(), {usable_threads(threads), &signals});
    });
    return to_numpy(std::move(out), size, size_t(groups_.outputs));
  }

 private:
  AnyRows vectors_;
  KernelSpec kernel_;
  Matrix<double> coef_;
  Vector<int64_t> ends_;
  Matrix<Index> columns_;
  Groups groups_;
};

NewVector<double> rounding(const AnyRows& left, const AnyRows& right, const KernelSpec& kernel,
                           const Vector<double>& coef) {
  std::vector<double> bound;
  visit_both(left, right, [&](const auto& x, const auto& z) {
    check_same_features(x, z);
    if (int64_t(coef.shape(0)) != z.size) throw std::invalid_argument("one coefficient per row is needed");
    bound.resize(size_t(x.size));
    const Norms of_x = norms_of(x), of_z = norms_of(z);
    const bool differences = needs_differences<float>(x, kernel, units_lost(x, of_x, of_z, kernel));
    rounding_of_product<std::decay_t<decltype(*x.data)>, float>(
        x, of_x, all_rows(x.size), of_z, all_rows(z.size), kernel, coef.data(), differences, true, bound.data(), {});
  });
  return to_numpy(std::move(bound));
}

template <class T>
void bind_rows_of(nb::module_& m, const char* name) {
  nb::class_<Rows<T>>(m, name)
      .def(
          "__init__",
          [](Rows<T>* self, const Matrix<T>& x) {
            new (self) Rows<T>{x.data(), nullptr, nullptr, int64_t(x.shape(0)), int64_t(x.shape(1))};
          },
          nb::keep_alive<1, 2>(), "dense"_a.noconvert())
      .def("__init__", from_csr<T>, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "features"_a)
      .def_ro("size", &Rows<T>::size)
      .def_ro("features", &Rows<T>::features);
}

}  // namespace

void bind_rows(nb::module_& m) {
  bind_rows_of<float>(m, "Rows32");
  bind_rows_of<double>(m, "Rows64");
  nb::class_<KernelSums>(m, "KernelSums")
      .def(nb::init<const AnyRows&, const KernelSpec&, Matrix<double>, Vector<int64_t>, Matrix<Index>>(),
           nb::keep_alive<1, 2>(), "vectors"_a, "kernel"_a, "coef"_a.noconvert(), "ends"_a.noconvert(),
           "columns"_a.noconvert())
      .def("of", &KernelSums::of, "rows"_a, "single"_a, "threads"_a);
  m.def("cross_rounding", rounding, "left"_a, "right"_a, "kernel"_a, "coef"_a);
}

}  // namespace swapsvm
