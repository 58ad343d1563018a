#include "descent.hpp"

#include <limits>
#include <numeric>

#include "linear_rows.hpp"
#include "move.hpp"
#include "packing.hpp"

namespace swapsvm {

namespace {

constexpr int64_t kBetweenLooks = 4096;  // variables visited between two looks at the token

class Random {  // SplitMix64
 public:
  int64_t below(int64_t count) {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return int64_t((z ^ (z >> 31)) % uint64_t(count));
  }

 private:
  uint64_t state_ = 1;
};

// One descent from b: w, the value, and the variables that take part.
template <class T>
class Epochs {
 public:
  Epochs(const Rows<T>& data, const DualTerms& terms, const std::vector<double>& diagonal, double bias,
         std::vector<double>& b, const Team& team)
      : data_(data), terms_(terms), diagonal_(diagonal), bias_(bias), b_(b), team_(team), order_(b.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    std::vector<double> coef(b.size());
    for (size_t v = 0; v < b.size(); ++v) coef[v] = terms.sign[v] * b[v];
    w_ = weighted_sum(data, {terms.rows.data(), 0, int64_t(b.size())}, coef.data(), team);
    constant_ = std::accumulate(coef.begin(), coef.end(), 0.0);
    value_ = -0.5 * (std::inner_product(w_.begin(), w_.end(), w_.begin(), 0.0) + bias * constant_ * constant_);
    for (size_t v = 0; v < b.size(); ++v) value_ += b[v] * (terms.target[v] - 0.5 * terms.ridge[v] * b[v]);
  }

  // Visits every variable that takes part; returns primal minus dual, of each variable at its visit.
  double epoch() {
    double twice_gap = 0, violation = 0;
    for (size_t k = 0; k < order_.size(); ++k) {
      if (k % kBetweenLooks == 0) look();
      std::swap(order_[k], order_[k + size_t(random_.below(int64_t(order_.size() - k)))]);
      const Index v = order_[k];
      const double slope = slope_of(v);
      if (!(b_[v] > 0) && slope > highest_) {
        order_[k--] = order_.back(), order_.pop_back();
        continue;
      }
      twice_gap += excess(slope, b_[v], terms_.ridge[v]);
      violation = std::max(violation, b_[v] > 0 ? std::abs(slope) : -slope);
      move(v, slope);
    }
    highest_ = violation;
    return twice_gap / 2;
  }

  double value() const { return value_; }
  std::vector<double> products() const {
    std::vector<double> found(b_.size());
    multiply_rows(data_, {terms_.rows.data(), 0, int64_t(b_.size())}, w_.data(), found.data(), team_);
    for (size_t v = 0; v < b_.size(); ++v) found[v] = terms_.sign[v] * (found[v] + bias_ * constant_);
    return found;
  }

 private:
  void look() const {
    if (!team_.token) return;
    team_.token->listen();
    team_.token->check();
  }
  double slope_of(Index v) const {
    const double product = dot_row(data_, terms_.rows[v], w_.data()) + bias_ * constant_;
    return terms_.sign[v] * product + terms_.ridge[v] * b_[v] - terms_.target[v];
  }
  void move(Index v, double slope) {
    const double weight = std::max(0.0, b_[v] - slope / diagonal_[v]), change = weight - b_[v];
    if (change == 0) return;
    value_ -= change * (slope + 0.5 * change * diagonal_[v]);
    b_[v] = weight;
    add_row(data_, terms_.rows[v], terms_.sign[v] * change, w_.data());
    constant_ += terms_.sign[v] * change;
  }

  const Rows<T>& data_;
  const DualTerms& terms_;
  const std::vector<double>& diagonal_;
  const double bias_;
  std::vector<double>& b_;
  const Team& team_;
  std::vector<Index> order_;
  std::vector<double> w_;
  double constant_, value_;                                   // w_0, D(b)
  double highest_ = std::numeric_limits<double>::infinity();  // above it, a variable at 0 is left out
  Random random_;
};

}  // namespace

DualDescent::DualDescent(const AnyRows& data, DualTerms terms, double bias)
    : data_(data), terms_(std::move(terms)), bias_(bias), diagonal_(terms_.rows.size()) {
  const size_t n = terms_.rows.size();
  if (terms_.sign.size() != n || terms_.ridge.size() != n || terms_.target.size() != n)
    throw std::invalid_argument("one sign, ridge and target per variable are needed");
  const auto fill = [&](const auto& rows) {
    using T = std::decay_t<decltype(*rows.data)>;
    for (size_t v = 0; v < n; ++v) {
      if (!(terms_.ridge[v] > 0)) throw std::invalid_argument("a descent needs a positive ridge");
      diagonal_[v] = bias_ + terms_.ridge[v];
      for_each_entry(rows, terms_.rows[v], [&](int64_t, T x) { diagonal_[v] += double(x) * double(x); });
    }
  };
  std::visit(fill, data_);
}

std::vector<double> DualDescent::descend(std::vector<double>& b, double accuracy, int64_t epochs,
                                         const Team& team) const {
  const auto run = [&](const auto& rows) {
    Epochs passes(rows, terms_, diagonal_, bias_, b, team);
    for (int64_t e = 0; e < epochs; ++e)
      if (!(passes.epoch() > accuracy * passes.value())) break;
    return passes.products();
  };
  return std::visit(run, data_);
}

}  // namespace swapsvm
