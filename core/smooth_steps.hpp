// Steps that move all weights of a problem in memory at once, for those where swaps need too many moves.
//
// With few features and a large C most rows have some weight, and what moves it are a few smooth directions. K is then
// nearly of low rank: K = Z Z' + diag(r) + E, where r is far below the ridge. In the units of the SVM, b = a / f,
//
//   q = 1 - (K b - Z Z'b - r b),   b+ = argmax over b >= 0 of  q'b - b'(Z Z' + diag(r + ridge)) b / 2,
//
// and the next point is the best one between b and b+. From b = 0 one step is nearly always enough: its error is of
// second order in E. See solvers/surrogate.py, which does the same for many rows.
#pragma once

#include <memory>
#include <vector>

#include "smooth_problem.hpp"
#include "working_set.hpp"

namespace swapsvm {

template <class V>
class SmoothSteps {
 public:
  // Of the members, which stay where they are; they have no linear term, and no two have the same row.
  SmoothSteps(Gram<V>& gram, std::vector<Member>& members, double bias);

  // Whether the steps cost less than these operations of swaps. Z grows only as far as they pay for it.
  bool are_worth(double operations);
  double needed() const { return needed_; }  // operations that the steps are expected to take
  // A step, from b = 0 if it is the `first` one with this ridge. Returns a'Qa of the next point, after it has set
  // weights and scores of all members; if it would not be below the present one, nothing is set.
  double step(bool first, double quadratic, double accuracy);

 private:
  static constexpr int64_t kLeast = 32, kTogether = 16;    // columns of Z: before they are judged, and between looks
  static constexpr int64_t kLargestPart = 2;               // Z has at most this part of the rows as columns
  static constexpr double kLeft = 0.002, kMostLeft = 0.2;  // of r as a part of the ridge: to aim at, and to accept
  static constexpr double kResolved = 1e-6;                // of the diagonal of K, what single precision can tell

  struct Point {
    std::vector<double> b, products;  // and K b
  };

  int64_t size() const { return int64_t(members_.size()); }
  double cost(double rank) const;
  double left_out() const { return mean_residuals_.back() * inverse_ridge(); }
  double inverse_ridge() const;  // mean
  // Columns at which r will be small enough, if it goes on falling as it did.
  double expected_rank() const;
  void add_columns();

  Point present(double quadratic) const;
  std::vector<double> product(const std::vector<double>& b, bool exact);
  void open(const Point& now);
  std::vector<double> target(const Point& now) const;  // q
  Point between(const Point& from, const Point& to) const;
  double place(const Point& next, double quadratic);

  Gram<V>& gram_;
  std::vector<Member>& members_;
  double bias_, largest_ = 0;  // of the diagonal
  std::vector<Index> rows_;
  std::vector<double> signs_;
  LowRank factor_;
  std::vector<double> mean_residuals_;  // at 0, kTogether, ... columns
  double needed_;
  bool exact_ = false;  // whether scores come from products in double
  std::unique_ptr<SmoothProblem> inner_;
};

extern template class SmoothSteps<float>;
extern template class SmoothSteps<double>;

}  // namespace swapsvm
