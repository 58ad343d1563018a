// Data for tests, the same on every platform: the standard library's distributions are not.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "rows.hpp"

namespace tests {

using swapsvm::Index;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double uniform() { return double(engine_()) / 4294967296.0; }
  // About normal: the sum of twelve uniform numbers.
  double normal() {
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += uniform();
    return sum;
  }

 private:
  std::mt19937 engine_;
};

// Normal numbers, two of five of them zero, dense and as CSR.
template <class T>
struct Matrix {
  int64_t rows, columns;
  std::vector<T> dense, entries;
  std::vector<int64_t> indptr{0};
  std::vector<Index> indices;

  Matrix(int64_t rows, int64_t columns, unsigned seed) : rows(rows), columns(columns) {
    Random random(seed);
    for (int64_t k = 0; k < rows * columns; ++k)
      dense.push_back(random.uniform() < 0.4 ? T(0) : T(random.normal() / std::sqrt(double(columns))));
    for (int64_t r = 0; r < rows; ++r) add_row(r);
  }

  swapsvm::Rows<T> as_dense() const { return {dense.data(), nullptr, nullptr, rows, columns}; }
  swapsvm::Rows<T> as_sparse() const { return {entries.data(), indptr.data(), indices.data(), rows, columns}; }
  T at(int64_t r, int64_t c) const { return dense[size_t(r * columns + c)]; }

 private:
  void add_row(int64_t r) {
    for (int64_t c = 0; c < columns; ++c)
      if (at(r, c) != 0) entries.push_back(at(r, c)), indices.push_back(Index(c));
    indptr.push_back(int64_t(entries.size()));
  }
};

}  // namespace tests
