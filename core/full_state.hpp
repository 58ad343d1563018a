// The state that keeps h for every variable: one or two kernel columns a move, and exact oracles over all of them.
#pragma once

#include "state.hpp"

namespace swapsvm {

template <class V>
class WholeMatrix;

template <class V>
class FullState final : public State<V> {
  using Base = State<V>;
  using Base::added_rounding_, Base::bound_, Base::fresh_, Base::gram_, Base::improvement_, Base::oracles_,
      Base::point_, Base::score, Base::shard_;

 public:
  using Base::Base;

  Snapshot snapshot() const override {
    Snapshot s = Base::snapshot();
    s.kept = kept_, s.fresh = s.fresh && !(added_rounding_ > 0);  // which it has no place for
    return s;
  }
  void restore(const Snapshot& s) override {
    Base::restore(s);
    kept_ = s.kept, exact_ = false, added_rounding_ = 0;
    choose_vertices();
  }

  // One of each segment: where a problem that is solved as a whole starts.
  std::vector<Index> first_variables() const { return shard_.first_variables(); }

  // Another ridge at the same weights. h follows without a kernel value, and the working set keeps those that it has: a
  // path along C pays for newcomers only.
  void set_ridge(std::vector<double> ridge) {
    if (this->support_size() == 0) throw std::invalid_argument("set_ridge requires weights");
    shard_.set_ridge(std::move(ridge), point_);
    fresh_ = false;  // digits that a large ridge rounded off stay lost
    this->forget_certificate();
    this->set_value();
    improvement_ = {};
    choose_vertices();
  }

  // The state is as it was before if the computation is stopped or a user's function fails.
  void correct(const Correction& c) override {
    this->check_weights(c.variables, c.weights);
    if (c.afresh)
      shard_.sweep(point_.weights_after(c), c.scale, true);
    else if (c.fused)
      shard_.sweep(point_.changes_of(c), c.scale, false);
    else
      shard_.add_columns(point_.changes_of(c), c.scale);
    this->change_weights(c);
    fresh_ = c.afresh, exact_ = false, added_rounding_ = 0;
    this->set_value();
    choose_vertices();
    this->keep_room();
    this->note_correction();
  }

  // Inactive variables that a toward step would raise the value with: the steepest ones, at most `count`.
  std::vector<Index> violators(int64_t count) const { return shard_.violators(point_.mean_score(), count, point_); }

  // Leaves out, until the next certificate, inactive variables above every active one: they would be the last to enter.
  void shrink() { shard_.shrink(score(this->away()), point_); }

  // Leaves out, until the next certificate, inactive variables that are not listed. Those listed take part again from
  // the next correction that sums h afresh.
  void restrict_to(const std::vector<Index>& variables) {
    this->check_variables(variables);
    if (shard_.restrict_to(variables, point_)) fresh_ = false;
  }

  // Sums h of every variable afresh, kernel values in V: no variable is left out any more.
  void refresh() {
    shard_.evaluate(shard_.all_variables(), point_, false);
    begin_afresh();
  }

  // s_v (K + bias) a of all variables, without the ridge, at the point of the state and at other weights.
  std::vector<double> products() const {
    std::vector<double> found(shard_.h());
    for (const Index v : point_.active()) found[size_t(v)] -= shard_.ridge(v) * point_[v];
    return found;
  }
  // `exact`: kernel values in double for the variables that have weight, as a certificate needs them.
  std::vector<double> product(const std::vector<double>& weights, bool exact) {
    if (int64_t(weights.size()) != this->size()) throw std::invalid_argument("one weight per variable is needed");
    Changes all;
    std::vector<Index> weighted, others;
    for (int64_t v = 0; v < this->size(); ++v) {
      if (weights[size_t(v)] != 0) all.push_back({Index(v), weights[size_t(v)]});
      (weights[size_t(v)] != 0 ? weighted : others).push_back(Index(v));
    }
    const Combination z = shard_.combination(all);
    if (!exact) return shard_.product(shard_.all_variables(), z.vectors(), false);
    std::vector<double> found(weights.size());
    for (const auto* some : {&others, &weighted}) {
      const std::vector<double> sums = shard_.product(*some, z.vectors(), some == &weighted);
      for (size_t k = 0; k < sums.size(); ++k) found[size_t((*some)[k])] = sums[k];
    }
    return found;
  }
  // Goes to weights whose products are known: no kernel value is computed. `afresh`: the products are multiples of sums
  // that product() has made, so that a certificate needs no new ones, or, if these were `exact`, none of the support
  // either. Multiplying rounds in double, which the bounds on sums have room for.
  void place(const std::vector<double>& weights, const std::vector<double>& products, bool afresh = false,
             bool exact = false) {
    if (products.size() != weights.size() || int64_t(weights.size()) != this->size())
      throw std::invalid_argument("one weight and one product per variable are needed");
    const std::vector<Index> all = shard_.all_variables();
    this->replace_weights(all, weights);
    const double total = point_.normalize();
    shard_.include_all();
    for (const Index v : all) shard_.set_h(v, products[size_t(v)] / total + shard_.ridge(v) * point_[v]);
    fresh_ = (afresh || exact) && sizeof(V) < sizeof(double), exact_ = exact, added_rounding_ = 0;
    this->set_value();
    choose_vertices();
    this->keep_room();
    this->note_correction();
  }

  // The same for products that are sums over these weights of kernel values in V, each made once. `rounding` is what
  // they are off by beyond the rounding of fused products, if it is finite: then a certificate needs no sums in V.
  void place_sums(const std::vector<double>& weights, const std::vector<double>& products, double rounding) {
    place(weights, products);
    if (!std::isfinite(rounding) || gram_->linear_rows()) return;  // whose bounds are those of products through w
    fresh_ = true, added_rounding_ = rounding;
    exact_ = sizeof(V) == sizeof(double);
  }

  // The problem with all of its kernel values in memory, at the present point. There must be no slack vertex.
  std::unique_ptr<WholeMatrix<V>> whole_matrix() const;
  // Solves a problem of few variables to the limit of double precision and certifies it, if it is that of an SVM and
  // not too ill-conditioned; otherwise the state stays as it is. The gap never grows.
  bool polish();

  // At most `size` variables for a working set that cannot hold the whole support: lowest scores of all, highest of the
  // active ones, and those that the last such set had taken in, so that two sets do not undo each other's work.
  std::vector<Index> extreme(int64_t size) {
    return choose_block(
        this->size(), [this](int64_t v) { return score(v); }, [this](int64_t v) { return point_[v] > 0; }, size,
        with_slack(kept_, shard_.slack()));
  }

  void certify() override {
    const double total = point_.normalize();
    if (fresh_) shard_.divide_h(total);
    try {
      certify_h();
    } catch (...) {  // what was computed so far is h of the same weights
      this->forget_certificate();
      this->set_value();
      choose_vertices();
      throw;
    }
  }
  double certificate_seconds() const override {
    const double support = double(this->support_size()),
                 others = fresh_ ? double(shard_.unknown().size()) : double(this->size()) - support;
    const double exactly = fresh_ && exact_ ? 0 : 2 * gram_->product_seconds(support, support, true);
    return gram_->product_seconds(others, support, false) + exactly;
  }

 protected:
  double kernel(int64_t i, int64_t j) override {
    const auto& lines = gram_->column(shard_.row(i), shard_.groups(), 0);
    const Segment& s = shard_.segment(j);
    return double(lines[s.line][j - s.offset]);
  }
  void kernel_row(int64_t i, const std::vector<Index>& variables, std::vector<double>& out) override {
    const auto& lines = gram_->column(shard_.row(i), shard_.groups(), 0);
    out.resize(variables.size());
    for (size_t p = 0; p < variables.size(); ++p) {
      const Segment& s = shard_.segment(variables[p]);
      out[p] = double(lines[s.line][variables[p] - s.offset]);
    }
  }
  void move_gradient(const Move& m) override { oracles_ = shard_.follow(m, point_); }
  void choose_vertices() override {
    oracles_ = shard_.summary(point_);
    if (this->is_measured_by(Measure::primal)) this->set_bound();
  }

 private:
  // The gap needs h in double on the support for the mean, and where it can be lowest (or, if b >= 0 is all that is
  // required, where a toward step would ascend; for primal minus dual, where it is close to the level). Of any other
  // variable it is enough to know h as computed in V and its rounding.
  void certify_h() {
    std::vector<double> exact_error = shard_.rounding(point_, true);
    if (gram_->linear_rows()) {  // whose products are in double in any case
      shard_.evaluate(shard_.all_variables(), point_, true);
      return begin_afresh(exact_error);
    }
    const double added = fresh_ ? added_rounding_ : 0.0;
    if (added > 0 && exact_) {  // h of all variables is in double
      for (double& e : exact_error) e += added;
      begin_afresh(exact_error);
      return void(added_rounding_ = added);
    }
    std::vector<double> error;
    if (sizeof(V) < sizeof(double) || fresh_) error = shard_.rounding(point_, false);
    for (double& e : error) e += added;
    if (error.empty() || !(error[0] < std::numeric_limits<double>::infinity())) {
      shard_.evaluate(shard_.all_variables(), point_, true);
      return begin_afresh(exact_error);
    }
    shard_.evaluate(fresh_ ? shard_.unknown() : inactive(), point_, false);
    if (!fresh_ || !exact_) shard_.evaluate(point_.active(), point_, true);
    shard_.include_all();
    fresh_ = true;
    const bool by_level = this->is_measured_by(Measure::primal) && !point_.radius.grows();
    const std::vector<Index> near = by_level ? near_level(error) : near_lowest(error);
    shard_.evaluate(near, point_, true);
    for (const auto* exact : {&point_.active(), &near})
      for (const Index v : *exact) error[v] = exact_error[v];
    begin_afresh(error);
    added_rounding_ = added;
  }
  std::vector<Index> inactive() const {
    return shard_.variables_where([this](int64_t v) { return !(point_[v] > 0); });
  }
  // The inactive variables that can have the lowest score, if every score is within its error.
  std::vector<Index> near_lowest(const std::vector<double>& error) const {
    double lowest = std::numeric_limits<double>::infinity();
    for (int64_t v = 0; v < this->size(); ++v) lowest = std::min(lowest, score(v) + (point_[v] > 0 ? 0.0 : error[v]));
    if (point_.radius.grows()) lowest = std::max(lowest, 0.0);
    return shard_.variables_where(
        [&](int64_t v) { return !(point_[v] > 0) && (!(score(v) - error[v] > lowest) || !std::isfinite(score(v))); });
  }
  // The inactive variables whose part of primal minus dual would be rounding: far below the level their rounding is a
  // thousandth of what they add, above it they add nothing. Those without slack must be above the level.
  std::vector<Index> near_level(const std::vector<double>& error) {
    this->set_value();
    choose_vertices();
    double lowest = std::numeric_limits<double>::infinity();
    for (int64_t v = 0; v < this->size(); ++v)
      if (!(shard_.ridge(v) > 0)) lowest = std::min(lowest, score(v) + (point_[v] > 0 ? 0.0 : error[v]));
    return shard_.variables_where([&](int64_t v) {
      if (point_[v] > 0) return false;
      const double below = (shard_.ridge(v) > 0 ? bound_.level : lowest) - score(v);
      return !(-below > error[v]) && !(shard_.ridge(v) > 0 && below > 1000 * error[v]);
    });
  }
  void begin_afresh() {
    fresh_ = true, exact_ = false, added_rounding_ = 0;
    shard_.include_all();
    this->forget_certificate();
    this->set_value();
    improvement_ = {};
    choose_vertices();
    this->keep_room();
  }

  // The end of a certificate. Room may be made by another radius, which scales h and its errors alike.
  void begin_afresh(std::vector<double> error) {
    const double before = this->radius();
    begin_afresh();
    for (double& e : error) e *= before / this->radius();
    this->set_rounding(error);
  }

  void place_exactly(const std::vector<double>& weights, const double* q);

  std::vector<Index> kept_;
  bool exact_ = false;  // while h is fresh: whether that of the active variables was summed in double
};

extern template class FullState<float>;
extern template class FullState<double>;

}  // namespace swapsvm
