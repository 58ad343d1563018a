#include "low_rank.hpp"

#include <algorithm>
#include <cmath>

namespace swapsvm {
namespace {

int64_t padded_size(int64_t count) {
  return (count + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

LowRank::LowRank(std::vector<double> diagonal) : residual_(std::move(diagonal)), stride_(padded_size(size())) {
  for (double& r : residual_) r = std::max(r, 0.0);  // below zero only if K is not positive semidefinite
  choose_pivot();
}

void LowRank::add(const std::vector<double>& column_of_k) {
  if (rank_ == capacity_) make_room();
  const size_t p = size_t(pivot_);
  std::vector<double> known, sums = padded(column_of_k);
  for (int64_t k = 0; k < rank_; ++k) known.push_back(-double(column(k)[p]));
  hot_features().add_rows(values_.get(), rank_, stride_, known.data(), sums.data());
  float* z = values_.get() + rank_ * stride_;
  const double scale = 1 / std::sqrt(residual_[p]);
  for (int64_t v = 0; v < stride_; ++v) z[v] = float(scale * sums[size_t(v)]);
  for (int64_t v = 0; v < size(); ++v) residual_[size_t(v)] = std::max(0.0, residual_[size_t(v)] - double(z[v]) * z[v]);
  residual_[p] = 0;
  ++rank_;
  choose_pivot();
}

void LowRank::choose_pivot() {
  pivot_ = std::max_element(residual_.begin(), residual_.end()) - residual_.begin();
}

std::vector<double> LowRank::product(const std::vector<double>& u) const {
  std::vector<double> sums(static_cast<size_t>(stride_));
  hot_features().add_rows(values_.get(), rank_, stride_, u.data(), sums.data());
  sums.resize(size_t(size()));
  return sums;
}

std::vector<double> LowRank::transposed(const std::vector<double>& w) const {
  std::vector<double> sums(static_cast<size_t>(rank_));
  hot_features().dot_rows(values_.get(), rank_, stride_, padded(w).data(), sums.data());
  return sums;
}

// Z sqrt(diag(w)) of the variables that have a weight, then products of its columns.
std::vector<double> LowRank::curvature(const std::vector<double>& w, const Team& team) const {
  constexpr int64_t kTogether = 8;  // rows of the matrix
  std::vector<int64_t> used;
  for (int64_t v = 0; v < size(); ++v)
    if (w[size_t(v)] > 0) used.push_back(v);
  const int64_t stride = padded_size(int64_t(used.size()));
  std::vector<float> scaled(size_t(rank_ * stride), 0.0f);
  for (int64_t k = 0; k < rank_; ++k)
    for (size_t i = 0; i < used.size(); ++i)
      scaled[size_t(k * stride) + i] = float(std::sqrt(w[size_t(used[i])])) * column(k)[used[i]];
  std::vector<double> matrix(static_cast<size_t>(rank_ * rank_));
  parallel_chunks(rank_, kTogether, team, [&](int64_t first, int64_t count) {
    for (int64_t k = first; k < first + count; ++k) {
      const float* left = &scaled[size_t(k * stride)];
      const std::vector<double> right(left, left + stride);
      hot_features().dot_rows(left, rank_ - k, stride, right.data(), &matrix[size_t(k * rank_ + k)]);
    }
  });
  return matrix;
}

std::vector<double> LowRank::padded(const std::vector<double>& w) const {
  std::vector<double> all(size_t(stride_), 0.0);
  std::copy(w.begin(), w.end(), all.begin());
  return all;
}

void LowRank::make_room() {
  constexpr int64_t kFirst = 32;  // columns
  const int64_t more = std::max(kFirst, 2 * capacity_);
  AlignedArray<float> values = aligned_array<float>(more * stride_);
  std::copy_n(values_.get(), capacity_ * stride_, values.get());
  values_ = std::move(values), capacity_ = more;
}

}  // namespace swapsvm
