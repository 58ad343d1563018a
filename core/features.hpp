// Features of rows that come from landmarks: the smooth part of the kernel matrix, as a tall matrix of full rank.
//
//   L L' = K_FF,   z_i = L^-1 k_Fi,   K = Z Z' + R,   r_i = k_ii - |z_i|^2 >= 0
//
// F are the landmarks, k includes the bias. Z is in single precision: it only shapes a step, and steps are judged by
// products with K. Where Z does not fit into memory, its passes go through K_:F, computed again in each pass:
//
//   Z v = K_:F (L^-T v),   Z'w = L^-1 (K_F: w)
//
// L^-T v is large. Both products must therefore be those of one matrix, transposed exactly, as they are if the same
// numbers in single precision are multiplied and summed in double: products of slightly different matrices make
// conjugate gradients stall. Passes are cut into fixed chunks: results do not depend on the number of threads.
#pragma once

#include <vector>

#include "aligned.hpp"
#include "gram.hpp"

namespace swapsvm {

// BLAS's strsm, as SciPy hands it out: X <- A^-1 X for a triangular A.
using TriangularSolve = void (*)(char* side, char* uplo, char* transposed, char* unit, int* m, int* n, float* alpha,
                                 float* a, int* lda, float* b, int* ldb);

// Passes over a tall matrix A of single precision numbers, tile by tile.
class Passes {
 public:
  virtual ~Passes() = default;

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  // A v, one number for each row.
  std::vector<double> product(const double* v) const;
  // A'w, one number for each column.
  std::vector<double> transposed(const double* w) const;
  // A' diag(w) A v, in one pass.
  std::vector<double> quadratic(const double* w, const double* v) const;

 protected:
  Passes(int64_t rows, int64_t columns);
  int64_t rows_of_a_tile() const;  // of computed numbers

  virtual Team team() const = 0;
  virtual int64_t tile_rows() const = 0;  // at most
  // Some consecutive rows, `stride_` numbers each; where they lie, or in the scratch. Those beyond the columns are
  // finite.
  virtual const float* tile(int64_t first, int64_t count, std::vector<float>& scratch) const = 0;

  int64_t rows_, columns_, stride_;

 private:
  std::vector<double> padded(const double* v) const {
    std::vector<double> all(size_t(stride_), 0.0);
    std::copy_n(v, columns_, all.begin());
    return all;
  }
  // use(numbers, first, count) for the tiles of a chunk.
  template <class Use>
  void for_each_tile(int64_t begin, int64_t count, Use use) const;
  // Sums over all rows of what add(numbers, first, count, sums) adds for a tile, in the order of the chunks.
  template <class Add>
  std::vector<double> sum_over_tiles(Add add) const;

  int64_t chunk_;
};

// Z, in memory.
class Features final : public Passes {
 public:
  // L is given row by row; `rows` are rows of the Gram.
  template <class V>
  Features(Gram<V>& gram, Selection rows, Selection landmarks, const float* factor, double bias, TriangularSolve solve);

  const std::vector<double>& residual() const { return residual_; }  // r
  // Some rows of Z, without padding.
  std::vector<float> some(Selection rows) const;

 private:
  Team team() const override { return {threads_}; }
  int64_t tile_rows() const override { return rows_; }
  const float* tile(int64_t first, int64_t, std::vector<float>&) const override { return row(first); }
  const float* row(int64_t i) const { return values_.get() + i * stride_; }

  int threads_;
  AlignedArray<float> values_;
  std::vector<double> residual_;
};

// K_:F, computed before. Its passes have the same bits as those of KernelColumns. The numbers must outlive it.
class GivenColumns final : public Passes {
 public:
  GivenColumns(const float* numbers, int64_t rows, int64_t stride, int64_t columns, int threads);

 private:
  Team team() const override { return {threads_}; }
  int64_t tile_rows() const override { return rows_of_a_tile(); }
  const float* tile(int64_t first, int64_t, std::vector<float>&) const override { return numbers_ + first * stride_; }

  const float* numbers_;
  int threads_;
};

// K_:F, computed again in each pass. The Gram must outlive it.
template <class V>
class KernelColumns final : public Passes {
 public:
  KernelColumns(Gram<V>& gram, std::vector<Index> rows, std::vector<Index> landmarks, double bias)
      : Passes(int64_t(rows.size()), int64_t(landmarks.size())),
        gram_(gram),
        listed_(std::move(rows)),
        landmarks_(std::move(landmarks)),
        bias_(bias) {
    landmarks_.resize(size_t(stride_), landmarks_.front());  // what the padding holds is multiplied by 0, or dropped
  }

  int64_t stride() const { return stride_; }
  // All of them, for GivenColumns.
  std::vector<float> numbers() const;

 private:
  Team team() const override { return gram_.team(); }
  int64_t tile_rows() const override { return rows_of_a_tile(); }
  const float* tile(int64_t first, int64_t count, std::vector<float>& scratch) const override;

  Gram<V>& gram_;
  std::vector<Index> listed_, landmarks_;
  double bias_;
};

extern template class KernelColumns<float>;
extern template class KernelColumns<double>;

}  // namespace swapsvm
