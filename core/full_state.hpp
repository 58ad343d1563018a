// The state that keeps h for every variable: one or two kernel columns a move, and exact oracles over all of them.
#pragma once

#include "block.hpp"
#include "state.hpp"

namespace swapsvm {

template <class V>
class FullState final : public State<V> {
  using Base = State<V>;
  using Base::active_, Base::gram_, Base::groups_, Base::segments_, Base::size_, Base::terms_, Base::weights_;

 public:
  FullState(std::shared_ptr<Gram<V>> gram, std::vector<Segment> segments, Terms terms)
      : Base(std::move(gram), std::move(segments), std::move(terms)), h_(size_, 0.0) {
    for (size_t s = 0; s < segments_.size(); ++s)
      for (int64_t begin = 0; begin < segments_[s].count; begin += kChunk)
        chunks_.push_back({s, begin, std::min(kChunk, segments_[s].count - begin)});
    extremes_.resize(chunks_.size());
  }

  double score(int64_t v) const override { return h_[v] - this->half_linear(v); }
  const std::vector<double>& gradient_half() const { return h_; }

  void correct(const Correction& correction, bool fused) override {
    const auto changes = this->change_weights(correction);
    if (fused)
      sweep(changes, correction.scale);
    else
      add_columns(changes, correction.scale);
    this->set_value();
    scan_all();
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

  // Vertices for the next block: the lowest scores of all, the highest of the active ones, and `kept`.
  std::vector<Index> choose_block(int64_t size, const std::vector<Index>& kept) const {
    std::vector<Index> block = kept;
    std::vector<char> taken(size_t(size_), 0);
    for (const Index v : kept) taken[v] = 1;
    const auto take = [&](std::vector<Index>& candidates, int64_t count, auto before) {
      count = std::min<int64_t>(count, int64_t(candidates.size()));
      std::nth_element(candidates.begin(), candidates.begin() + count, candidates.end(), before);
      for (int64_t k = 0; k < count; ++k) {
        if (taken[candidates[k]]) continue;
        taken[candidates[k]] = 1;
        block.push_back(candidates[k]);
      }
    };
    const double highest = score(this->away_), lowest = score(this->toward_);
    std::vector<Index> low, high;
    for (int64_t v = 0; v < size_; ++v)
      if (!taken[v] && score(v) < highest) low.push_back(Index(v));
    for (const Index v : active_)
      if (!taken[v] && score(v) > lowest) high.push_back(v);
    const int64_t wanted = std::max<int64_t>(size - int64_t(kept.size()), 2);
    take(low, wanted / 2, [&](Index a, Index b) { return std::make_pair(score(a), a) < std::make_pair(score(b), b); });
    take(high, size - int64_t(block.size()),
         [&](Index a, Index b) { return std::make_pair(-score(a), a) < std::make_pair(-score(b), b); });
    return block;
  }

  // SWAP-2o inside the next block. `kept` is replaced by what the block after it should keep.
  Correction plan_block(int64_t size, double accuracy, std::vector<Index>& kept) {
    const std::vector<Index> block = choose_block(size, kept);
    InnerProblem<V> inner = inner_problem(block);
    inner.run(accuracy, 20 * int64_t(block.size()));
    kept.assign(block.begin() + int64_t(kept.size()), block.end());
    if (int64_t(kept.size()) > size / 2) kept.resize(size_t(size / 2));
    return {block, inner.weights, inner.scale};
  }

  void certify() override {
    this->normalize_weights();
    this->exact_gradient(h_);
    this->set_value();
    this->forget_progress();
    scan_all();
  }

 protected:
  double kernel(int64_t i, int64_t j) override {
    const auto& lines = gram_->column(this->row(i), groups_, 0);
    const Segment& s = this->segment(j);
    return double(lines[&s - segments_.data()][j - s.offset]);
  }

  void kernel_row(int64_t i, const std::vector<Index>& variables, std::vector<double>& out) override {
    const auto& lines = gram_->column(this->row(i), groups_, 0);
    out.resize(variables.size());
    for (size_t p = 0; p < variables.size(); ++p) {
      const Segment& s = this->segment(variables[p]);
      out[p] = double(lines[&s - segments_.data()][variables[p] - s.offset]);
    }
  }

  void move_gradient(const Move& m) override {
    for_each_chunk(m, [this](size_t c) { extremes_[c] = scan(chunks_[c]); });
    settle();
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
    const bool has_i = m.add != 0, has_j = m.sub != 0;
    const auto& lines_i = gram_->column(this->row(has_i ? m.i : m.j), groups_, 0);
    const auto& lines_j = has_j && has_i ? gram_->column(this->row(m.j), groups_, 1) : lines_i;
    const double add = has_i ? m.add * this->sign(m.i) : 0.0, sub = has_j ? m.sub * this->sign(m.j) : 0.0;
    parallel_chunks(int64_t(chunks_.size()), 1, threads(), [&](int64_t index, int64_t) {
      const Chunk& c = chunks_[index];
      const Segment& s = segments_[c.segment];
      const ColumnUpdate<V> update{
          m.scale, add * s.sign, sub * s.sign, terms_.bias, lines_i[c.segment] + c.begin, lines_j[c.segment] + c.begin};
      const int64_t first = s.offset + c.begin;
      hot_updates<V>().update(update, h_.data() + first, c.count);
      if (has_i && m.i >= first && m.i < first + c.count) h_[m.i] += m.add * this->ridge(m.i);
      if (has_j && m.j >= first && m.j < first + c.count) h_[m.j] -= m.sub * this->ridge(m.j);
      visit(size_t(index));
    });
  }

  InnerProblem<V> inner_problem(const std::vector<Index>& block) {
    const size_t n = block.size();
    InnerProblem<V> inner;
    inner.q.resize(n * n);
    std::vector<Index> rows(n);
    for (size_t k = 0; k < n; ++k) rows[k] = Index(this->row(block[k]));
    const Selection selection{rows.data(), 0, int64_t(n)};
    gram_->block(selection, selection, inner.q.data());
    std::vector<double> signs(n);
    for (size_t k = 0; k < n; ++k) {
      const Index v = block[k];
      signs[k] = this->sign(v);
      inner.diagonal.push_back(this->diagonal(v));
      inner.weights.push_back(weights_[v]);
      inner.score.push_back(score(v));
      inner.half_linear.push_back(this->half_linear(v));
    }
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        inner.q[i * n + j] = V(signs[i] * signs[j] * (double(inner.q[i * n + j]) + terms_.bias));
    inner.quadratic = this->quadratic_;
    inner.half_linear_value = this->half_linear_value_;
    return inner;
  }

  // h <- scale h + Q_:W d in one pass over the kernel values of the changed variables W; none is stored.
  void sweep(const std::vector<std::pair<Index, double>>& changes, double scale) {
    std::vector<Index> columns;
    std::vector<double> coef;
    double total = 0;
    for (const auto& [v, change] : changes) {
      columns.push_back(Index(this->row(v)));
      coef.push_back(change * this->sign(v));
      total += coef.back();
    }
    std::vector<Index> live, rows;
    std::vector<double> product;
    for (const Segment& s : segments_) {
      live.clear(), rows.clear();
      const Selection group = gram_->group(s.group);
      for (int64_t k = 0; k < s.count; ++k)
        if (h_[s.offset + k] < std::numeric_limits<double>::infinity()) {
          live.push_back(Index(k));
          rows.push_back(Index(group[k]));
        }
      product.resize(live.size());
      const bool all = int64_t(live.size()) == s.count;
      gram_->product(all ? group : Selection{rows.data(), 0, int64_t(rows.size())},
                     {columns.data(), 0, int64_t(columns.size())}, coef.data(), product.data());
      for (size_t k = 0; k < live.size(); ++k) {
        double& h = h_[s.offset + live[k]];
        h = scale * h + s.sign * (product[k] + terms_.bias * total);
      }
    }
    for (const auto& [v, change] : changes) h_[v] += change * this->ridge(v);
  }

  // The same by cached columns, two at a time.
  void add_columns(const std::vector<std::pair<Index, double>>& changes, double scale) {
    for (size_t k = 0; k < changes.size(); k += 2) {
      const auto [i, add] = changes[k];
      const auto [j, minus_sub] = k + 1 < changes.size() ? changes[k + 1] : std::pair<Index, double>{-1, 0.0};
      const Move m{Kind::corrective, k == 0 ? scale : 1.0, i, add, j, -minus_sub, false};
      for_each_chunk(m, [](size_t) {});
    }
  }

  Extremes scan(const Chunk& c) const {
    const int64_t first = segments_[c.segment].offset + c.begin;
    const double* linear = terms_.half_linear.empty() ? nullptr : terms_.half_linear.data() + first;
    return hot_scan().scan(h_.data() + first, linear, weights_.data() + first, c.count);
  }

  void scan_all() {
    parallel_chunks(int64_t(chunks_.size()), 1, threads(),
                    [&](int64_t c, int64_t) { extremes_[c] = scan(chunks_[c]); });
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

  int threads() const { return size_ < 32768 ? 1 : gram_->threads(); }  // as in Gram::threads_for

  std::vector<double> h_;
  std::vector<Chunk> chunks_;
  std::vector<Extremes> extremes_;
};

}  // namespace swapsvm
