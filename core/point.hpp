// A point of the simplex: weights on the support, the value there, and the radius. Nothing of it depends on the data.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "move.hpp"

namespace swapsvm {

// The radius of regression. The simplex stands for b = radius a, and c'b - b'Qb / 2 is what is reported, with
// c = radius half_linear. If b >= 0 is all that is required, the radius is only a means: it grows as b needs room, and
// the slack vertex makes up the difference.
class Radius {
 public:
  explicit Radius(double value = 0, bool grows = false) : value_(value), largest_(value), grows_(grows) {
    if (grows && !(value > 0)) throw std::invalid_argument("a radius that grows needs a positive initial value");
  }

  bool given() const { return value_ > 0; }
  bool grows() const { return grows_; }
  double value() const { return given() ? value_ : 1.0; }
  double unit() const { return given() ? value_ * value_ / 2 : 1.0; }  // of value and gap
  void set(double value) { value_ = value; }

  // What a working set may multiply it by before its kernel is found not to be positive semidefinite.
  double most_growth() const { return grows_ ? 8 * std::max(1.0, largest_ / value_) : 1.0; }

  static bool is_crowded(double slack) { return slack < kLeastRoom; }
  static bool is_uneven(double slack) { return std::abs(slack - 0.5) > 0.25; }

  // The radius at which the slack, which now has this weight, has half of all, within the largest radius that a point
  // of positive value can need; the present one if that is about the same.
  double with_room(double slack) const {
    const double total = 1.0 - slack, wanted = std::max(total, std::min(2 * total, largest_ / value_));
    return total > 0 && std::abs(wanted - 1) > kLeastRoom ? wanted * value_ : value_;
  }

 private:
  static constexpr double kLeastRoom = 1.0 / 16;

  double value_, largest_;
  bool grows_;
};

using Changes = std::vector<std::pair<int32_t, double>>;  // of the weights of some variables

class Point {
 public:
  Point(int64_t size, Radius radius) : radius(radius), weights_(size_t(size), 0.0), position_(size_t(size), -1) {}

  double operator[](int64_t v) const { return weights_[size_t(v)]; }
  const std::vector<double>& weights() const { return weights_; }
  const std::vector<int32_t>& active() const { return active_; }
  int64_t support_size() const { return int64_t(active_.size()); }

  double value() const { return radius.unit() * (2 * half_linear_value - quadratic); }
  double mean_score() const { return quadratic - half_linear_value; }  // a'(h - c/2)
  // Below this, rounding of the numbers that the gap is a difference of is larger than the gap.
  double gap_floor() const {
    return 8 * std::numeric_limits<double>::epsilon() * radius.unit() *
           std::max(std::abs(quadratic), std::abs(half_linear_value));
  }

  void set(int64_t v, double weight) {
    weights_[v] = weight;
    if (weight > 0 && position_[v] < 0) {
      position_[v] = int32_t(active_.size());
      active_.push_back(int32_t(v));
    } else if (!(weight > 0) && position_[v] >= 0) {
      weights_[v] = 0.0;
      position_[active_.back()] = position_[v];
      active_[position_[v]] = active_.back();
      active_.pop_back();
      position_[v] = -1;
    }
  }
  void clear() {
    while (!active_.empty()) set(active_.back(), 0.0);
  }
  void replace(const std::vector<int32_t>& variables, const std::vector<double>& weights) {
    clear();
    for (size_t k = 0; k < variables.size(); ++k)
      if (weights[k] > 0) set(variables[k], weights[k]);
  }
  void move(const Move& m) {
    if (m.scale == 0.0)
      clear();
    else if (m.scale != 1.0)
      for (const int32_t v : active_) weights_[v] *= m.scale;
    if (m.add != 0) set(m.i, weights_[m.i] + m.add);
    if (m.sub != 0) set(m.j, m.drop ? 0.0 : weights_[m.j] - m.sub);
  }
  void correct(const Correction& c) {
    if (c.scale != 1.0)
      for (const int32_t v : active_) weights_[v] *= c.scale;
    for (size_t k = 0; k < c.variables.size(); ++k) set(c.variables[k], c.weights[k]);
  }
  double total() const {
    double total = 0;
    for (const int32_t v : active_) total += weights_[v];
    return total;
  }
  // Returns what the weights were divided by.
  double normalize() {
    const double sum = total();
    if (!(sum > 0) || !std::isfinite(sum)) throw std::invalid_argument("weights must be finite with a positive sum");
    for (const int32_t v : active_) weights_[v] /= sum;
    return sum;
  }

  // Another radius at the same b: weights and value shrink alike, the slack gets the rest. Returns the factor.
  double set_radius(double value, int64_t slack) {
    const double factor = radius.value() / value;
    double rest = 0;
    radius.set(value);
    for (const int32_t v : active_)
      if (v != slack) rest += weights_[v] *= factor;
    set(slack, std::max(0.0, 1.0 - rest));
    quadratic *= factor * factor, half_linear_value *= factor * factor;
    return factor;
  }

  // What a correction changes beyond the scale: a_new - scale a_old.
  Changes changes_of(const Correction& c) const {
    Changes changes;
    for (size_t k = 0; k < c.variables.size(); ++k) {
      const double change = c.weights[k] - c.scale * weights_[c.variables[k]];
      if (change != 0) changes.push_back({c.variables[k], change});
    }
    return changes;
  }
  // All weights after it.
  Changes weights_after(const Correction& c) const {
    Changes all;
    std::vector<char> listed(weights_.size(), 0);
    for (size_t k = 0; k < c.variables.size(); ++k) {
      listed[c.variables[k]] = 1;
      if (c.weights[k] != 0) all.push_back({c.variables[k], c.weights[k]});
    }
    for (const int32_t v : active_)
      if (!listed[v]) all.push_back({v, c.scale * weights_[v]});
    return all;
  }

  double quadratic = 0, half_linear_value = 0;  // a'Qa, a'c/2
  Radius radius;

 private:
  std::vector<double> weights_;
  std::vector<int32_t> active_, position_;
};

}  // namespace swapsvm
