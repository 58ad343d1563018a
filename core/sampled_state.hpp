// The state that knows h on the active set only. The toward vertex is the best of a few random variables ([SWAP14],
// "Adaptations to SVMs") and, if asked for, of the active ones, so a move costs (sample + 2) |active| kernel values
// whatever the number of variables. The gap it shows is that of the sample; certify() makes one full pass and finds
// the true toward vertex, which the next move then takes.
#pragma once

#include "state.hpp"

namespace swapsvm {

// What a sample consists of.
struct Draw {
  int64_t size;
  bool with_active;     // the active variables are candidates too
  bool balanced;        // segments take turns
  bool outside_active;  // only inactive variables are drawn
  uint64_t seed;
};

template <class V>
class SampledState final : public State<V> {
  using Base = State<V>;
  using Base::gram_, Base::improvement_, Base::kernel_of_active_, Base::oracles_, Base::point_, Base::score,
      Base::shard_;

 public:
  SampledState(std::shared_ptr<Gram<V>> gram, std::vector<Segment> segments, Terms terms, Radius radius, Draw draw)
      : Base(std::move(gram), std::move(segments), std::move(terms), radius),
        draw_(draw),
        random_(draw.seed * 0x9E3779B97F4A7C15ull + 1) {
    if (draw.size < 1) throw std::invalid_argument("a sample must have at least one variable");
    for (const Segment& s : shard_.segments())
      if (s.sign != 0 && s.count > 0) classes_.push_back(s);
  }

  void measure(Measure measure, bool scales) override {
    if (measure == Measure::primal) throw std::invalid_argument("a sample does not know primal minus dual");
    Base::measure(measure, scales);
  }

  int64_t samplings() const { return samplings_; }
  const std::vector<Index>& sample() const { return candidates_; }  // the last one; none after a full pass
  Snapshot snapshot() const override {
    Snapshot s = Base::snapshot();
    s.samplings = samplings_, s.random = random_;
    return s;
  }
  void restore(const Snapshot& s) override {
    Base::restore(s);
    samplings_ = s.samplings, random_ = s.random;
  }
  void correct(const Correction& c) override {
    this->check_weights(c.variables, c.weights);
    this->change_weights(c);
    if (!take_solved()) shard_.evaluate(point_.active(), point_, false);
    this->set_value();
    look();
    this->keep_room();
    this->note_correction();
  }

  void set_weights(const std::vector<Index>& variables, const std::vector<double>& values) override {
    this->replace_weights(variables, values);
    point_.normalize();
    shard_.evaluate(point_.active(), point_, false);  // no full pass: that is certify's
    this->set_value();
    look();
    improvement_ = {};
    this->keep_room();
  }

  // As after a move: a new sample from the same weights.
  void look() {
    ++samplings_;
    candidates_.clear();
    if (shard_.slack() >= 0) candidates_.push_back(Index(shard_.slack()));  // where weight can always go
    for (int64_t k = 0; k < draw_.size; ++k) {
      const Index v = drawn(k);
      const bool left_out = draw_.with_active || draw_.outside_active;  // active ones are candidates anyway, or never
      if (!(left_out && point_[v] > 0)) candidates_.push_back(v);
    }
    unknown_.clear();
    for (const Index v : candidates_)
      if (!(point_[v] > 0)) unknown_.push_back(v);
    shard_.evaluate(unknown_, point_, false);
    choose_vertices();
  }

  void certify() override {
    point_.normalize();
    shard_.evaluate(shard_.all_variables(), point_, true);
    this->forget_certificate();
    this->set_value();
    improvement_ = {};
    candidates_ = shard_.all_variables();
    unknown_ = shard_.variables_where([&](int64_t v) { return !(point_[v] > 0); });
    choose_vertices();
    candidates_.clear();
    candidates_.shrink_to_fit();
    this->set_rounding(shard_.rounding(point_, true));
  }

  double certificate_seconds() const override {
    return gram_->product_seconds(double(this->size()), double(this->support_size()), true);
  }

 protected:
  double kernel(int64_t i, int64_t j) override {
    const Index other = Index(shard_.row(j));
    V value;
    gram_->line(shard_.row(i), {&other, 0, 1}, &value);
    return double(value);
  }
  void kernel_row(int64_t i, const std::vector<Index>& variables, std::vector<double>& out) override {
    rows_.clear();
    for (const Index v : variables) rows_.push_back(Index(shard_.row(v)));
    line_.resize(rows_.size());
    gram_->line(shard_.row(i), {rows_.data(), 0, int64_t(rows_.size())}, line_.data());
    out.assign(line_.begin(), line_.end());
  }
  void move_gradient(const Move& m) override {
    for (const Index v : point_.active()) shard_.set_h(v, m.scale * shard_.h()[v]);
    if (m.scale == 0.0) shard_.set_h(m.i, 0.0);
    if (m.add != 0 && shard_.sign(m.i) != 0) add_column(m.i, m.add);
    if (m.sub != 0 && shard_.sign(m.j) != 0) add_column(m.j, -m.sub);
    look();
  }

  void choose_vertices() override {
    const auto better = [&](int64_t v, int64_t best, double sense) {
      const double difference = sense * (score(v) - score(best));
      return difference > 0 || (difference == 0 && v < best);
    };
    if (point_.active().empty()) throw std::invalid_argument("a state without weights has no vertices");
    const bool with_active = draw_.with_active || candidates_.empty();
    int64_t low = with_active ? point_.active()[0] : candidates_[0], high = point_.active()[0];
    for (const Index v : point_.active()) {
      if (with_active && better(v, low, -1)) low = v;
      if (better(v, high, +1)) high = v;
    }
    for (const Index v : candidates_)
      if (better(v, low, -1)) low = v;
    oracles_.toward = low;
    oracles_.away = high;
    oracles_.toward_score = score(low);
    if (!std::isfinite(oracles_.toward_score)) throw std::invalid_argument("a kernel value is not finite");
    if (point_.radius.grows()) estimate_excess();
  }

 private:
  // Whether the working set was solved to just these weights; then h comes from there.
  bool take_solved() {
    if (!this->working_set_) return false;
    for (const Index v : point_.active()) {
      const Member* member = this->working_set_->find(v, point_[v]);
      if (!member) return false;
      shard_.set_h(v, member->score + member->half_linear);
    }
    return true;
  }

  void add_column(int64_t v, double weight) {
    kernel_row(v, point_.active(), kernel_of_active_);
    for (size_t p = 0; p < point_.active().size(); ++p) {
      const int64_t u = point_.active()[p];
      shard_.add_h(u, weight * shard_.sign(u) * shard_.sign(v) * (kernel_of_active_[p] + shard_.bias()));
    }
    shard_.add_h(v, weight * shard_.ridge(v));
  }

  // Exact on the active set; the sample stands for all others.
  void estimate_excess() {
    double known = 0, sampled = 0;
    for (const Index v : point_.active()) known += shard_.excess_of(v, point_);
    for (const Index v : unknown_) sampled += shard_.excess_of(v, point_);
    const double others = double(this->size() - this->support_size());
    oracles_.excess = known + sampled * (unknown_.empty() ? 0.0 : others / double(unknown_.size()));
  }

  // The k-th variable of a sample. Where nearly all variables are active, it can be an active one in any case.
  Index drawn(int64_t k) {
    constexpr int kAttempts = 100;
    Index v = drawn_from(k);
    for (int attempt = 1; draw_.outside_active && point_[v] > 0 && attempt < kAttempts; ++attempt) v = drawn_from(k);
    return v;
  }
  Index drawn_from(int64_t k) {
    if (!draw_.balanced) return Index(next() % uint64_t(this->size()));
    const Segment& s = classes_[size_t(k) % classes_.size()];
    return Index(s.offset + int64_t(next() % uint64_t(s.count)));
  }
  uint64_t next() {  // splitmix64
    uint64_t z = (random_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

  std::vector<Index> candidates_, unknown_, rows_;
  std::vector<V> line_;
  std::vector<Segment> classes_;
  Draw draw_;
  int64_t samplings_ = 0;
  uint64_t random_;
};

extern template class SampledState<float>;
extern template class SampledState<double>;

}  // namespace swapsvm
