// A problem whose matrix Q fits into memory: SWAP-2o among the variables that can still change.
//
// Of more than a few hundred variables a random sample enters first, then those that a step would move toward: where
// few become active, most of Q is never computed. Where swaps need many moves, smooth steps take over
// (smooth_steps.hpp) as soon as they are expected to be cheaper.
#pragma once

#include <cmath>
#include <vector>

#include "block.hpp"
#include "smooth_steps.hpp"
#include "working_set.hpp"

namespace swapsvm {

template <class V>
class WholeMatrix {
 public:
  static constexpr int64_t kSample = 512;  // of more variables not all may enter

  // Members are all variables in their order, without a slack vertex; no two have the same row. `scales` as in State.
  WholeMatrix(Gram<V>& gram, std::vector<Member> members, double bias, bool scales);
  ~WholeMatrix() {
    gram_.give_back(std::move(q_));
    gram_.give_back(std::move(inner_.q));
  }
  WholeMatrix(const WholeMatrix&) = delete;
  WholeMatrix& operator=(const WholeMatrix&) = delete;

  // Until the gap, primal minus dual, is this part of the value, or swaps no longer lower it.
  void solve(double accuracy, const Team& team);
  // Another ridge at the same weights, one number for each variable.
  void set_ridge(const std::vector<double>& ridge);

  std::vector<double> weights() const;
  std::vector<double> products() const;  // s_v (K + bias) a, without the ridge
  // What these are off by, beyond the rounding of kernel values and of fused products of them; infinite if some of them
  // are not sums over the present weights.
  double rounding() const;

 private:
  static constexpr int64_t kPanel = 128;   // variables that enter together
  static constexpr int kRounds = 48;       // most
  static constexpr double kRough = 0.05;   // of the violation, to which a round goes
  static constexpr double kCoarse = 0.03;  // of the value, the gap before the first look at those that are outside

  static constexpr int64_t kLeastSmooth = 256;               // variables, of which smooth steps are considered
  static constexpr int kSmoothSteps = 6;                     // most
  static constexpr double kMostMoves = 20, kLeastMoves = 2;  // of a round, for each of its variables

  static constexpr double kFew = 0.6;   // part of the variables whose matrix is worth copying
  static constexpr double kMost = 0.5;  // active part of a sample, beyond which all others are likely to enter

  int64_t size() const { return int64_t(members_.size()); }
  int64_t entered() const { return int64_t(order_.size()); }
  V* row(int64_t place) { return q_.values.get() + place * entered(); }
  std::vector<Index> outside() const;
  std::vector<Index> sample() const;
  void enter(const std::vector<Index>& variables);
  void spread_rows(int64_t before);
  void fill_panel(int64_t first, int64_t width);
  void note_largest(double size) {
    if (!std::isnan(largest_) && !(size <= largest_)) largest_ = size;
  }
  std::vector<Index> next_to_enter();
  double active_part() const;  // of those that have entered
  // Scores of those outside, and those among them that a toward step ascends to.
  std::vector<Index> violators();
  double gap() const { return gap_among(order_); }
  double gap_among(const std::vector<Index>& variables) const;
  double value() const { return std::abs(2 * half_linear_value_ - quadratic_); }
  // Places of variables that swaps can still change: active, or with a score below that of an active one.
  std::vector<Index> open_places() const;
  bool run_round();
  // How much more moves on all variables are expected to take than those on the ones that have entered.
  double growth() const;
  // Of a round, which ends where smooth steps begin to be worth it.
  double most_moves(double open) const;
  // Smooth steps, if they are worth it; whether they reached the accuracy. Then not all active variables have entered.
  bool solve_smoothly(double accuracy, const Team& team);
  bool swap_among(const std::vector<Index>& open);
  void copy_matrix(const std::vector<Index>& open);
  // Scores from the weights alone: increments would carry rounding to the end.
  void set_scores();

  Gram<V>& gram_;
  std::vector<Member> members_;
  double bias_;
  bool scales_;
  std::vector<Index> order_;  // variables that have entered; their place is a row and a column of q_
  std::vector<Index> rows_;   // of the data, by place
  std::vector<V> signs_;      // by place
  SpareArray<V> q_;           // entered x entered, with room for all: what stays empty is never touched
  InnerProblem<V> inner_;
  std::vector<Index> copied_;  // places that inner_ has the matrix of
  AlignedArray<V> panel_;
  int64_t panel_size_ = 0;
  std::unique_ptr<SmoothSteps<V>> smooth_;
  double swapped_ = 0;    // moves of swaps with this ridge, each times the variables that it is among
  bool cut_ = false;      // whether the last round had fewer moves than it could have needed
  bool stepped_ = false;  // whether smooth steps were made with this ridge
  bool summed_ = false;   // whether all scores are sums over the present weights
  double largest_ = 0;    // |Q_uv| off the diagonal; NaN if one is not a number
  double quadratic_ = 0, half_linear_value_ = 0;
};

extern template class WholeMatrix<float>;
extern template class WholeMatrix<double>;

}  // namespace swapsvm
