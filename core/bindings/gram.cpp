#include "../gram.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "../dots.hpp"
#include "bindings.hpp"

namespace swapsvm {
namespace {

using Groups = std::vector<Vector<Index>>;
// As Gram's callers see it: k(rows, columns) of two lists of indices.
template <class V>
using PythonKernel = nb::typed<nb::callable, NewMatrix<V>(NewVector<Index>, NewVector<Index>)>;

template <class V>
std::shared_ptr<Gram<V>> make_gram(std::unique_ptr<Source<V>> source, const Groups& arrays, int64_t cache_bytes,
                                   int threads) {
  std::vector<std::vector<Index>> groups;
  for (const auto& array : arrays) groups.push_back(to_vector(array));
  return std::make_shared<Gram<V>>(std::move(source), std::move(groups), cache_bytes, threads);
}

NewVector<Index> index_array(Selection rows) {
  std::vector<Index> indices(rows.count);
  for (int64_t k = 0; k < rows.count; ++k) indices[k] = Index(rows[k]);
  return to_numpy(std::move(indices));
}

// A Python function that is freed with the GIL.
using Held = std::shared_ptr<nb::callable>;
Held held_function(nb::callable callable) {
  return Held(new nb::callable(std::move(callable)), [](nb::callable* p) {
    nb::gil_scoped_acquire acquire;
    delete p;
  });
}

// The Python function is called with the GIL.
template <class V>
KernelFunction<V> python_function(nb::callable callable) {
  return [held = held_function(std::move(callable))](Selection rows, Selection columns, V* out) {
    nb::gil_scoped_acquire acquire;
    const FlushSubnormals as_usual(false);
    const nb::object result = (*held)(index_array(rows), index_array(columns));
    const auto values = nb::cast<Matrix<V>>(result);
    if (int64_t(values.shape(0)) != rows.count || int64_t(values.shape(1)) != columns.count)
      throw std::invalid_argument("the kernel function returned a block of the wrong shape");
    std::copy(values.data(), values.data() + rows.count * columns.count, out);
  };
}

// As a Gram's callers see it: (rows, vectors, coef, exact, token) -> one number for each row.
using PythonSums =
    nb::typed<nb::callable, NewVector<double>(NewVector<Index>, NewVector<Index>, NewVector<double>, bool, StopToken*)>;

// The token stops the computation from inside the function, and is asked once more if the function fails.
template <class V>
typename PassesElsewhere<V>::Sums python_sums(nb::callable callable) {
  return [held = held_function(std::move(callable))](Selection rows, const Vectors& z, bool exact, double* out,
                                                     StopToken* token) {
    nb::gil_scoped_acquire acquire;
    const FlushSubnormals as_usual(false);
    const nb::object shown = token ? nb::cast(token, nb::rv_policy::reference) : nb::none();
    const NewVector<double> coef = to_numpy(std::vector<double>(z.coef, z.coef + z.rows.count));
    try {
      const nb::object result = (*held)(index_array(rows), index_array(z.rows), coef, exact, shown);
      const auto sums = nb::cast<Vector<double>>(result);
      if (int64_t(sums.shape(0)) != rows.count) throw std::invalid_argument("a pass must return one number per row");
      std::copy(sums.data(), sums.data() + rows.count, out);
    } catch (nb::python_error&) {
      if (token) token->check();
      throw;
    }
  };
}

template <class V>
Selection listed(const Vector<Index>& rows, const Gram<V>& gram) {
  for (size_t k = 0; k < rows.shape(0); ++k)
    if (rows(k) < 0 || rows(k) >= gram.size()) throw std::invalid_argument("a row that does not exist");
  return {rows.data(), 0, int64_t(rows.shape(0))};
}

template <class V>
NewMatrix<V> block(Gram<V>& gram, const Vector<Index>& rows, const Vector<Index>& columns) {
  const Selection left = listed(rows, gram), right = listed(columns, gram);
  std::vector<V> out(left.count * right.count);
  exclusively(gram, [&] { gram.block(left, right, out.data()); });
  return to_numpy(std::move(out), rows.shape(0), columns.shape(0));
}

template <class V>
NewVector<V> line(Gram<V>& gram, int64_t row, const Vector<Index>& others) {
  if (row < 0 || row >= gram.size()) throw std::invalid_argument("a row that does not exist");
  const Selection selection = listed(others, gram);
  std::vector<V> out(selection.count);
  exclusively(gram, [&] { gram.line(row, selection, out.data()); });
  return to_numpy(std::move(out));
}

// sum_c coef_c k(x_r, z_c) of every row x_r and vectors z of other data.
template <class V>
NewVector<double> product(Gram<V>& gram, const AnyRows& vectors, const Vector<double>& coef, bool exact) {
  int64_t size = 0;
  Vectors z{all_rows(int64_t(coef.shape(0))), coef.data()};
  std::visit([&](const auto& data) { z.data = data, size = data.size; }, vectors);
  if (size != z.rows.count) throw std::invalid_argument("one coefficient per row is needed");
  std::vector<double> out(gram.size());
  exclusively(gram, [&] { gram.product(all_rows(gram.size()), z, exact, out.data()); });
  return to_numpy(std::move(out));
}

template <class V>
Vectors listed(const Vector<Index>& rows, const Vector<double>& coef, const Gram<V>& gram) {
  const Selection selection = listed(rows, gram);
  if (int64_t(coef.shape(0)) != selection.count) throw std::invalid_argument("one coefficient per row is needed");
  return {selection, coef.data()};
}

// The same of listed rows and vectors among the own data, as in the passes of a state.
template <class V>
NewVector<double> own_product(Gram<V>& gram, const Vector<Index>& rows, const Vector<Index>& vectors,
                              const Vector<double>& coef, bool exact, const std::shared_ptr<StopToken>& token) {
  const Selection left = listed(rows, gram);
  const Vectors right = listed(vectors, coef, gram);
  std::vector<double> out(left.count);
  until_stopped(gram, token.get(), [&] { gram.product(left, right, exact, out.data()); });
  return to_numpy(std::move(out));
}

// The products of two lists of rows with each other: K_lr right_coef, and K_rl left_coef.
template <class V>
std::pair<NewVector<double>, NewVector<double>> mutual_product(Gram<V>& gram, const Vector<Index>& left,
                                                               const Vector<Index>& right,
                                                               const Vector<double>& left_coef,
                                                               const Vector<double>& right_coef, bool exact,
                                                               const std::shared_ptr<StopToken>& token) {
  const Vectors l = listed(left, left_coef, gram), r = listed(right, right_coef, gram);
  std::vector<double> of_left(l.rows.count), of_right(r.rows.count);
  until_stopped(gram, token.get(), [&] {
    gram.mutual_product({l.rows, l.coef, of_left.data()}, {r.rows, r.coef, of_right.data()}, exact);
  });
  return {to_numpy(std::move(of_left)), to_numpy(std::move(of_right))};
}

// Bounds on what rounding does to it.
template <class V>
NewVector<double> own_rounding(Gram<V>& gram, const Vector<Index>& rows, const Vector<Index>& vectors,
                               const Vector<double>& coef, bool exact) {
  const Selection left = listed(rows, gram);
  const Vectors right = listed(vectors, coef, gram);
  std::vector<double> out(left.count);
  exclusively(gram, [&] { gram.rounding(left, right, exact, out.data()); });
  return to_numpy(std::move(out));
}

// Rows of some columns, their kernel, and its weight in a sum. The tuple, which owns the rows, is kept alive.
using PythonTerms = nb::typed<nb::tuple, std::tuple<AnyRows, KernelSpec, double>, nb::ellipsis>;

template <class V>
std::shared_ptr<Gram<V>> from_terms(const PythonTerms& tuple, const Groups& groups, int64_t cache_bytes, int threads) {
  std::vector<Term> terms;
  for (const nb::handle item : tuple) {
    const auto term = nb::cast<nb::tuple>(item);
    if (term.size() != 3) throw std::invalid_argument("a term has rows, a kernel and a weight");
    terms.push_back({nb::cast<AnyRows>(term[0]), nb::cast<KernelSpec>(term[1]), nb::cast<double>(term[2])});
  }
  return make_gram<V>(sum_source<V>(terms), groups, cache_bytes, threads);
}

using LargestNorm = std::tuple<double, double, int64_t>;  // of rows elsewhere, see Norm

template <class V>
void def_constructors(nb::class_<Gram<V>>& c) {
  c.def_static(
       "from_rows",
       [](const AnyRows& rows, const KernelSpec& kernel, const Groups& groups, int64_t cache_bytes, int threads,
          const LargestNorm& beyond) {
         return make_gram<V>(feature_source<V>(rows, kernel, false,
                                               Norm{std::get<0>(beyond), std::get<1>(beyond), std::get<2>(beyond)}),
                             groups, cache_bytes, threads);
       },
       nb::keep_alive<0, 1>(), "rows"_a, "kernel"_a, "groups"_a, "cache_bytes"_a, "threads"_a,
       "beyond"_a = LargestNorm{})
      .def_static(
          "from_dots",
          [](std::shared_ptr<const Dots<V>> dots, const AnyRows& rows, const KernelSpec& kernel, const Groups& groups,
             int64_t cache_bytes, int threads) {
            return make_gram<V>(dots_source<V>(std::move(dots), rows, kernel), groups, cache_bytes, threads);
          },
          nb::keep_alive<0, 2>(), "dots"_a, "rows"_a, "kernel"_a, "groups"_a, "cache_bytes"_a, "threads"_a)
      .def_static("from_terms", from_terms<V>, nb::keep_alive<0, 1>(), "terms"_a, "groups"_a, "cache_bytes"_a,
                  "threads"_a)
      .def_static(
          "from_matrix",
          [](const Matrix<V>& values, const Groups& groups, int64_t cache_bytes, int threads) {
            if (values.shape(0) != values.shape(1)) throw std::invalid_argument("a Gram matrix must be square");
            return make_gram<V>(matrix_source<V>(values.data(), int64_t(values.shape(0))), groups, cache_bytes,
                                threads);
          },
          nb::keep_alive<0, 1>(), "values"_a.noconvert(), "groups"_a, "cache_bytes"_a, "threads"_a)
      .def_static(
          "from_function",
          [](PythonKernel<V> function, const Vector<double>& diagonal, const Groups& groups, int64_t cache_bytes,
             int threads) {
            return make_gram<V>(function_source<V>(python_function<V>(std::move(function)), to_vector(diagonal)),
                                groups, cache_bytes, threads);
          },
          "function"_a, "diagonal"_a, "groups"_a, "cache_bytes"_a, "threads"_a)
      .def_static(
          "from_passes",
          [](PythonKernel<V> block, PythonKernel<double> exact_block, PythonSums product, PythonSums rounding,
             PythonSums symmetric, int64_t least_symmetric, const Vector<double>& diagonal, double work,
             const Groups& groups, int64_t cache_bytes, int threads) {
            PassesElsewhere<V> passes{
                python_function<V>(std::move(block)), python_function<double>(std::move(exact_block)),
                python_sums<V>(std::move(product)),   python_sums<V>(std::move(rounding)),
                python_sums<V>(std::move(symmetric)), least_symmetric};
            return make_gram<V>(pass_source<V>(std::move(passes), to_vector(diagonal), work), groups, cache_bytes,
                                threads);
          },
          "block"_a, "exact_block"_a, "product"_a, "rounding"_a, "symmetric"_a, "least_symmetric"_a, "diagonal"_a,
          "work"_a, "groups"_a, "cache_bytes"_a, "threads"_a);
}

template <class V>
std::shared_ptr<const Dots<V>> make_dots(const AnyRows& rows, const Vector<Index>& order, int threads,
                                         const std::shared_ptr<StopToken>& token) {
  const std::vector<Index> copied = to_vector(order);
  nb::gil_scoped_release release;
  const FlushSubnormals flush;
  return dots_of<V>(rows, copied, {usable_threads(threads), token.get()});
}

template <class V>
void bind_dots_of(nb::module_& m, const char* name) {
  nb::class_<Dots<V>>(m, name)
      .def_static("of", make_dots<V>, "rows"_a, "order"_a, "threads"_a, "token"_a.none() = nb::none())
      .def_static("suffice", dots_suffice<V>, "rows"_a, "kernel"_a)
      .def_prop_ro("size", &Dots<V>::size);
}

template <class V>
void bind_gram_of(nb::module_& m, const char* name) {
  using G = Gram<V>;
  nb::class_<G> c(m, name);
  def_constructors<V>(c);
  c.def("line", line<V>, "row"_a, "others"_a)
      .def("block", block<V>, "rows"_a, "columns"_a)
      .def("product", product<V>, "vectors"_a, "coef"_a, "exact"_a)
      .def("own_product", own_product<V>, "rows"_a, "vectors"_a, "coef"_a, "exact"_a, "token"_a.none() = nb::none())
      .def("mutual_product", mutual_product<V>, "left"_a, "right"_a, "left_coef"_a, "right_coef"_a, "exact"_a,
           "token"_a.none() = nb::none())
      .def("own_rounding", own_rounding<V>, "rows"_a, "vectors"_a, "coef"_a, "exact"_a)
      .def("diagonal", [](const G& g) { return to_numpy(g.diagonals()); })
      .def_prop_ro("size", &G::size)
      .def_prop_ro("evaluations", &G::evaluations)
      .def_prop_ro("memory_pays", &G::memory_pays)
      .def_prop_ro("work", &G::work)
      .def_prop_ro("linear_columns",
                   [](const G& g) {  // features of the rows of a linear kernel, else 0
                     const AnyRows* rows = g.linear_rows();
                     return rows ? std::visit([](const auto& x) { return x.features; }, *rows) : 0;
                   })
      .def_prop_ro("cache_hits", [](const G& g) { return g.cache().counts().hits; })
      .def_prop_ro("cache_misses", [](const G& g) { return g.cache().counts().misses; })
      .def_prop_ro("cache_evictions", [](const G& g) { return g.cache().counts().evictions; })
      .def_prop_ro("cache_bytes", [](const G& g) { return g.cache().used_bytes(); })
      .def_prop_ro("cache_budget", [](const G& g) { return g.cache().budget_bytes(); });
}

}  // namespace

void bind_gram(nb::module_& m) {
  bind_dots_of<float>(m, "Dots32");
  bind_dots_of<double>(m, "Dots64");
  bind_gram_of<float>(m, "Gram32");
  bind_gram_of<double>(m, "Gram64");
}

}  // namespace swapsvm
