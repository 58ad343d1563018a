// The state that keeps h for every variable: one or two kernel columns a move, and exact oracles over all of them.
#pragma once

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

  void correct(const std::vector<Index>& variables, const std::vector<double>& values) override {
    const std::vector<std::pair<Index, double>> changes = weight_changes(variables, values);
    for (size_t k = 0; k < changes.size(); k += 2) {
      const auto [i, add] = changes[k];
      const auto [j, minus_sub] = k + 1 < changes.size() ? changes[k + 1] : std::pair<Index, double>{-1, 0.0};
      const Move m{Kind::corrective, 1.0, i, add, j, -minus_sub, false};
      for_each_chunk(m, [](size_t) {});
    }
    this->set_value();
    scan_all();
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

  std::vector<std::pair<Index, double>> weight_changes(const std::vector<Index>& variables,
                                                       const std::vector<double>& values) {
    std::vector<Index> before = active_;
    std::vector<double> old(before.size());
    for (size_t k = 0; k < before.size(); ++k) old[k] = weights_[before[k]];
    this->clear_weights();
    for (size_t k = 0; k < variables.size(); ++k)
      if (values[k] > 0) this->set_weight(variables[k], values[k]);
    this->normalize_weights();
    std::vector<std::pair<Index, double>> changes;
    for (size_t k = 0; k < before.size(); ++k)
      if (weights_[before[k]] != old[k]) changes.push_back({before[k], weights_[before[k]] - old[k]});
    std::sort(before.begin(), before.end());
    for (const Index v : active_)
      if (!std::binary_search(before.begin(), before.end(), v)) changes.push_back({v, weights_[v]});
    return changes;
  }

  int threads() const { return size_ < 32768 ? 1 : gram_->threads(); }  // as in Gram::threads_for

  std::vector<double> h_;
  std::vector<Chunk> chunks_;
  std::vector<Extremes> extremes_;
};

}  // namespace swapsvm
