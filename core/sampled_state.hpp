// The state that knows h on the active set only. The toward vertex is the best of a few random variables ([SWAP14],
// "Adaptations to SVMs") and, if asked for, of the active ones, so a move costs (sample + 2) |active| kernel values
// whatever the number of variables. The gap it shows is that of the sample; certify() makes one full pass and remembers
// the true toward vertex, which the next move then takes.
#pragma once

#include "state.hpp"

namespace swapsvm {

template <class V>
class SampledState final : public State<V> {
  using Base = State<V>;
  using Base::active_, Base::gram_, Base::h_, Base::score, Base::size_, Base::terms_, Base::weights_;

 public:
  SampledState(std::shared_ptr<Gram<V>> gram, std::vector<Segment> segments, Terms terms, int64_t sample,
               bool with_active, uint64_t seed)
      : Base(std::move(gram), std::move(segments), std::move(terms)),
        sample_(sample),
        with_active_(with_active),
        random_(seed * 0x9E3779B97F4A7C15ull + 1) {}

  int64_t samplings() const { return samplings_; }

  Snapshot snapshot() const override {
    Snapshot s = Base::snapshot();
    s.counts.insert(s.counts.end(), {samplings_, int64_t(random_)});
    return s;
  }

  void restore(const Snapshot& s) override {
    Base::restore(s);
    samplings_ = s.counts[6], random_ = uint64_t(s.counts[7]);
  }

  void correct(const Correction& correction, bool) override {
    this->change_weights(correction);
    if (take_solved())
      settle();
    else
      settle_on_active();
    this->keep_room();
    this->watch_correction();
  }

  void set_weights(const std::vector<Index>& variables, const std::vector<double>& values) override {
    this->replace_weights(variables, values);
    this->take_radius();
    this->normalize_weights();
    settle_on_active();  // no full pass: that is certify's
    this->forget_progress();
    this->keep_room();
  }

  // As after a move: a new sample from the same weights.
  void look() {
    draw();
    choose_vertices();
  }

  void certify() override {
    this->normalize_weights();
    this->evaluate(this->all_variables(), true, h_);
    this->forget_certificate();
    this->set_value();
    this->forget_progress();
    candidates_.resize(size_);
    for (int64_t v = 0; v < size_; ++v) candidates_[v] = Index(v);
    unknown_.clear();
    for (int64_t v = 0; v < size_; ++v)
      if (!(weights_[v] > 0)) unknown_.push_back(Index(v));
    choose_vertices();
    candidates_.clear();
    candidates_.shrink_to_fit();
    this->set_rounding(this->rounding_of_h(true));
  }

  void prove() override {
    std::vector<double> error = this->rounding_of_h(true);
    this->evaluate(active_, true, h_);
    this->forget_certificate();
    this->set_value();
    const double largest = this->quadratic_ + this->rounding_of_mean(error);
    for (int64_t v = 0; v < size_; ++v)
      if (!(weights_[v] > 0)) h_[v] = 0, error[v] = this->unknown_h(v, largest);
    choose_vertices();
    this->set_rounding(error);
  }

  double certificate_seconds() const override {
    return double(active_.size()) * double(size_) * gram_->seconds_per_value(true);
  }

 protected:
  double kernel(int64_t i, int64_t j) override {
    const Index other = Index(this->row(j));
    V value;
    gram_->line(this->row(i), {&other, 0, 1}, &value);
    return double(value);
  }

  void kernel_row(int64_t i, const std::vector<Index>& variables, std::vector<double>& out) override {
    rows_.clear();
    for (const Index v : variables) rows_.push_back(Index(this->row(v)));
    line_.resize(rows_.size());
    gram_->line(this->row(i), {rows_.data(), 0, int64_t(rows_.size())}, line_.data());
    out.assign(line_.begin(), line_.end());
  }

  void move_gradient(const Move& m) override {
    for (const Index v : active_) h_[v] *= m.scale;
    if (m.scale == 0.0) h_[m.i] = 0.0;
    if (m.add != 0 && this->sign(m.i) != 0) add_column(m.i, m.add);
    if (m.sub != 0 && this->sign(m.j) != 0) add_column(m.j, -m.sub);
    look();
  }

  void scale_gradient(double factor) override {
    for (double& h : h_) h *= factor;
    choose_vertices();
  }

 private:
  void settle_on_active() {
    this->evaluate(active_, false, h_);
    settle();
  }

  void settle() {
    this->set_value();
    look();
  }

  // Whether the working set was solved to just these weights; then h comes from there.
  bool take_solved() {
    if (!this->working_set_) return false;
    for (const Index v : active_) {
      const Member* member = this->working_set_->find(v, weights_[v]);
      if (!member) return false;
      h_[v] = member->score + member->half_linear;
    }
    return true;
  }

  void add_column(int64_t v, double weight) {
    kernel_row(v, active_, this->kernel_of_active_);
    for (size_t p = 0; p < active_.size(); ++p) {
      const int64_t u = active_[p];
      h_[u] += weight * this->sign(u) * this->sign(v) * (this->kernel_of_active_[p] + terms_.bias);
    }
    h_[v] += weight * this->ridge(v);
  }

  void draw() {
    ++samplings_;
    candidates_.clear();
    if (this->slack_ >= 0) candidates_.push_back(Index(this->slack_));  // where weight can always go
    for (int64_t k = 0; k < sample_; ++k) {
      const Index v = Index(next() % uint64_t(size_));
      if (with_active_ && weights_[v] > 0) continue;  // known to be one
      candidates_.push_back(v);
    }
    unknown_.clear();
    for (const Index v : candidates_)
      if (!(weights_[v] > 0)) unknown_.push_back(v);
    this->evaluate(unknown_, false, h_);
  }

  void choose_vertices() {
    const auto better = [&](int64_t v, int64_t best, double sense) {
      const double difference = sense * (score(v) - score(best));
      return difference > 0 || (difference == 0 && v < best);
    };
    if (active_.empty()) throw std::invalid_argument("a state without weights");
    int64_t low = with_active_ ? active_[0] : candidates_[0], high = active_[0];
    for (const Index v : active_) {
      if (with_active_ && better(v, low, -1)) low = v;
      if (better(v, high, +1)) high = v;
    }
    for (const Index v : candidates_)
      if (better(v, low, -1)) low = v;
    this->toward_ = low;
    this->away_ = high;
    this->toward_score_ = score(low);
    if (!std::isfinite(this->toward_score_)) throw std::invalid_argument("a kernel value is not finite");
    if (terms_.grows) estimate_excess();
  }

  // Exact on the active set; the sample stands for all others.
  void estimate_excess() {
    double known = 0, sampled = 0;
    for (const Index v : active_) known += this->excess_of(v);
    for (const Index v : unknown_) sampled += this->excess_of(v);
    const double others = double(size_ - this->support_size());
    this->excess_ = known + sampled * (unknown_.empty() ? 0.0 : others / double(unknown_.size()));
  }

  uint64_t next() {  // splitmix64
    uint64_t z = (random_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

  std::vector<Index> candidates_, unknown_, rows_;
  std::vector<V> line_;
  int64_t sample_, samplings_ = 0;
  bool with_active_;
  uint64_t random_;
};

}  // namespace swapsvm
