#include "pivoting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aligned.hpp"
#include "cholesky.hpp"
#include "source.hpp"

namespace swapsvm {
namespace {

constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
constexpr int kFactors = 30, kRefinements = 4;

class Pivoting {
 public:
  Pivoting(const double* q, std::vector<double>& b)
      : q_(q),
        b_(b),
        n_(int64_t(b.size())),
        factor_(aligned_array<double>(n_ * n_)),
        slopes_(b.size()),
        sizes_(b.size()) {
    for (int64_t v = 0; v < n_; ++v) sizes_[v] = std::sqrt(q[v * n_ + v]);
    for (int64_t v = 0; v < n_; ++v)
      if (b[v] > 0) passive_.push_back(v);
  }

  bool solve() {
    for (int k = 0; k < kFactors; ++k) {
      if (passive_.empty() || !solve_on_face()) return false;
      const std::vector<char> wrong = wrong_signs();
      if (std::find(wrong.begin(), wrong.end(), 1) == wrong.end()) return true;
      exchange(wrong);
    }
    return false;
  }

 private:
  // Q_PP b_P = 1 and slopes Qb - 1, refined until those on P are rounding.
  bool solve_on_face() {
    const int64_t p = int64_t(passive_.size());
    double* u = factor_.get();
    std::vector<double> step(static_cast<size_t>(p));
    for (int64_t i = 0; i < p; ++i)
      for (int64_t k = i; k < p; ++k) u[i * p + k] = q_[passive_[i] * n_ + passive_[k]];
    if (!factor_cholesky(u, p)) return false;
    std::fill(b_.begin(), b_.end(), 0.0);
    set_slopes();
    for (int round = 0; round < kRefinements; ++round) {
      for (int64_t i = 0; i < p; ++i) step[i] = -slopes_[passive_[i]];
      solve_factored(u, p, step);
      for (int64_t i = 0; i < p; ++i) b_[passive_[i]] += step[i];
      set_slopes();
      if (is_stationary()) return true;
    }
    return false;
  }

  void set_slopes() {
    size_ = 0;
    for (int64_t v = 0; v < n_; ++v) size_ += sizes_[v] * std::abs(b_[v]);
    std::fill(slopes_.begin(), slopes_.end(), -1.0);
    std::vector<double> coef;
    for (const int64_t u : passive_) coef.push_back(b_[u]);
    const auto row = [this](int64_t k) { return &q_[passive_[k] * n_]; };
    add_scaled<double>(int64_t(coef.size()), row, coef.data(), slopes_.data(), n_);
  }
  // Of a slope: |Q_uv| <= sqrt(Q_uu Q_vv).
  double rounding(int64_t v) const { return kRounding * (sizes_[v] * size_ + 1); }
  bool is_stationary() const {
    return std::all_of(passive_.begin(), passive_.end(),
                       [this](int64_t v) { return std::abs(slopes_[v]) <= rounding(v); });
  }

  std::vector<char> wrong_signs() const {
    double largest = 0;
    for (const double b : b_) largest = std::max(largest, std::abs(b));
    std::vector<char> wrong(size_t(n_), 0);
    for (int64_t v = 0; v < n_; ++v) wrong[v] = slopes_[v] < -rounding(v);
    for (const int64_t v : passive_) wrong[v] = b_[v] < -kRounding * largest;
    return wrong;
  }
  void exchange(const std::vector<char>& wrong) {
    std::vector<char> in(size_t(n_), 0);
    for (const int64_t v : passive_) in[v] = 1;
    passive_.clear();
    for (int64_t v = 0; v < n_; ++v)
      if (in[v] != wrong[v]) passive_.push_back(v);
  }

  const double* q_;
  std::vector<double>& b_;
  int64_t n_;
  AlignedArray<double> factor_;
  std::vector<double> slopes_, sizes_;
  std::vector<int64_t> passive_;
  double size_ = 0;
};

}  // namespace

bool solve_by_pivoting(const double* q, std::vector<double>& b) {
  if (!Pivoting(q, b).solve()) return false;
  for (double& weight : b) weight = std::max(weight, 0.0);
  return true;
}

}  // namespace swapsvm
