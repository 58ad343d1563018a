// The middle level of the block engine: a few thousand variables, their kernel values in memory, solved by blocks.
//
// Variables occupy slots. A variable that leaves frees its slot for one that enters, and the kernel values between
// those that stay are never computed or copied again: only rows and columns of newcomers are written.
#pragma once

#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "block.hpp"
#include "gram.hpp"
#include "primal.hpp"

namespace swapsvm {

// What a working set knows of a variable of the problem; by default a free slot, which no block chooses.
struct Member {
  Index variable = -1, row = 0;
  double sign = 1, diagonal = 0, ridge = 0, half_linear = 0, weight = 0;
  double score = std::numeric_limits<double>::infinity();
};

// What the primal needs of some members, side by side.
class MemberScores {
 public:
  void add(const Member& m) { scores_.push_back(m.score), weights_.push_back(m.weight), ridges_.push_back(m.ridge); }
  Shortfall shortfall(double level) const {
    return hot_scan().shortfall({scores_.data(), nullptr, weights_.data(), ridges_.data(), int64_t(scores_.size())},
                                level);
  }

 private:
  std::vector<double> scores_, weights_, ridges_;
};

struct BlockOptions {
  int64_t block;    // vertices of a block
  int64_t blocks;   // most blocks of one solve, so that an ill-conditioned set does not outlast the limits of the run
  double accuracy;  // of the set, as a part of its gap or value
  double block_accuracy;               // of a block, as a part of its violation
  double most_growth = 1;              // of the radius
  Measure measure = Measure::simplex;  // of the gap of the set
};

template <class V>
class WorkingSet {
 public:
  WorkingSet(std::shared_ptr<Gram<V>> gram, int64_t variables, int64_t capacity, double bias, bool grows)
      : gram_(std::move(gram)),
        capacity_(std::min(variables, capacity)),
        bias_(bias),
        grows_(grows),
        slot_of_(size_t(variables), -1) {
    stride_ = (capacity_ + 15) / 16 * 16 + 16;         // not a power of two: rows would share few cache sets
    values_ = gram_->take_array(capacity_ * stride_);  // touched, and so in memory, only as far as used
  }
  ~WorkingSet() {
    gram_->give_back(std::move(values_));
    gram_->give_back(std::move(inner_.q));
  }

  int64_t capacity() const { return capacity_; }

  // The member that has this variable and this weight, or none.
  const Member* find(Index variable, double weight) const {
    const Index slot = slot_of_[variable];
    return slot >= 0 && slots_[slot].weight == weight ? &slots_[slot] : nullptr;
  }

  // The variable of every slot, -1 where it is free.
  std::vector<Index> variables() const {
    std::vector<Index> listed;
    for (const Member& m : slots_) listed.push_back(m.variable);
    return listed;
  }

  // These members slot by slot, into a set that is empty.
  void place(const std::vector<Member>& members) {
    std::vector<Index> entered;
    slots_ = members;
    for (size_t s = 0; s < slots_.size(); ++s)
      if (slots_[s].variable >= 0) entered.push_back(slot_of_[slots_[s].variable] = Index(s));
    fill(entered);
  }

  // These members, no more than the capacity. Weights and scores are taken over as they are now.
  void assign(const std::vector<Member>& members);

  // Raises the value by moves among the members until their own gap is a part of what it was, or of the value. The
  // weights of all other variables are multiplied by the scale that comes back with the new weights.
  Correction solve(double quadratic, double half_linear_value, const BlockOptions& options, const Team& team);

 private:
  static constexpr int64_t kNewcomers = 128;  // whose kernel values are computed together
  static constexpr int64_t kMirrored = 64;    // rows that are served together: a few cache lines of a newcomer's row
  static constexpr int64_t kColumns = 2048;
  static constexpr double kLeastRoom = 0.25;

  // Grows the radius until the slack has room for the next pairs, which take weight from it.
  void make_room(double most_growth) {
    while (slots_[slack_].weight < kLeastRoom) {
      if (2 * growth_ > most_growth)
        throw std::invalid_argument(
            "in this precision the kernel is not positive semidefinite on these rows: use float64 data, a smaller C, "
            "another gamma or coef0, or another kernel");
      grow(2.0);
    }
  }

  // A radius larger by this factor, at the same b: as State::set_radius.
  void grow(double factor) {
    for (Member& m : slots_) m.half_linear /= factor, m.score /= factor, m.weight /= factor;
    quadratic_ /= factor * factor, half_linear_value_ /= factor * factor;
    scale_ /= factor, growth_ *= factor;
    slots_[slack_].weight += 1 - 1 / factor;
  }

  int64_t count() const { return int64_t(slots_.size()); }
  V* row(int64_t slot) { return values_.values.get() + slot * stride_; }

  // As State::gap, in units of the simplex.
  double gap(Measure measure) const {
    const double mean = quadratic_ - half_linear_value_;
    double lowest = std::numeric_limits<double>::infinity(), sum = 0;
    for (const Member& m : slots_) {
      lowest = std::min(lowest, m.score);
      if (grows_ && m.sign != 0) sum += excess(m.score, m.weight, m.ridge);
    }
    if (grows_) return sum;
    if (measure == Measure::simplex) return 2 * (mean - lowest);
    MemberScores scores;
    for (const Member& m : slots_) scores.add(m);
    return lowest_bound({mean, lowest, 0, false}, [&](double level) { return scores.shortfall(level); }).gap;
  }

  // Kernel values of newcomers. Of members with the same row the first that has values leads and the others copy.
  void fill(const std::vector<Index>& entered);

  // Kernel values of fresh slots against all leaders: their columns, and by symmetry their rows.
  void compute(const std::vector<Index>& leaders, const DistinctRows& rows, const std::vector<Index>& fresh);

  // Rows and columns of those that share a row of the data with another slot, and of the slack, which has no values.
  void copy(const std::vector<std::pair<Index, Index>>& copies) {
    for (const auto& [from, to] : copies) std::copy_n(row(from), count(), row(to));
    if (slack_ >= 0) std::fill_n(row(slack_), count(), V(0));
    if (copies.empty() && slack_ < 0) return;
    for (int64_t s = 0; s < count(); ++s) {
      for (const auto& [from, to] : copies) row(s)[to] = row(s)[from];
      if (slack_ >= 0) row(s)[slack_] = V(0);
    }
  }

  bool solve_block(std::vector<Index>& kept, const BlockOptions& options, int threads);
  void set_inner(const std::vector<Index>& block, int threads);
  void copy_row(const std::vector<Index>& block, const std::vector<V>& signs, size_t i) {
    const V* values = row(block[i]);
    V* out = inner_.q.values.get() + i * block.size();
    for (size_t j = 0; j < i; ++j) out[j] = values[block[j]];
    for (size_t j = 0; j < i; ++j) out[j] = signs[i] * signs[j] * (out[j] + V(bias_));
    out[i] = inner_.diagonal[i];
  }

  // h <- scale h + Q_:B d on all slots, and the value that belongs to it: f <- s^2 f + d'(s h_old + h_new).
  void apply(const std::vector<Index>& block, int threads);
  // product_ <- sum_k coef_k K_:k over these slots.
  void multiply(const std::vector<Index>& some, const std::vector<double>& coef, int threads);

  std::shared_ptr<Gram<V>> gram_;
  int64_t capacity_, stride_;
  double bias_;
  bool grows_;
  SpareArray<V> values_;
  std::vector<Index> slot_of_;
  std::vector<Member> slots_;
  Index slack_ = -1;  // its slot
  std::vector<double> product_;
  std::vector<V> fresh_;
  InnerProblem<V> inner_;
  std::vector<Index> inner_slots_;  // whose values inner_ holds
  double quadratic_ = 0, half_linear_value_ = 0, scale_ = 1, growth_ = 1;
};

extern template class WorkingSet<float>;
extern template class WorkingSet<double>;

}  // namespace swapsvm
