// Where kernel values come from: features and a kernel, a matrix, or a function.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <variant>
#include <vector>

#include "hot.hpp"
#include "threads.hpp"

namespace swapsvm {

inline constexpr int64_t kRowChunk = 1024;  // rows of one parallel piece of work

inline Selection all_rows(int64_t count) {
  return {nullptr, 0, count};
}

template <class T>
void check_same_features(const Rows<T>& left, const Rows<T>& right) {
  if (left.features != right.features) throw std::invalid_argument("rows with different numbers of features");
}

using AnyRows = std::variant<Rows<float>, Rows<double>>;

// A line to be filled: k(x_row, others) for some row.
template <class V>
struct LineRequest {
  Selection others;
  V* out;
};

// The right-hand side of a product: rows with coefficients, of the source's own data or of other `data`.
struct Vectors {
  Selection rows;
  const double* coef = nullptr;
  double total = 0;  // of the coefficients
  std::variant<std::monostate, Rows<float>, Rows<double>> data = {};
};

// Rows that are multiplied with those of another side, and the sums that they get.
struct Side {
  Selection rows;
  const double* coef = nullptr;
  double* out = nullptr;
};

// Plain kernel values k(x_r, x_c) of one data set: no labels, no bias, no ridge. V is float or double.
template <class V>
class Source {
 public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;
  virtual double diagonal(int64_t row) const = 0;
  virtual double work() const = 0;  // operations per value, roughly
  // Whether it is cheaper to read a kernel value from memory than to compute it again: rows with a hundred numbers or
  // more, and functions. A value takes about one operation to read.
  virtual bool is_worth_keeping() const {
    constexpr double kWorthKeeping = 100;  // operations
    return work() > kWorthKeeping;
  }
  virtual void line(int64_t row, Selection others, V* out, const Team& team) const = 0;
  // Several lines of one row; a source may fill them in one pass over the data.
  virtual void lines(int64_t row, const std::vector<LineRequest<V>>& requests, const Team& team) const {
    for (const auto& request : requests) line(row, request.others, request.out, team);
  }
  virtual void block(Selection rows, Selection columns, V* out, const Team& team) const = 0;
  // The same in double.
  virtual void exact_block(Selection rows, Selection columns, double* out, const Team& team) const {
    std::vector<V> values(size_t(rows.count * columns.count));
    block(rows, columns, values.data(), team);
    std::copy(values.begin(), values.end(), out);
  }
  // out[r] = sum_c coef[c] k(x_r, z_c), kernel values in V or, `exact`, in double: certificates are made of these.
  virtual void product(Selection rows, const Vectors& z, bool exact, double* out, const Team& team) const = 0;
  // product() of rows with themselves, each value computed once where symmetry_pays.
  virtual void symmetric_product(Selection rows, const double* coef, bool exact, double* out, const Team& team) const {
    product(rows, {rows, coef}, exact, out, team);
  }
  // left.out = K_lr right.coef and right.out = K_rl left.coef
  virtual void mutual_product(const Side& left, const Side& right, bool exact, const Team& team) const {
    product(left.rows, {right.rows, right.coef}, exact, left.out, team);
    product(right.rows, {left.rows, left.coef}, exact, right.out, team);
  }
  virtual bool symmetry_pays(int64_t /*rows*/, bool /*exact*/) const { return false; }
  virtual bool keeps_values() const { return false; }
  // The values of these rows with each other, each made once, as a source of their own in which they are numbered anew;
  // null if values are not to be kept. Its results have the same bits. This source must outlive it.
  virtual std::unique_ptr<Source> among(std::vector<Index> /*rows*/) const { return nullptr; }
  // The rows of a linear kernel, whose products are made through w = sum_c coef_c z_c (linear.hpp); else null.
  virtual const AnyRows* linear_rows() const { return nullptr; }
  // bound[r] >= |computed - true| of the product of row r; infinite where nothing is known
  virtual void rounding(Selection rows, const Vectors& z, bool exact, double* bound, const Team& team) const = 0;
};

// What bounds on rounding need to know of a row.
struct Norm {
  double square = 0, absolute = 0;  // |x|^2, |x|_1
  int64_t entries = 0;
};

// Instantiated for float and double. `expanded`: products are sums of kernel values, and
// distances come from dot products. `beyond`: of rows elsewhere, the largest of each number, so that all parts of a
// data set are computed with in the same way.
template <class V>
std::unique_ptr<Source<V>> feature_source(const AnyRows& data, const KernelSpec& kernel, bool expanded = false,
                                          const Norm& beyond = {});

// A kernel on some columns of the data, as rows of their own, and its weight in a sum.
struct Term {
  AnyRows data;
  KernelSpec kernel;
  double weight = 1.0;
};
template <class V>
std::unique_ptr<Source<V>> sum_source(const std::vector<Term>& terms);
template <class V>
std::unique_ptr<Source<V>> matrix_source(const V* values, int64_t size);
// The function fills out[r * columns + c] = k(x_rows[r], x_columns[c]).
template <class V>
using KernelFunction = std::function<void(Selection rows, Selection columns, V* out)>;
template <class V>
std::unique_ptr<Source<V>> function_source(KernelFunction<V> function, std::vector<double> diagonal);

// What a source whose rows lie elsewhere, in files or on other machines, asks for: blocks of values, products, and
// bounds on their rounding. The vectors are among its own rows.
template <class V>
struct PassesElsewhere {
  using Sums = std::function<void(Selection rows, const Vectors& z, bool exact, double* out, StopToken* token)>;

  KernelFunction<V> block;
  KernelFunction<double> exact_block;
  Sums product, rounding;
  Sums symmetric;                                                 // of rows with themselves, ...
  int64_t least_symmetric = std::numeric_limits<int64_t>::max();  // ... if they are this many
};
template <class V>
std::unique_ptr<Source<V>> pass_source(PassesElsewhere<V> passes, std::vector<double> diagonal, double work);

// out += sum_k coef[k] row(k), two rows at a time: the sums are read and written half as often.
template <class V, class Row>
void add_scaled(int64_t rows, Row row, const double* coef, double* out, int64_t length) {
  for (int64_t k = 0; k < rows; k += 2) {
    const bool two = k + 1 < rows;
    hot_updates<V>().update({1.0, coef[k], two ? -coef[k + 1] : 0.0, 0.0, row(k), row(two ? k + 1 : k)}, out, length);
  }
}

}  // namespace swapsvm
