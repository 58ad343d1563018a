// The state that keeps h for every variable: one or two kernel columns a move, and exact oracles over all of them.
#pragma once

#include "state.hpp"

namespace swapsvm {

template <class V>
class FullState final : public State<V> {
  using Base = State<V>;
  using Base::active_, Base::gram_, Base::groups_, Base::h_, Base::segments_, Base::size_, Base::terms_, Base::weights_;
  using Base::score;

 public:
  FullState(std::shared_ptr<Gram<V>> gram, std::vector<Segment> segments, Terms terms)
      : Base(std::move(gram), std::move(segments), std::move(terms)) {
    for (size_t s = 0; s < segments_.size(); ++s)
      for (int64_t begin = 0; begin < segments_[s].count; begin += kChunk)
        chunks_.push_back({s, begin, std::min(kChunk, segments_[s].count - begin)});
    extremes_.resize(chunks_.size());
    excesses_.resize(chunks_.size());
  }

  const std::vector<double>& gradient_half() const { return h_; }

  Snapshot snapshot() const override {
    Snapshot s = Base::snapshot();
    s.kept = kept_;
    s.counts.insert(s.counts.end(), {sampled_, fresh_});
    return s;
  }

  void restore(const Snapshot& s) override {
    Base::restore(s);
    kept_ = s.kept;
    sampled_ = s.counts[6] != 0, fresh_ = s.counts[7] != 0;
    scan_all();
  }

  void set_weights(const std::vector<Index>& variables, const std::vector<double>& values) override {
    fresh_ = false;
    Base::set_weights(variables, values);
  }

  // Another ridge at the same weights. h follows without a kernel value, and the working set keeps those that it has: a
  // path along C pays for newcomers only.
  void set_ridge(std::vector<double> ridge) {
    terms_.ridge.swap(ridge);
    for (const Index v : active_) h_[v] += (this->ridge(v) - ridge[ridge.size() == 1 ? 0 : size_t(v)]) * weights_[v];
    fresh_ = false;  // what a large ridge had rounded off stays lost
    this->forget_certificate();
    this->set_value();
    this->forget_progress();
    scan_all();
  }

  // The state is as it was before if the computation is stopped or a user's function fails.
  void correct(const Correction& correction, bool fused) override {
    const auto changes = this->changes_of(correction);
    if (fused)
      sweep(changes, correction.scale);
    else
      add_columns(changes, correction.scale);
    fresh_ = fused && correction.scale == 0;
    this->change_weights(correction);
    this->set_value();
    scan_all();
    this->keep_room();
    this->watch_correction();
  }

  // The inactive variables that a toward step would raise the value with, steepest first, at most `count`.
  std::vector<Index> violators(int64_t count) const {
    std::vector<Index> found;
    const double mean = this->mean_score();
    for (int64_t v = 0; v < size_; ++v)
      if (!(weights_[v] > 0) && score(v) < mean) found.push_back(Index(v));
    const auto lower = [&](Index a, Index b) { return std::make_pair(score(a), a) < std::make_pair(score(b), b); };
    if (int64_t(found.size()) > count) {
      std::nth_element(found.begin(), found.begin() + count, found.end(), lower);
      found.resize(size_t(count));
    }
    return found;
  }

  // Leaves out, until the next certificate, inactive variables above every active one: they would be the last to enter.
  void shrink() {
    const double highest = score(this->away_);
    for (int64_t v = 0; v < size_; ++v)
      if (!(weights_[v] > 0) && score(v) > highest) h_[v] = std::numeric_limits<double>::infinity();
  }

  // Leaves out, until the next certificate, inactive variables that are not listed. Those listed take part again from
  // the next correction that sums h afresh.
  void watch(const std::vector<Index>& variables) {
    std::vector<char> listed(size_t(size_), 0);
    for (const Index v : variables) listed[size_t(v)] = 1;
    sampled_ = std::find(listed.begin(), listed.end(), 0) != listed.end();
    for (int64_t v = 0; v < size_; ++v) {
      if (!listed[size_t(v)] && !(weights_[v] > 0)) h_[v] = std::numeric_limits<double>::infinity();
      if (listed[size_t(v)] && !(h_[v] < std::numeric_limits<double>::infinity())) h_[v] = 0, fresh_ = false;
    }
  }

  // Sums h of every variable afresh, kernel values in V: no variable is left out any more.
  void refresh() {
    this->evaluate(this->all_variables(), false, h_);
    begin_afresh();
  }

  // At most `size` variables for a working set that cannot hold the whole support: lowest scores of all, highest of the
  // active ones, and those that the last such set had taken in, so that two sets do not undo each other's work.
  std::vector<Index> extreme(int64_t size) {
    return choose_block(
        size_, [this](int64_t v) { return score(v); }, [this](int64_t v) { return weights_[v] > 0; }, size,
        with_slack(kept_, this->slack_));
  }

  void certify() override {
    const double total = this->normalize_weights();
    if (fresh_)
      for (double& h : h_) h /= total;
    try {
      certify_h();
    } catch (...) {  // what was computed so far is h of the same weights
      this->forget_certificate();
      this->set_value();
      scan_all();
      throw;
    }
  }

  void prove() override {
    std::vector<double> error = this->rounding_of_h(!fresh_);
    if (!fresh_) this->evaluate(active_, true, h_);
    this->set_value();
    const double largest = this->quadratic_ + this->rounding_of_mean(error);
    for (int64_t v = 0; v < size_; ++v)
      if (!(weights_[v] > 0) && (!fresh_ || !(h_[v] < std::numeric_limits<double>::infinity())))
        h_[v] = 0, error[v] = this->unknown_h(v, largest);
    fresh_ = false;
    scan_all();
    this->set_rounding(error);
  }

  double certificate_seconds() const override {
    const double support = double(active_.size()), others = double(fresh_ ? left_out().size() : size_t(size_));
    return support * (others * gram_->seconds_per_value(false) + 2 * support * gram_->seconds_per_value(true));
  }

 protected:
  double kernel(int64_t i, int64_t j) override {
    const auto& lines = gram_->column(this->row(i), groups_, 0);
    const Segment& s = this->segment(j);
    return double(lines[s.line][j - s.offset]);
  }

  void kernel_row(int64_t i, const std::vector<Index>& variables, std::vector<double>& out) override {
    const auto& lines = gram_->column(this->row(i), groups_, 0);
    out.resize(variables.size());
    for (size_t p = 0; p < variables.size(); ++p) {
      const Segment& s = this->segment(variables[p]);
      out[p] = double(lines[s.line][variables[p] - s.offset]);
    }
  }

  void move_gradient(const Move& m) override {
    fresh_ = false;
    for_each_chunk(m, [this](size_t c) { scan(c); });
    settle();
  }

  void scale_gradient(double factor) override {
    for (double& h : h_) h *= factor;
    scan_all();
  }

 private:
  static constexpr int64_t kChunk = 2048;  // 16 kB of h: updated and scanned while in the first-level cache

  struct Chunk {
    size_t segment;
    int64_t begin, count;
  };

  // h <- scale h + add Q_:i - sub Q_:j, then visit(chunk), chunk by chunk.
  template <class Visit>
  void for_each_chunk(const Move& m, Visit visit) {
    const bool has_i = m.add != 0 && this->sign(m.i) != 0, has_j = m.sub != 0 && this->sign(m.j) != 0;
    if (!has_i && !has_j) return scale_chunks(m.scale, visit);
    const auto& lines_i = gram_->column(this->row(has_i ? m.i : m.j), groups_, 0);
    const auto& lines_j = has_j && has_i ? gram_->column(this->row(m.j), groups_, 1) : lines_i;
    const double add = has_i ? m.add * this->sign(m.i) : 0.0, sub = has_j ? m.sub * this->sign(m.j) : 0.0;
    parallel_chunks(int64_t(chunks_.size()), 1, team(), [&](int64_t index, int64_t) {
      const Chunk& c = chunks_[index];
      const Segment& s = segments_[c.segment];
      const ColumnUpdate<V> update{
          m.scale, add * s.sign, sub * s.sign, terms_.bias, lines_i[s.line] + c.begin, lines_j[s.line] + c.begin};
      const int64_t first = s.offset + c.begin;
      hot_updates<V>().update(update, h_.data() + first, c.count);
      if (has_i && m.i >= first && m.i < first + c.count) h_[m.i] += m.add * this->ridge(m.i);
      if (has_j && m.j >= first && m.j < first + c.count) h_[m.j] -= m.sub * this->ridge(m.j);
      visit(size_t(index));
    });
  }

  // The slack alone has got weight.
  template <class Visit>
  void scale_chunks(double scale, Visit visit) {
    for (double& h : h_) h *= scale;
    for (size_t c = 0; c < chunks_.size(); ++c) visit(c);
  }

  // The gap needs h in double where it can be lowest (or, if b >= 0 is all that is asked, where a toward step would
  // ascend), and on the support for the mean. Of any other variable it is enough to know that h, as computed in V,
  // stays above that by more than its rounding.
  void certify_h() {
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> error = this->rounding_of_h(false), exact_error = this->rounding_of_h(true);
    if (!(error[0] < infinity) || (sizeof(V) == sizeof(double) && !fresh_)) {
      this->evaluate(this->all_variables(), true, h_);
      return begin_afresh(exact_error);
    }
    this->evaluate(fresh_ ? left_out() : this->all_variables(), false, h_);
    fresh_ = true;
    this->evaluate(active_, true, h_);
    double lowest = infinity;
    for (int64_t v = 0; v < size_; ++v) lowest = std::min(lowest, score(v) + (weights_[v] > 0 ? 0.0 : error[v]));
    if (terms_.grows) lowest = std::max(lowest, 0.0);
    std::vector<Index> near;
    for (int64_t v = 0; v < size_; ++v)
      if (!(weights_[v] > 0) && (!(score(v) - error[v] > lowest) || !std::isfinite(score(v)))) near.push_back(Index(v));
    this->evaluate(near, true, h_);
    for (const auto* exact : {&active_, &near})
      for (const Index v : *exact) error[v] = exact_error[v];
    begin_afresh(error);
  }

  // h <- scale h + Q_:W d in one pass over the kernel values of the changed variables W; none is stored.
  void sweep(const std::vector<std::pair<Index, double>>& changes, double scale) {
    typename Base::Expansion e;
    for (const auto& [v, change] : changes) e.add(Index(this->row(v)), change * this->sign(v));
    if (this->shares_rows()) e = e.merged();
    if (gram_->memory_pays() && !sampled_)
      add_kept(e, scale);
    else
      add_products(e, scale);
    for (const auto& [v, change] : changes) h_[v] += change * this->ridge(v);
  }

  void add_products(const typename Base::Expansion& e, double scale) {
    std::vector<Index> live;
    live.reserve(size_t(size_));
    for (int64_t v = 0; v < size_; ++v)
      if (h_[v] < std::numeric_limits<double>::infinity()) live.push_back(Index(v));
    const std::vector<double> sums = this->products(live, e, false);
    for (size_t k = 0; k < live.size(); ++k) h_[live[k]] = scale * h_[live[k]] + sums[k];
  }

  // The same from kept lines, which serve every row.
  void add_kept(const typename Base::Expansion& changes, double scale) {
    const typename Base::Expansion e = changes.merged();
    std::vector<std::vector<double>> products;  // of each line, all before any h changes
    for (const int g : groups_) {
      products.emplace_back(size_t(gram_->group(g).count), 0.0);
      gram_->kept_product(g, {e.rows.data(), 0, int64_t(e.rows.size())}, e.coef.data(), products.back().data());
    }
    for (const Segment& s : segments_)
      for (int64_t k = 0; k < s.count; ++k) {
        double& h = h_[s.offset + k];
        if (h < std::numeric_limits<double>::infinity()) h *= scale;
        h += s.sign * (s.sign == 0 ? 0.0 : products[s.line][k] + terms_.bias * e.total());
      }
  }

  void begin_afresh() {
    fresh_ = true;
    sampled_ = false;
    this->forget_certificate();
    this->set_value();
    this->forget_progress();
    scan_all();
    this->keep_room();
  }

  // The end of a certificate. Room may be made by another radius, which scales h and its errors alike.
  void begin_afresh(std::vector<double> error) {
    const double before = this->radius();
    begin_afresh();
    for (double& e : error) e *= before / this->radius();
    this->set_rounding(error);
  }

  std::vector<Index> left_out() const {
    std::vector<Index> out;
    for (int64_t v = 0; v < size_; ++v)
      if (!(h_[v] < std::numeric_limits<double>::infinity())) out.push_back(Index(v));
    return out;
  }

  // The same by cached columns, two at a time.
  void add_columns(const std::vector<std::pair<Index, double>>& changes, double scale) {
    std::vector<double> before = h_;
    try {
      for (size_t k = 0; k < changes.size(); k += 2) {
        const auto [i, add] = changes[k];
        const auto [j, minus_sub] = k + 1 < changes.size() ? changes[k + 1] : std::pair<Index, double>{-1, 0.0};
        const Move m{Kind::corrective, k == 0 ? scale : 1.0, i, add, j, -minus_sub, false};
        for_each_chunk(m, [](size_t) {});
      }
    } catch (...) {
      h_ = std::move(before);
      throw;
    }
  }

  void scan(size_t index) {
    const Chunk& c = chunks_[index];
    const int64_t first = segments_[c.segment].offset + c.begin;
    const double* linear = terms_.half_linear.empty() ? nullptr : terms_.half_linear.data() + first;
    extremes_[index] = hot_scan().scan(h_.data() + first, linear, weights_.data() + first, c.count);
    if (!terms_.grows) return;
    excesses_[index] = 0;
    for (int64_t v = first; v < first + c.count; ++v) excesses_[index] += this->excess_of(v);
  }

  void scan_all() {
    parallel_chunks(int64_t(chunks_.size()), 1, team(), [&](int64_t c, int64_t) { scan(size_t(c)); });
    settle();
  }

  // The vertices behind the extremes; ties go to the lowest index, whatever the number of threads.
  void settle() {
    size_t low = 0, high = 0;
    for (size_t c = 1; c < chunks_.size(); ++c) {
      if (extremes_[c].lowest < extremes_[low].lowest) low = c;
      if (extremes_[c].highest_active > extremes_[high].highest_active) high = c;
    }
    this->toward_score_ = extremes_[low].lowest;
    this->excess_ = std::accumulate(excesses_.begin(), excesses_.end(), 0.0);
    this->toward_ = place(low, [&](int64_t v) { return score(v) == extremes_[low].lowest; });
    this->away_ = place(high, [&](int64_t v) { return weights_[v] > 0 && score(v) == extremes_[high].highest_active; });
  }

  template <class Match>
  int64_t place(size_t c, Match match) const {
    const int64_t first = segments_[chunks_[c].segment].offset + chunks_[c].begin;
    for (int64_t v = first; v < first + chunks_[c].count; ++v)
      if (match(v)) return v;
    throw std::invalid_argument("a kernel value is not finite");
  }

  Team team() const { return {size_ < 32768 ? 1 : gram_->threads()}; }  // as in Gram::team_for

  std::vector<Index> kept_;
  bool sampled_ = false;  // whether only some of the variables are watched
  bool fresh_ = false;    // whether h was summed afresh, not in increments
  std::vector<Chunk> chunks_;
  std::vector<Extremes> extremes_;
  std::vector<double> excesses_;
};

}  // namespace swapsvm
