// Features of rows that come from landmarks: the smooth part of the kernel matrix, as a tall matrix of full rank.
//
//   L L' = K_FF,   z_i = L^-1 k_Fi,   K = Z Z' + R,   r_i = k_ii - |z_i|^2 >= 0
//
// F are the landmarks, k includes the bias. Z is in single precision: it only shapes a step, and steps are judged by
// products with K. Its passes read Z once, cut into fixed chunks: results do not depend on the number of threads.
#pragma once

#include <vector>

#include "aligned.hpp"
#include "gram.hpp"

namespace swapsvm {

// BLAS's strsm, as SciPy hands it out: X <- A^-1 X for a triangular A.
using TriangularSolve = void (*)(char* side, char* uplo, char* transposed, char* unit, int* m, int* n, float* alpha,
                                 float* a, int* lda, float* b, int* ldb);

class Features {
 public:
  // L is given row by row; `rows` are rows of the Gram.
  template <class V>
  Features(Gram<V>& gram, Selection rows, Selection landmarks, const float* factor, double bias, TriangularSolve solve);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  const std::vector<double>& residual() const { return residual_; }  // r

  // Z v, one number for each row.
  std::vector<double> product(const double* v) const;
  // Z' w, one number for each landmark.
  std::vector<double> transposed(const double* w) const;
  // Z' diag(w) Z v, in one pass.
  std::vector<double> quadratic(const double* w, const double* v) const;
  // Some rows of Z, without padding.
  std::vector<float> some(Selection rows) const;

 private:
  const float* row(int64_t i) const { return values_.get() + i * stride_; }
  std::vector<double> padded(const double* v) const {
    std::vector<double> all(size_t(stride_), 0.0);
    std::copy_n(v, columns_, all.begin());
    return all;
  }
  // Sums over all rows of what add(begin, count, sums) adds for a chunk, in the order of the chunks.
  template <class Add>
  std::vector<double> sum_over_chunks(Add add) const;

  int64_t rows_, columns_, stride_, chunk_;
  int threads_;
  AlignedArray<float> values_;
  std::vector<double> residual_;
};

}  // namespace swapsvm
