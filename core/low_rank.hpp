// A positive semidefinite matrix as few columns: Cholesky's method, stopped early.
//
//   K ~ Z Z' + diag(r),   r = diag(K - Z Z') >= 0
//
// The next pivot is the variable with the largest r. Where the kernel is smooth, r falls geometrically. Z is in single
// precision, column by column: it only shapes a step, and steps are judged by products with K.
#pragma once

#include <vector>

#include "aligned.hpp"
#include "hot.hpp"
#include "threads.hpp"

namespace swapsvm {

class LowRank {
 public:
  explicit LowRank(std::vector<double> diagonal);

  int64_t size() const { return int64_t(residual_.size()); }
  int64_t rank() const { return rank_; }
  const std::vector<double>& residual() const { return residual_; }  // r
  int64_t pivot() const { return pivot_; }
  // The next column of Z, from the column of K at the pivot.
  void add(const std::vector<double>& column);

  // Z u, and Z'w.
  std::vector<double> product(const std::vector<double>& u) const;
  std::vector<double> transposed(const std::vector<double>& w) const;
  // Z' diag(w) Z, in the upper triangle, row by row.
  std::vector<double> curvature(const std::vector<double>& w, const Team& team) const;

 private:
  const float* column(int64_t k) const { return values_.get() + k * stride_; }
  std::vector<double> padded(const std::vector<double>& w) const;
  void make_room();
  void choose_pivot();

  std::vector<double> residual_;
  int64_t stride_, rank_ = 0, capacity_ = 0, pivot_ = 0;
  AlignedArray<float> values_;
};

}  // namespace swapsvm
