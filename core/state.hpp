// The state of a run: a point on the simplex, the shard of rows that its gradient lives on, and the oracles.
//
// The verbs are those that solvers need: searches along the three rays, moves, corrections, certificates. How much of
// h = Qa a state knows, and how it follows a move, is up to its kind.
#pragma once

#include <algorithm>
#include <memory>

#include "face.hpp"
#include "shard.hpp"
#include "snapshot.hpp"
#include "working_set.hpp"

namespace swapsvm {

template <class V>
class State {
 public:
  State(std::shared_ptr<Gram<V>> gram, std::vector<Segment> segments, Terms terms, Radius radius)
      : gram_(gram),
        shard_(std::move(gram), std::move(segments), std::move(terms), radius.value()),
        point_(shard_.size(), radius) {
    if (radius.grows() && shard_.slack() < 0) throw std::invalid_argument("a radius that grows needs a slack vertex");
  }
  virtual ~State() = default;

  int64_t size() const { return shard_.size(); }
  const Point& point() const { return point_; }
  int64_t support_size() const { return point_.support_size(); }
  Gram<V>& gram() { return *gram_; }
  // v, if there is such a variable.
  int64_t checked(int64_t v) const {
    if (v < 0 || v >= size()) throw std::invalid_argument("a variable that does not exist");
    return v;
  }
  void check_variables(const std::vector<Index>& variables) const {
    for (const Index v : variables) checked(v);
  }

  // The oracles. A state without weights has none.
  int64_t toward() const { return oracles_.toward; }
  int64_t away() const { return oracles_.away; }
  // The best active vertex: the toward vertex of the face that the weights lie on.
  int64_t active_toward() const {
    int64_t best = away();
    for (const Index v : point_.active()) {
      const double difference = score(best) - score(v);
      if (difference > 0 || (difference == 0 && v < best)) best = v;
    }
    return best;
  }
  double value() const { return point_.value(); }
  double slope() const { return 2 * (point_.mean_score() - oracles_.toward_score); }  // of a toward step
  // Bounds on what the value is below its maximum. That of the simplex is the slope; for b >= 0 without a radius, where
  // the slope bounds the maximum within the radius only, it is primal minus dual as well.
  double simplex_gap() const {
    return point_.radius.grows() ? primal_gap() : point_.radius.unit() * slope() + simplex_rounding_;
  }
  // Primal minus dual, known after a certificate and while the state is measured by it. It is f (P/D - 1) of the SVM.
  double primal_gap() const {
    return point_.radius.unit() * (point_.radius.grows() ? oracles_.excess : bound_.gap) + primal_rounding_;
  }
  // The one that the state is measured by; that of the simplex where no multiple of w has a margin.
  double gap() const { return answers_primal() ? primal_gap() : simplex_gap(); }
  // The part of a certified gap that bounds its rounding.
  double gap_rounding() const {
    return answers_primal() || point_.radius.grows() ? primal_rounding_ : simplex_rounding_;
  }
  // The offset nu that primal minus dual belongs to where it is known, else that of the simplex.
  double level() const {
    const bool known = certified_ || measure_ == Measure::primal;
    if (point_.radius.grows()) return 0.0;
    return known && primal_gap() < std::numeric_limits<double>::infinity() ? bound_.level : oracles_.toward_score;
  }
  // `scales`: the problem is the dual of an SVM, whose primal has no offset (primal.hpp).
  virtual void measure(Measure measure, bool scales) {
    if (measure_ == measure && scales_ == scales) return;
    measure_ = measure, scales_ = scales;
    forget_certificate();
    if (support_size() > 0 && measure == Measure::primal) choose_vertices();
  }
  bool scales() const { return scales_; }
  double value_rounding() const { return value_rounding_; }  // the true value is at most this far from a certified one
  double score_rounding() const { return score_rounding_; }  // the same for every score
  bool certified() const { return certified_; }              // whether the gap is an upper bound, rounding included
  double gap_floor() const { return point_.gap_floor(); }
  double radius() const { return point_.radius.value(); }
  // What a relative gap is relative to. With a linear term the value can be zero where the ridge's part of it is not: a
  // ball that its slack swallows. (With a radius, b = 0 has value zero, and all others of interest have more.) A
  // certified scale is a lower bound.
  double scale() const {
    double ridge_part = 0;
    if (shard_.has_linear() && !point_.radius.given())
      for (const Index v : point_.active()) ridge_part += point_[v] * point_[v] * shard_.ridge(v);
    return std::max(0.0, std::max(std::abs(value()), point_.radius.unit() * ridge_part) - value_rounding_);
  }
  double score(int64_t v) const { return shard_.score(v); }
  bool exhausted() const { return improvement_.exhausted; }

  Search search_toward(int64_t i) const {
    return Search::along(2 * (point_.mean_score() - score(i)), curvature_to_mean(i), 1.0);
  }
  Search search_away(int64_t j) const {
    const double a = point_[j];
    if (!(a < 1.0)) return {};
    return Search::along(2 * (score(j) - point_.mean_score()), curvature_to_mean(j), a / (1.0 - a));
  }
  Search search_swap(int64_t i, int64_t j) {
    return Search::along(2 * (score(j) - score(i)), 2 * (shard_.diagonal(i) - 2 * entry(i, j) + shard_.diagonal(j)),
                         point_[j]);
  }

  static Move toward_move(int64_t i, const Search& s) { return {Kind::toward, 1 - s.step, i, s.step, -1, 0, false}; }
  // differs from [SWAP14]: nothing is added by an away step, and j is dropped at a_j / (1 - a_j), not at a_j
  static Move away_move(int64_t j, const Search& s) { return {Kind::away, 1 + s.step, -1, 0, j, s.step, s.clipped}; }
  static Move swap_move(int64_t i, int64_t j, const Search& s) {
    return {s.clipped ? Kind::swap_drop : Kind::swap_add, 1.0, i, s.step, j, s.step, s.clipped};
  }

  // argmax over active j of (score_j - score_i)^2 / (Q_ii - 2 Q_ij + Q_jj) with score_j > score_i: [SWAP14] Alg. 5.
  int64_t second_order_away(int64_t i);

  void move(const Move& m);

  // Kernel values of a face, whose variables ascend, row by row.
  std::shared_ptr<const V[]> face(const std::vector<Index>& variables) {
    check_variables(variables);
    if (std::adjacent_find(variables.begin(), variables.end(), std::greater_equal<Index>()) != variables.end())
      throw std::invalid_argument("a face must list its variables in ascending order");
    return face_.values(variables, Team{gram_->threads()},
                        [&](const std::vector<size_t>& fresh) { return kernel_rows(variables, fresh); });
  }

  // Replaces all weights by these (normalized) and computes h afresh, in double. A radius that grows becomes their sum.
  virtual void set_weights(const std::vector<Index>& variables, const std::vector<double>& weights) {
    replace_weights(variables, weights);
    certify();
  }

  // Weights that solve the problem on these variables approximately; `capacity` bounds the memory of their kernel
  // values. A set that outgrows it gets half as much again, so that one that grows by single vertices is kept.
  Correction solve_on(const std::vector<Index>& variables, int64_t capacity, BlockOptions options);

  virtual Snapshot snapshot() const;
  // Returns to a snapshot of this problem. The working set computes its kernel values again unless it still holds them.
  virtual void restore(const Snapshot& s);

  // Sets the weights of the listed variables and multiplies the others by the scale; h follows.
  virtual void correct(const Correction& correction) = 0;

  // Normalizes the weights and recomputes h, value and gap from scratch, kernel values in double. The gap is then an
  // upper bound, rounding included, until the next change.
  virtual void certify() = 0;

  // A certificate without a pass over all rows, for a run that has no time left: where h is not known, it is bounded by
  // |h_v| <= sqrt(Q_vv a'Qa). It is as rigorous, and far larger unless h is known everywhere.
  void prove();

  virtual double certificate_seconds() const = 0;  // that certify() will take, roughly

  const std::shared_ptr<StopToken>& token() const { return token_; }
  void set_token(std::shared_ptr<StopToken> token) { token_ = std::move(token); }

 protected:
  double curvature_to_mean(int64_t v) const { return 2 * (shard_.diagonal(v) - 2 * shard_.h(v) + point_.quadratic); }
  double entry(int64_t i, int64_t j) {
    if (i == j) return shard_.diagonal(i);
    const double signs = shard_.sign(i) * shard_.sign(j);
    return signs == 0 ? 0.0 : signs * (kernel(i, j) + shard_.bias());
  }

  virtual double kernel(int64_t i, int64_t j) = 0;  // k(x_i, x_j)
  // out[p] = k(x_i, x_variables[p])
  virtual void kernel_row(int64_t i, const std::vector<Index>& variables, std::vector<double>& out) = 0;
  virtual void move_gradient(const Move& m) = 0;  // after the weights have moved
  virtual void choose_vertices() = 0;             // sets the oracles, from h

  void check_weights(const std::vector<Index>& variables, const std::vector<double>& weights) const {
    if (variables.size() != weights.size() || weights.empty())
      throw std::invalid_argument("one weight per variable is needed, and at least one");
    check_variables(variables);
    for (const double a : weights)
      if (!(a >= 0) || !std::isfinite(a)) throw std::invalid_argument("weights must be finite and not negative");
  }
  void replace_weights(const std::vector<Index>& variables, const std::vector<double>& weights) {
    check_weights(variables, weights);
    forget_certificate();
    fresh_ = false;
    point_.replace(variables, weights);
    const double total = point_.total();
    if (point_.radius.grows() && total > 0 && std::isfinite(total)) place_radius(total);
  }
  void change_weights(const Correction& c) {
    forget_certificate();
    fresh_ = false;
    if (c.growth != 1.0) place_radius(radius() * c.growth);
    point_.correct(c);
  }
  void place_radius(double radius) {
    point_.radius.set(radius);
    shard_.set_radius(radius);
  }
  void make_room() {
    const double wanted = point_.radius.with_room(point_[shard_.slack()]);
    if (wanted != radius()) set_radius(wanted);
  }
  void keep_room() {
    if (point_.radius.grows() && Radius::is_uneven(point_[shard_.slack()])) make_room();
  }

  // a'h and a'c/2 afresh: after h was set, and now and then because the closed form drifts from it.
  void set_value() {
    point_.quadratic = point_.half_linear_value = 0;
    for (const Index v : point_.active()) {
      point_.quadratic += point_[v] * shard_.h(v);
      point_.half_linear_value += point_[v] * shard_.half_linear(v);
    }
  }
  // Primal minus dual at the best level.
  void set_bound() {
    if (point_.radius.grows()) return;
    double norm = point_.quadratic;
    for (const Index v : point_.active()) norm -= point_[v] * point_[v] * shard_.ridge(v);
    const BoundedPoint point{point_.mean_score(), oracles_.toward_score, norm, scales_};
    bound_ = lowest_bound(point, [this](double level) { return shard_.shortfall(level, point_); });
  }
  Member member(Index v) const {
    const Shard<V>& s = shard_;
    return {v, Index(s.row(v)), s.sign(v), s.diagonal(v), s.ridge(v), s.half_linear(v), point_[v], score(v)};
  }
  bool is_measured_by(Measure measure) const { return measure_ == measure; }
  void note_correction() { improvement_.note_correction(value(), gap()); }

  // If every computed h_v is within error[v] of the true one: a bound on the rounding of a'h, and an upper bound of the
  // gap, which becomes certified.
  double rounding_of_mean(const std::vector<double>& error) const {
    constexpr double u = std::numeric_limits<double>::epsilon() / 2;
    const double terms = 4 * double(support_size() + 8) * u;  // of sums over the support, and of weights that sum to 1
    double total = terms * (std::abs(point_.quadratic) + std::abs(point_.half_linear_value));
    for (const Index v : point_.active())
      total += point_[v] * (error[v] + terms * (std::abs(shard_.h(v)) + std::abs(shard_.half_linear(v))));
    return total;
  }
  void set_rounding(const std::vector<double>& error) {
    const double unit = point_.radius.unit(), of_mean = rounding_of_mean(error), of_value = 2 * unit * of_mean;
    forget_certificate();
    if (measure_ == Measure::simplex) set_bound();
    if (!point_.radius.grows()) bound_.level = std::min(bound_.level, highest_level(error));
    const double excess = largest_excess(error), slope = largest_slope(error, of_mean);
    const double apart = std::max(0.0, std::abs(point_.quadratic - bound_.level) - of_value);
    // f_lower (P_upper / D_lower - 1) = f_upper (P/D - 1) + f_upper - f_lower
    const double primal = scales_ ? scaled_gap(excess, point_.quadratic + of_value, apart, bound_.level) + 2 * of_value
                                  : of_value + unit * excess;
    simplex_rounding_ = std::max(0.0, of_value + unit * slope - simplex_gap());
    primal_rounding_ = std::max(0.0, primal - primal_gap());
    value_rounding_ = of_value, certified_ = true;
    score_rounding_ = 0;
    for (int64_t v = 0; v < size(); ++v) score_rounding_ = std::max(score_rounding_, widened(v, error[v]));
  }
  void forget_certificate() { simplex_rounding_ = primal_rounding_ = value_rounding_ = 0, certified_ = false; }

  std::shared_ptr<Gram<V>> gram_;
  Shard<V> shard_;
  Point point_;
  Summary oracles_;
  Bound bound_;
  Improvement improvement_;
  std::unique_ptr<WorkingSet<V>> working_set_;
  std::vector<double> kernel_of_active_;
  bool fresh_ = false;         // whether h is known for all live variables, and was summed afresh, not in increments
  double added_rounding_ = 0;  // of such an h, beyond that of fused products

 private:
  void open_working_set(int64_t capacity) {
    working_set_ = std::make_unique<WorkingSet<V>>(gram_, size(), capacity, shard_.bias(), point_.radius.grows());
  }
  std::vector<V> kernel_rows(const std::vector<Index>& variables, const std::vector<size_t>& fresh);
  // Another radius at the same b, and so the same Qb: a, h and c / radius shrink alike.
  void set_radius(double radius) {
    const double factor = point_.set_radius(radius, shard_.slack());
    shard_.set_radius(radius);
    shard_.scale_h(factor);
    choose_vertices();
  }
  double largest_slope(const std::vector<double>& error, double of_mean) const {
    double lowest = std::numeric_limits<double>::infinity();
    for (int64_t v = 0; v < size(); ++v) lowest = std::min(lowest, score(v) - error[v]);
    return 2 * (point_.mean_score() + of_mean - lowest);
  }
  bool answers_primal() const {
    return measure_ == Measure::primal && primal_gap() < std::numeric_limits<double>::infinity();
  }
  // Below the score of every variable without slack.
  double highest_level(const std::vector<double>& error) const {
    double highest = std::numeric_limits<double>::infinity();
    for (int64_t v = 0; v < size(); ++v)
      if (!(shard_.ridge(v) > 0)) highest = std::min(highest, score(v) - widened(v, widened(v, error[v])));
    return highest;
  }
  // An error of the score, and of its difference to the level.
  double widened(int64_t v, double error) const {
    constexpr double u = std::numeric_limits<double>::epsilon();
    return error + 2 * u * (std::abs(score(v)) + std::abs(shard_.half_linear(v)) + std::abs(bound_.level));
  }
  // The excess is convex in the score, so largest at an end of its interval.
  double largest_excess(const std::vector<double>& error) const {
    const double level = point_.radius.grows() ? 0.0 : bound_.level;
    double total = 0;
    for (int64_t v = 0; v < size(); ++v) {
      if (point_.radius.grows() && v == shard_.slack()) continue;
      const double off = score(v) - level, wide = widened(v, error[v]);
      if (!(point_[v] > 0) && off > wide) continue;
      total += std::max(excess(off - wide, point_[v], shard_.ridge(v)), excess(off + wide, point_[v], shard_.ridge(v)));
    }
    return total * (1 + double(size()) * std::numeric_limits<double>::epsilon());
  }

  Measure measure_ = Measure::simplex;
  bool scales_ = false;
  // The former two are added to the gaps by a certificate.
  double simplex_rounding_ = 0, primal_rounding_ = 0, value_rounding_ = 0, score_rounding_ = 0;
  bool certified_ = false;
  std::shared_ptr<StopToken> token_;
  Face<V> face_;
};

extern template class State<float>;
extern template class State<double>;

}  // namespace swapsvm
