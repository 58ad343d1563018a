// The state of a quadratic on the simplex: maximize g(a) = -a'Qa + c'a,
//
//   Q_uv = s_u s_v (k(x_u, x_v) + bias) + [u == v] ridge_u.
//
// Variables come in segments; a segment is a group of rows with one sign s. Two segments may share a group: kernel
// values are then computed once for both. A segment of sign 0 is a single vertex at the origin, the slack. The state
// keeps the weights a, the value and, for as many variables as its kind affords, h = Qa. "Score" is h - c/2: the
// gradient is -2 score, so the toward vertex has the lowest score and the away vertex the highest among the active.
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "gram.hpp"
#include "move.hpp"
#include "working_set.hpp"

namespace swapsvm {

struct Segment {
  int group;
  double sign;
  int64_t offset = 0, count = 0;
  size_t line = 0;  // of its group, among the lines of a column
};

// All that the next moves depend on, but kernel values: a run goes on from it to the last bit.
struct Snapshot {
  std::vector<Index> active, slots, kept;  // in the order in which the state and its working set hold them
  std::vector<double> weights, h, numbers;
  std::vector<int64_t> counts;
};

template <class V>
class State {
 public:
  State(std::shared_ptr<Gram<V>> gram, std::vector<Segment> segments, Terms terms)
      : gram_(std::move(gram)), segments_(std::move(segments)), terms_(std::move(terms)) {
    for (Segment& s : segments_) {
      s.offset = size_;
      s.count = s.sign == 0 ? 1 : gram_->group(s.group).count;
      if (s.sign == 0) slack_ = size_;
      size_ += s.count;
      s.line = size_t(std::find(groups_.begin(), groups_.end(), s.group) - groups_.begin());
      if (s.line == groups_.size()) groups_.push_back(s.group);
    }
    if (terms_.grows && (slack_ < 0 || !(terms_.radius > 0)))
      throw std::invalid_argument("a radius that grows needs a first value and a slack vertex");
    for (const double c : terms_.half_linear) linear_.push_back(c * radius());
    weights_.assign(size_, 0.0);
    h_.assign(size_, 0.0);
    position_.assign(size_, -1);
    for (int64_t v = 0; v < size_; ++v) {
      if (!std::isfinite(diagonal(v)))
        throw std::invalid_argument("a kernel value k(x, x) is not finite: scale the data");
    }
  }
  virtual ~State() = default;

  int64_t size() const { return size_; }
  int64_t support_size() const { return int64_t(active_.size()); }
  const std::vector<double>& weights() const { return weights_; }
  const std::vector<Index>& active() const { return active_; }
  Gram<V>& gram() { return *gram_; }

  // The oracles. A state without weights has none.
  int64_t toward() const { return toward_; }
  int64_t away() const { return away_; }
  double quadratic() const { return quadratic_; }  // a'Qa
  double value() const { return unit() * (2 * half_linear_value_ - quadratic_); }
  double slope() const { return 2 * (mean_score() - toward_score_); }  // of a toward step
  // A bound on what the value is below its maximum. For b >= 0 without a radius it is the primal value at w = sum b phi
  // minus the dual one; the slope bounds the maximum within the radius only.
  double gap() const { return unit() * (terms_.grows ? excess_ : slope()) + rounding_; }
  double gap_rounding() const { return rounding_; }  // the part of a certified gap that bounds its rounding
  bool certified() const { return certified_; }      // whether the gap is an upper bound, rounding included
  double value_rounding() const {
    return value_rounding_;
  }  // of a certified value: the true one is at most this far off
  double radius() const { return terms_.radius > 0 ? terms_.radius : 1.0; }
  // What a relative gap is relative to. With a linear term the value can be zero, where the ridge's part of it is not:
  // a ball that its slack swallows. (With a radius b = 0 has the value zero, and all others of interest have more.)
  // A certified one is a lower bound.
  double scale() const {
    double ridge_part = 0;
    if (!terms_.half_linear.empty() && !(terms_.radius > 0))
      for (const Index v : active_) ridge_part += weights_[v] * weights_[v] * ridge(v);
    return std::max(0.0, std::max(std::abs(value()), unit() * ridge_part) - value_rounding_);
  }
  // Below this, rounding of the numbers that the gap is a difference of is larger than the gap.
  double gap_floor() const {
    return 8 * std::numeric_limits<double>::epsilon() * unit() *
           std::max(std::abs(quadratic_), std::abs(half_linear_value_));
  }

  double diagonal(int64_t v) const {
    const double s = sign(v);
    return s * s * (gram_->diagonal(row(v)) + terms_.bias) + ridge(v);
  }
  double score(int64_t v) const { return h_[v] - half_linear(v); }

  // ---- the three rays: MATH.md, "Quadratic case" ----------------------------------------------------------

  Search search_toward(int64_t i) const {
    return Search::along(2 * (mean_score() - score(i)), curvature_to_mean(i), 1.0);
  }
  Search search_away(int64_t j) const {
    const double a = weights_[j];
    const double longest = a < 1.0 ? a / (1.0 - a) : std::numeric_limits<double>::infinity();
    return a < 1.0 ? Search::along(2 * (score(j) - mean_score()), curvature_to_mean(j), longest) : Search{};
  }
  Search search_swap(int64_t i, int64_t j) {
    return Search::along(2 * (score(j) - score(i)), 2 * (diagonal(i) - 2 * entry(i, j) + diagonal(j)), weights_[j]);
  }

  static Move toward_move(int64_t i, const Search& s) { return {Kind::toward, 1 - s.step, i, s.step, -1, 0, false}; }
  // differs from [SWAP14]: nothing is added by an away step, and j is dropped at a_j / (1 - a_j), not at a_j
  static Move away_move(int64_t j, const Search& s) { return {Kind::away, 1 + s.step, -1, 0, j, s.step, s.clipped}; }
  static Move swap_move(int64_t i, int64_t j, const Search& s) {
    return {s.clipped ? Kind::swap_drop : Kind::swap_add, 1.0, i, s.step, j, s.step, s.clipped};
  }

  // argmax over active j of (score_j - score_i)^2 / (Q_ii - 2 Q_ij + Q_jj) with score_j > score_i: [SWAP14] Alg. 5.
  int64_t second_order_away(int64_t i) {
    if (sign(i) != 0)
      kernel_row(i, active_, kernel_of_active_);
    else
      kernel_of_active_.assign(active_.size(), 0.0);
    const double from = score(i), diagonal_i = diagonal(i);
    int64_t best = away_;
    double best_gain = 0.0;
    for (size_t p = 0; p < active_.size(); ++p) {
      const int64_t j = active_[p];
      const double rise = score(j) - from;
      if (j == i || rise <= 0) continue;
      const double curvature = diagonal_i + diagonal(j) - 2 * sign(i) * sign(j) * (kernel_of_active_[p] + terms_.bias);
      const double gain = curvature > 0 ? rise * rise / curvature : std::numeric_limits<double>::infinity();
      if (gain > best_gain || (gain == best_gain && j < best)) {
        best_gain = gain;
        best = j;
      }
    }
    return best;
  }

  // ---- changes ------------------------------------------------------------------------------------------

  void move(const Move& m) {
    const double s = m.scale, p = m.add, q = m.sub;
    forget_certificate();
    // a'Qa of the new point in closed form, from h and Q before the move
    double f = s * s * quadratic_;
    if (p != 0) f += p * p * diagonal(m.i) + 2 * s * p * h(m.i);
    if (q != 0) f += q * q * diagonal(m.j) - 2 * s * q * h(m.j);
    if (p != 0 && q != 0) f -= 2 * p * q * entry(m.i, m.j);
    quadratic_ = f;
    half_linear_value_ *= s;
    if (p != 0) half_linear_value_ += p * half_linear(m.i);
    if (q != 0) half_linear_value_ -= q * half_linear(m.j);
    move_weights(m);
    move_gradient(m);
    if (terms_.grows && weights_[slack_] < kLeastRoom) make_room();
    window_gap_ = std::min(window_gap_, gap());
    if (++moves_ >= kRefresh + 2 * support_size()) refresh_value();
  }

  // Whether many moves in a row neither raised the value nor lowered the gap: what is left is noise of the arithmetic.
  bool exhausted() const { return exhausted_; }

  // Kernel values of a face, row by row. What it shares with the last face asked for is kept: a corrective method that
  // adds some vertices pays for their rows only.
  std::shared_ptr<const V[]> face(const std::vector<Index>& variables) {
    if (variables == face_variables_) return face_;
    const size_t n = variables.size(), old = face_variables_.size();
    std::vector<Run> runs;  // stretches that the last face has as well; both lists ascend
    std::vector<size_t> fresh;
    for (size_t k = 0, o = 0; k < n; ++k) {
      while (o < old && face_variables_[o] < variables[k]) ++o;
      if (o == old || face_variables_[o] != variables[k])
        fresh.push_back(k);
      else if (!runs.empty() && runs.back().to + runs.back().length == k && runs.back().from + runs.back().length == o)
        ++runs.back().length;
      else
        runs.push_back({o, k, 1});
    }
    const std::vector<V> rows = kernel_rows(variables, fresh);
    std::shared_ptr<V[]> values(new V[n * n]);
    for (size_t r = 0; r < fresh.size(); ++r) std::copy_n(&rows[r * n], n, &values[fresh[r] * n]);
    parallel_chunks(int64_t(runs.size()), 1, Team{gram_->threads()}, [&](int64_t index, int64_t) {
      const Run& kept = runs[size_t(index)];
      for (size_t k = 0; k < kept.length; ++k) {
        V* row = &values[(kept.to + k) * n];
        for (const Run& run : runs) std::copy_n(&face_[(kept.from + k) * old + run.from], run.length, row + run.to);
        for (size_t r = 0; r < fresh.size(); ++r) row[fresh[r]] = rows[r * n + kept.to + k];  // Q is symmetric
      }
    });
    face_ = values;
    face_variables_ = variables;
    return face_;
  }

  // Puts these weights (normalized) in place of the present ones and computes h afresh, in double. A radius that may
  // change becomes their sum.
  virtual void set_weights(const std::vector<Index>& variables, const std::vector<double>& values) {
    replace_weights(variables, values);
    take_radius();
    certify();
  }

  // Weights that solve the problem on these variables approximately; `capacity` bounds what their kernel values take.
  // A set that outgrows it gets half as much again, so that one that grows by single vertices is not computed anew.
  Correction solve_on(const std::vector<Index>& variables, int64_t capacity, BlockOptions options) {
    const int64_t wanted = int64_t(variables.size()) + (terms_.grows ? 1 : 0);
    if (!working_set_ || working_set_->capacity() < wanted)
      working_set_ =
          std::make_unique<WorkingSet<V>>(gram_, size_, capacity < wanted ? wanted * 3 / 2 : capacity, terms_);
    std::vector<Member> members;
    for (const Index v : variables) members.push_back(member(v));
    if (terms_.grows && std::find(variables.begin(), variables.end(), Index(slack_)) == variables.end())
      members.push_back(member(Index(slack_)));
    try {
      working_set_->assign(members);
    } catch (...) {  // a user's function failed: slots without values must not stay behind
      working_set_.reset();
      throw;
    }
    options.most_growth = terms_.grows ? 8 * std::max(1.0, largest_radius_ / terms_.radius) : 1.0;
    return working_set_->solve(quadratic_, half_linear_value_, options, gram_->team());
  }

  virtual Snapshot snapshot() const {
    Snapshot s;
    s.active = active_, s.h = h_;
    for (const Index v : active_) s.weights.push_back(weights_[v]);
    if (working_set_) s.slots = working_set_->variables();
    s.numbers = {quadratic_, half_linear_value_, toward_score_, best_value_, best_gap_, window_gap_, radius(), excess_};
    s.counts = {toward_, away_, moves_, fruitless_, exhausted_, working_set_ ? working_set_->capacity() : 0};
    return s;
  }

  // Back to a snapshot of this problem. The working set computes its kernel values again unless it still holds them.
  virtual void restore(const Snapshot& s) {
    replace_weights(s.active, s.weights);
    h_ = s.h;
    quadratic_ = s.numbers[0], half_linear_value_ = s.numbers[1], toward_score_ = s.numbers[2];
    best_value_ = s.numbers[3], best_gap_ = s.numbers[4], window_gap_ = s.numbers[5];
    if (terms_.grows) place_radius(s.numbers[6]);
    excess_ = s.numbers[7];
    toward_ = s.counts[0], away_ = s.counts[1], moves_ = s.counts[2], fruitless_ = s.counts[3];
    exhausted_ = s.counts[4] != 0;
    if (working_set_ && working_set_->variables() == s.slots) return;
    working_set_.reset();
    if (s.slots.empty()) return;
    working_set_ = std::make_unique<WorkingSet<V>>(gram_, size_, s.counts[5], terms_);
    std::vector<Member> members;
    for (const Index v : s.slots) members.push_back(v < 0 ? Member{} : member(v));
    working_set_->place(members);
  }

  // The corrective step: these weights for the listed variables, the others times `scale`. h follows by the columns of
  // the changed weights, from the cache or, `fused`, without it.
  virtual void correct(const Correction& correction, bool fused) = 0;

  // Normalizes the weights and recomputes h, value and gap from scratch, kernel values in double. The gap is then an
  // upper bound, rounding included, until the next change.
  virtual void certify() = 0;

  // A certificate without a pass over all rows, for a run that has no time left: what h is not known of is bounded by
  // |h_v| <= sqrt(Q_vv a'Qa). It is as rigorous, and far larger unless h is known everywhere.
  virtual void prove() = 0;

  virtual double certificate_seconds() const = 0;  // that certify() will take, roughly

  const std::shared_ptr<StopToken>& token() const { return token_; }
  void set_token(std::shared_ptr<StopToken> token) { token_ = std::move(token); }

 protected:
  double ridge(int64_t v) const { return terms_.ridge[terms_.ridge.size() == 1 ? 0 : v]; }
  double half_linear(int64_t v) const { return terms_.half_linear.empty() ? 0.0 : terms_.half_linear[v]; }
  double h(int64_t v) const { return score(v) + half_linear(v); }
  double mean_score() const { return quadratic_ - half_linear_value_; }  // a'(h - c/2)
  double curvature_to_mean(int64_t v) const { return 2 * (diagonal(v) - 2 * h(v) + quadratic_); }

  const Segment& segment(int64_t v) const {
    size_t s = 0;
    while (v >= segments_[s].offset + segments_[s].count) ++s;
    return segments_[s];
  }
  int64_t row(int64_t v) const {
    const Segment& s = segment(v);
    return gram_->group(s.group)[v - s.offset];
  }
  double sign(int64_t v) const { return segment(v).sign; }

  Member member(Index v) const {
    return {v, Index(row(v)), sign(v), diagonal(v), ridge(v), half_linear(v), weights_[v], score(v)};
  }

  double entry(int64_t i, int64_t j) {
    if (i == j) return diagonal(i);
    const double signs = sign(i) * sign(j);
    return signs == 0 ? 0.0 : signs * (kernel(i, j) + terms_.bias);
  }

  virtual double kernel(int64_t i, int64_t j) = 0;  // k(x_i, x_j)
  // out[p] = k(x_i, x_variables[p])
  virtual void kernel_row(int64_t i, const std::vector<Index>& variables, std::vector<double>& out) = 0;
  virtual void move_gradient(const Move& m) = 0;   // after the weights have moved
  virtual void scale_gradient(double factor) = 0;  // h <- factor h, and the oracles of weights that have changed

  // ---- the radius: b = radius a -------------------------------------------------------------------------------

  double unit() const { return terms_.radius > 0 ? terms_.radius * terms_.radius / 2 : 1.0; }

  void place_radius(double radius) {
    terms_.radius = radius;
    for (size_t v = 0; v < linear_.size(); ++v) terms_.half_linear[v] = linear_[v] / radius;
  }
  // A radius that may change becomes the sum of weights that were set.
  void take_radius() {
    if (!terms_.grows) return;
    double total = 0;
    for (const Index v : active_) total += weights_[v];
    if (total > 0 && std::isfinite(total)) place_radius(total);
  }

  // Another radius at the same b, and so the same Qb; the slack makes up the difference. a, h and c / radius shrink
  // alike.
  void set_radius(double radius) {
    const double factor = terms_.radius / radius;
    double total = 0;
    place_radius(radius);
    for (const Index v : active_)
      if (v != slack_) total += weights_[v] *= factor;
    set_weight(slack_, std::max(0.0, 1.0 - total));
    quadratic_ *= factor * factor, half_linear_value_ *= factor * factor, excess_ *= factor * factor;
    scale_gradient(factor);
  }

  // The slack gets half of the weight, within the largest radius that a point of positive value can need.
  void make_room() {
    const double total = 1.0 - weights_[slack_];
    const double wanted = std::max(total, std::min(2 * total, largest_radius_ / terms_.radius));
    if (total > 0 && std::abs(wanted - 1) > kLeastRoom) set_radius(wanted * terms_.radius);
  }
  void keep_room() {
    if (terms_.grows && std::abs(weights_[slack_] - 0.5) > 0.25) make_room();
  }

  double excess_of(int64_t v) const { return v == slack_ ? 0.0 : excess(score(v), weights_[v], ridge(v)); }

  void set_weight(int64_t v, double a) {
    weights_[v] = a;
    if (a > 0 && position_[v] < 0) {
      position_[v] = Index(active_.size());
      active_.push_back(Index(v));
    } else if (!(a > 0) && position_[v] >= 0) {
      weights_[v] = 0.0;
      position_[active_.back()] = position_[v];
      active_[position_[v]] = active_.back();
      active_.pop_back();
      position_[v] = -1;
    }
  }

  void replace_weights(const std::vector<Index>& variables, const std::vector<double>& values) {
    forget_certificate();
    clear_weights();
    for (size_t k = 0; k < variables.size(); ++k)
      if (values[k] > 0) set_weight(variables[k], values[k]);
  }

  void clear_weights() {
    while (!active_.empty()) set_weight(active_.back(), 0.0);
  }

  // Rows of kernel values against all `variables`, for those at the places `fresh`.
  std::vector<V> kernel_rows(const std::vector<Index>& variables, const std::vector<size_t>& fresh) {
    constexpr size_t kFew = 16;  // so few come from the cache of columns, which the move will need in any case
    const size_t n = variables.size();
    std::vector<V> values(fresh.size() * n);
    if (fresh.size() <= kFew) {
      for (size_t r = 0; r < fresh.size(); ++r) {
        kernel_row(variables[fresh[r]], variables, kernel_of_active_);
        std::copy(kernel_of_active_.begin(), kernel_of_active_.end(), values.begin() + int64_t(r * n));
      }
      return values;
    }
    std::vector<Index> all, some;
    for (const Index v : variables) all.push_back(Index(row(v)));
    for (const size_t k : fresh) some.push_back(all[k]);
    const DistinctRows left = gram_->distinct(some), right = gram_->distinct(all);
    std::vector<V> block(left.rows.size() * right.rows.size());
    gram_->block(left.selection(), right.selection(), block.data());
    for (size_t r = 0; r < fresh.size(); ++r)
      for (size_t k = 0; k < n; ++k)
        values[r * n + k] = block[size_t(left.place[r]) * right.rows.size() + size_t(right.place[k])];
    return values;
  }

  // What a correction changes beyond the scale: a_new - scale a_old.
  std::vector<std::pair<Index, double>> changes_of(const Correction& c) const {
    std::vector<std::pair<Index, double>> changes;
    for (size_t k = 0; k < c.variables.size(); ++k) {
      const double change = c.weights[k] - c.scale * weights_[c.variables[k]];
      if (change != 0) changes.push_back({c.variables[k], change});
    }
    return changes;
  }

  void change_weights(const Correction& c) {
    forget_certificate();
    if (c.growth != 1.0) place_radius(terms_.radius * c.growth);
    if (c.scale != 1.0)
      for (const Index v : active_) weights_[v] *= c.scale;
    for (size_t k = 0; k < c.variables.size(); ++k) set_weight(c.variables[k], c.weights[k]);
  }

  // After a correction. One that neither raises the value nor lowers the gap can happen; three in a row are noise.
  void watch_correction() {
    const bool better = value() > best_value_ || gap() < best_gap_;
    fruitless_ = better ? 0 : fruitless_ + 1;
    exhausted_ = fruitless_ >= 3;
    best_value_ = std::max(best_value_, value());
    best_gap_ = std::min(best_gap_, gap());
  }

  void move_weights(const Move& m) {
    if (m.scale == 0.0)
      clear_weights();
    else if (m.scale != 1.0)
      for (const Index v : active_) weights_[v] *= m.scale;
    if (m.add != 0) set_weight(m.i, weights_[m.i] + m.add);
    if (m.sub != 0) set_weight(m.j, m.drop ? 0.0 : weights_[m.j] - m.sub);
  }

  // Returns what the weights were divided by.
  double normalize_weights() {
    double total = 0;
    for (const Index v : active_) total += weights_[v];
    if (!(total > 0) || !std::isfinite(total))
      throw std::invalid_argument("weights must be finite with a positive sum");
    for (const Index v : active_) weights_[v] /= total;
    return total;
  }

  // sum_v d_v Q_:v without the ridge, for changes d of some weights.
  struct Expansion {
    std::vector<Index> rows;
    std::vector<double> coef;  // signed

    void add(Index row, double c) {
      if (c == 0) return;  // of the slack
      rows.push_back(row);
      coef.push_back(c);
      const double sum =
          sum_ + c;  // compensated: positive and negative coefficients may cancel all but the last digits
      lost_ += std::abs(sum_) >= std::abs(c) ? (sum_ - sum) + c : (c - sum) + sum_;
      sum_ = sum;
    }
    double total() const { return sum_ + lost_; }

    // Variables that stand for the same row, put together.
    Expansion merged() const {
      std::map<Index, double> sums;
      for (size_t k = 0; k < rows.size(); ++k) sums[rows[k]] += coef[k];
      Expansion result;
      for (const auto& [row, c] : sums) result.add(row, c);
      return result;
    }

   private:
    double sum_ = 0, lost_ = 0;
  };

  Expansion expansion() const {
    Expansion e;
    for (const Index v : active_) e.add(Index(row(v)), weights_[v] * sign(v));
    return shares_rows() ? e.merged() : e;
  }
  bool shares_rows() const { return groups_.size() < segments_.size(); }

  // s_u (sum_c coef_c k(x_u, x_c) + bias total) of the listed variables; `exact`: kernel values in double.
  std::vector<double> products(const std::vector<Index>& variables, const Expansion& e, bool exact) {
    const bool all = int64_t(variables.size()) == size_ && std::is_sorted(variables.begin(), variables.end());
    const DistinctRows some = all ? DistinctRows{} : rows_of(variables);
    const DistinctRows& left = all ? every_row() : some;
    const Selection right{e.rows.data(), 0, int64_t(e.rows.size())};
    std::vector<double> sums(left.rows.size()), out(variables.size());
    if (exact)
      gram_->exact_product(left.selection(), right, e.coef.data(), sums.data());
    else
      gram_->product(left.selection(), right, e.coef.data(), sums.data());
    for (size_t k = 0; k < out.size(); ++k)
      out[k] = sign(variables[k]) * (sums[size_t(left.place[k])] + terms_.bias * e.total());
    return out;
  }

  // The rows of all variables, in the order of the variables.
  const DistinctRows& every_row() {
    if (every_row_.place.empty()) every_row_ = rows_of(all_variables());
    return every_row_;
  }

  DistinctRows rows_of(const std::vector<Index>& variables) {
    std::vector<Index> rows;
    rows.reserve(variables.size());
    for (const Index v : variables) rows.push_back(Index(row(v)));
    return gram_->distinct(rows);
  }

  // h of the listed variables afresh.
  void evaluate(const std::vector<Index>& variables, bool exact, std::vector<double>& h) {
    const std::vector<double> sums = products(variables, expansion(), exact);
    for (size_t k = 0; k < variables.size(); ++k)
      h[variables[k]] = sums[k] + ridge(variables[k]) * weights_[variables[k]];
  }

  // Bounds on |computed - true| of h_v for variables whose h was summed in V, or `exact`ly.
  std::vector<double> rounding_of_h(bool exact) {
    constexpr double u = std::numeric_limits<double>::epsilon() / 2;
    const Expansion e = expansion();
    const DistinctRows& rows = every_row();
    std::vector<double> bounds(rows.rows.size()), error(static_cast<size_t>(size_));
    gram_->rounding(rows.selection(), {e.rows.data(), 0, int64_t(e.rows.size())}, e.coef.data(), exact, bounds.data());
    double total = 0;
    for (const double c : e.coef) total += std::abs(c);
    const double of_bias = 6 * u * std::abs(terms_.bias) * total;
    for (int64_t v = 0; v < size_; ++v)
      error[v] = sign(v) == 0 ? 0.0 : bounds[size_t(rows.place[v])] + of_bias + 4 * u * ridge(v) * weights_[v];
    return error;
  }

  // Of a'h, if every computed h_v of the support is within error[v] of the true one.
  double rounding_of_mean(const std::vector<double>& error) const {
    constexpr double u = std::numeric_limits<double>::epsilon() / 2;
    const double terms = 4 * double(active_.size() + 8) * u;  // of sums over the support, and of weights that sum to 1
    double total = terms * (std::abs(quadratic_) + std::abs(half_linear_value_));
    for (const Index v : active_)
      total += weights_[v] * (error[v] + terms * (std::abs(h(v)) + std::abs(half_linear(v))));
    return total;
  }

  // Makes the gap an upper bound: every computed h_v is within error[v] of the true one.
  void set_rounding(const std::vector<double>& error) {
    const double of_mean = rounding_of_mean(error);
    forget_certificate();
    const double of_value = 2 * unit() * of_mean;
    const double bound = of_value + unit() * (terms_.grows ? largest_excess(error) : largest_slope(error, of_mean));
    rounding_ = std::max(0.0, bound - gap());
    value_rounding_ = of_value, certified_ = true;
  }
  void forget_certificate() { rounding_ = value_rounding_ = 0, certified_ = false; }
  // |h_v| <= sqrt(Q_vv a'Qa) by Cauchy and Schwarz, Q being positive semidefinite and a'Qa at most `largest`.
  double unknown_h(int64_t v, double largest) const { return 1.01 * std::sqrt(std::max(0.0, diagonal(v) * largest)); }

  double largest_slope(const std::vector<double>& error, double of_mean) const {
    double lowest = std::numeric_limits<double>::infinity();
    for (int64_t v = 0; v < size_; ++v) lowest = std::min(lowest, score(v) - error[v]);
    return 2 * (mean_score() + of_mean - lowest);
  }
  // The excess is convex in the score, so largest at an end of its interval.
  double largest_excess(const std::vector<double>& error) const {
    double total = 0;
    for (int64_t v = 0; v < size_; ++v)
      if (v != slack_)
        total += std::max(excess(score(v) - error[v], weights_[v], ridge(v)),
                          excess(score(v) + error[v], weights_[v], ridge(v)));
    return total * (1 + double(size_) * std::numeric_limits<double>::epsilon());
  }

  std::vector<Index> all_variables() const {
    std::vector<Index> all(static_cast<size_t>(size_));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // a'h and a'c/2 afresh: after h was set, and now and then because the closed form drifts from it.
  void set_value() {
    quadratic_ = half_linear_value_ = 0;
    for (const Index v : active_) {
      quadratic_ += weights_[v] * h(v);
      half_linear_value_ += weights_[v] * half_linear(v);
    }
  }

  void forget_progress() {
    moves_ = fruitless_ = 0;
    exhausted_ = false;
    best_value_ = -std::numeric_limits<double>::infinity();
    best_gap_ = window_gap_ = std::numeric_limits<double>::infinity();
  }

  void refresh_value() {
    set_value();
    exhausted_ = value() <= best_value_ && window_gap_ >= best_gap_;
    best_value_ = std::max(best_value_, value());
    best_gap_ = std::min(best_gap_, window_gap_);
    window_gap_ = std::numeric_limits<double>::infinity();
    moves_ = 0;
  }

  std::shared_ptr<Gram<V>> gram_;
  std::unique_ptr<WorkingSet<V>> working_set_;
  std::vector<Segment> segments_;
  std::vector<int> groups_;  // of the segments, each once
  Terms terms_;
  int64_t size_ = 0;
  std::vector<double> weights_, h_;  // a sampled state knows h on the active set and its last sample only
  std::vector<Index> active_, position_;
  std::vector<double> kernel_of_active_;
  double quadratic_ = 0, half_linear_value_ = 0;
  int64_t toward_ = -1, away_ = -1;
  double toward_score_ = 0;
  int64_t slack_ = -1;
  double excess_ = 0;                         // sum of excess_of, as far as the state knows
  double rounding_ = 0, value_rounding_ = 0;  // the former is added to the gap by a certificate
  bool certified_ = false;
  std::shared_ptr<StopToken> token_;
  DistinctRows every_row_;
  std::vector<double> linear_;  // radius times half_linear

 private:
  static constexpr double kLeastRoom = 1.0 / 16;
  struct Run {
    size_t from, to, length;
  };

  static constexpr int64_t kRefresh = 256;
  double largest_radius_ = terms_.radius;
  int64_t moves_ = 0, fruitless_ = 0;
  bool exhausted_ = false;
  double best_value_ = -std::numeric_limits<double>::infinity();
  double best_gap_ = std::numeric_limits<double>::infinity(), window_gap_ = best_gap_;
  std::vector<Index> face_variables_;
  std::shared_ptr<const V[]> face_;
};

}  // namespace swapsvm
