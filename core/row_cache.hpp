// Kernel values of sampled points against the active ones: [SWAP14] keeps the rows that were referenced last.
//
// A row is a line of the Gram's cache, with a slot for each active row of the data (slots.hpp); values that are not
// known are NaN. What is missing is computed in blocks in which the sampled points are the rows, so that the bits of a
// value depend neither on what is computed beside it nor on what the cache holds. Rows are kept only if that pays:
// see is_worthwhile.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gram.hpp"
#include "slots.hpp"

namespace swapsvm {

template <class V>
class RowCache {
 public:
  // Of a problem that has this many rows.
  RowCache(std::shared_ptr<Gram<V>> gram, int64_t rows)
      : gram_(std::move(gram)), rows_(rows), first_key_(gram_->keys_of_state()), slots_(gram_->size()) {
    used_.assign(size_t(gram_->size()), -1);
  }

  int64_t hits() const { return hits_; }  // values that were taken from the cache of the Gram
  void set_hits(int64_t hits) { hits_ = hits; }
  void follow(Selection active) { slots_.follow(active); }

  // out[r] = sum_c coef[c] k(x_r, active row c), for different rows.
  void sums(const std::vector<Index>& rows, const double* coef, double* out) {
    choose_cache(rows.size());
    if (!keeps_) return sums_of_sample(rows, coef, out);
    const Pinned lines = lines_of(rows);
    if (lines.size() < rows.size()) return keep_few(), sums_of_sample(rows, coef, out);
    const std::vector<Index>& slots = slots_.active();
    for (size_t r = 0; r < rows.size(); ++r)
      out[r] = sum(coef, [&, values = lines[r]->values.get()](size_t c) { return values[slots[c]]; });
  }

  // k(x_row, every active row), by slots: valid until the next call.
  const V* row(Index row) {
    choose_cache(1);
    if (keeps_ && lines_of({row}).size() == 0) keep_few();
    return lines_of({row})[0]->values.get();
  }
  V value(Index row, Index other) {
    const Index slot = slots_.of_row(other);
    Line* line = slot < 0 ? nullptr : cache().find(key(row));
    if (line && used_[size_t(row)] == slots_.now() && !std::isnan(line->values[slot]))
      return hits_ += keeps_, line->values[slot];
    V value;
    gram_->block({&row, 0, 1}, {&other, 0, 1}, &value);
    return value;
  }
  const std::vector<Index>& active_slots() const { return slots_.active(); }

 private:
  using Line = typename Cache<V>::Line;

  // Lines that must not be evicted for the time being.
  class Pinned {
   public:
    Pinned() = default;
    Pinned(Pinned&&) = default;
    ~Pinned() {
      for (Line* line : lines_) --line->pins;
    }
    void add(Line* line) {
      ++line->pins;
      lines_.push_back(line);
    }
    size_t size() const { return lines_.size(); }
    Line* operator[](size_t r) const { return lines_[r]; }

   private:
    std::vector<Line*> lines_;
  };

  // A row with a line, and how many of the recent slots it may miss.
  struct Stale {
    Index row;
    Line* line;
    size_t recent;
  };

  // Kernel values of the last sample.
  struct Sample {
    std::vector<Index> rows, slots;
    int64_t time = 0;
    SpareArray<V> values;
  };

  uint64_t key(Index row) const { return first_key_ + uint64_t(row); }

  // Where rows are not kept, those of the last sample are at hand for the next move.
  void sums_of_sample(const std::vector<Index>& rows, const double* coef, double* out) {
    sample_.rows.clear();  // a user's function can fail
    const V* values = against(rows, slots_.active(), sample_.values);
    sample_.rows = rows, sample_.slots = slots_.active(), sample_.time = slots_.now();
    for (size_t r = 0; r < rows.size(); ++r, values += sample_.slots.size())
      out[r] = sum(coef, [&](size_t c) { return values[c]; });
  }

  // Four sums, whose order is that of the active rows.
  template <class Value>
  double sum(const double* coef, Value value) const {
    const size_t count = slots_.active().size();
    double sums[4] = {};
    size_t c = 0;
    for (; c + 4 <= count; c += 4)
      for (size_t s = 0; s < 4; ++s) sums[s] += coef[c + s] * double(value(c + s));
    for (; c < count; ++c) sums[0] += coef[c] * double(value(c));
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  // Row by row, valid until the next call.
  const V* against(const std::vector<Index>& rows, const std::vector<Index>& slots, SpareArray<V>& block) {
    std::vector<Index> columns;
    for (const Index slot : slots) columns.push_back(slots_.row(slot));
    const int64_t needed = int64_t(rows.size() * columns.size());
    if (needed > block.size) block = {aligned_array<V>(2 * needed), 2 * needed};
    gram_->block(selection(rows), selection(columns), block.values.get());
    return block.values.get();
  }
  static Selection selection(const std::vector<Index>& rows) { return {rows.data(), 0, int64_t(rows.size())}; }

  Cache<V>& cache() { return keeps_ ? gram_->cache() : last_; }
  // Operations that computing a value takes, for the part of the rows that the cache can hold, against those of reading
  // it. The lines of one sample must fit.
  bool is_worthwhile(size_t rows) const {
    constexpr double kRead = 16;  // operations: a line comes from memory
    const double fit = double(gram_->cache().budget_bytes()) / double(Cache<V>::line_bytes(length_));
    return fit >= double(2 * rows) && std::min(1.0, fit / double(rows_)) * gram_->work() >= kRead;
  }
  void choose_cache(size_t rows) {
    const bool grows = slots_.count() > length_;
    if (grows) length_ = slots_.count() * 3 / 2;
    if (keeps_ ? !is_worthwhile(rows) : grows) keep_few();
  }
  void keep_few() {
    constexpr int64_t kFew = 8;  // lines, for the vertices of the next move
    keeps_ = false;
    last_ = Cache<V>(kFew * Cache<V>::line_bytes(length_));
  }

  // The lines of these rows, complete; none if others hold too much of the cache.
  Pinned lines_of(const std::vector<Index>& rows) {
    Pinned lines;
    std::vector<Stale> stale;
    for (const Index row : rows) {
      Line* line = line_of(row);
      if (!line) return {};
      lines.add(line);
      stale.push_back({row, line, 0});
    }
    complete(stale);
    return lines;
  }

  // The line of a row, with NaN for what is not known of it.
  Line* line_of(Index row) {
    constexpr V unknown = std::numeric_limits<V>::quiet_NaN();
    Line* line = cache().find(key(row));
    if (!line || line->length < slots_.count()) line = new_line(row, line);
    if (!line) return nullptr;
    slots_.given_since(used_[size_t(row)], [&](Index slot) { line->values[slot] = unknown; });
    return line;
  }
  // With the values of the line that it replaces, or of the last sample.
  Line* new_line(Index row, Line* former) {
    std::vector<V> values(size_t(length_), std::numeric_limits<V>::quiet_NaN());
    if (former) {
      std::copy_n(former->values.get(), former->length, values.begin());
      cache().erase(former);
    } else {
      used_[size_t(row)] = take_sampled(row, values);
    }
    Line* line = cache().insert(key(row), length_);
    if (line) std::copy(values.begin(), values.end(), line->values.get());
    return line;
  }
  // The time of the sample, or -1 if the row is not in it.
  int64_t take_sampled(Index row, std::vector<V>& values) const {
    const auto found = std::find(sample_.rows.begin(), sample_.rows.end(), row);
    if (found == sample_.rows.end()) return -1;
    const V* sampled = sample_.values.values.get() + (found - sample_.rows.begin()) * int64_t(sample_.slots.size());
    for (size_t c = 0; c < sample_.slots.size(); ++c) values[size_t(sample_.slots[c])] = sampled[c];
    return sample_.time;
  }

  // Rows that were used last miss the least.
  void complete(std::vector<Stale>& stale) {
    int64_t oldest = slots_.now();
    for (const Stale& s : stale) oldest = std::min(oldest, used_[size_t(s.row)]);
    std::vector<Index> recent;
    std::vector<int64_t> times;
    slots_.entered_since(oldest, [&](Index slot, int64_t time) { recent.push_back(slot), times.push_back(time); });
    for (Stale& s : stale)
      s.recent =
          size_t(std::partition_point(times.begin(), times.end(), [&](int64_t t) { return t > used_[size_t(s.row)]; }) -
                 times.begin());
    std::sort(stale.begin(), stale.end(), [](const Stale& a, const Stale& b) { return a.recent < b.recent; });
    for (auto begin = stale.begin(); begin != stale.end();) {
      const auto end = end_of_block(begin, stale.end());
      complete(begin, end, {recent.begin(), recent.begin() + int64_t((end - 1)->recent)});
      begin = end;
    }
  }
  // A block of rows has the columns that the last of them misses. Another row joins it where that costs less than to
  // lay out the columns once more, which takes as long as some values of each.
  template <class Place>
  static Place end_of_block(Place begin, Place last) {
    constexpr size_t kLayOut = 8;  // values
    Place next = begin + 1;
    while (next != last && size_t(next - begin) * (next->recent - (next - 1)->recent) <= kLayOut * (next - 1)->recent)
      ++next;
    return next;
  }
  template <class Place>
  void complete(Place begin, Place end, const std::vector<Index>& recent) {
    std::vector<Index> slots, rows;
    for (const Index slot : recent)
      if (std::any_of(begin, end, [&](const Stale& s) { return std::isnan(s.line->values[slot]); }))
        slots.push_back(slot);
    for (auto s = begin; s != end; ++s) rows.push_back(s->row);
    const V* values = against(rows, slots, missing_);
    for (size_t r = 0; r < rows.size(); ++r) {
      for (size_t c = 0; c < slots.size(); ++c) begin[int64_t(r)].line->values[slots[c]] = values[r * slots.size() + c];
      used_[size_t(rows[r])] = slots_.now();
    }
    if (keeps_) hits_ += int64_t(rows.size() * (slots_.active().size() - slots.size()));
  }

  std::shared_ptr<Gram<V>> gram_;
  int64_t rows_;
  uint64_t first_key_;
  Slots slots_;
  std::vector<int64_t> used_;  // when each row was last completed
  Cache<V> last_{0};
  Sample sample_;
  SpareArray<V> missing_;
  bool keeps_ = true;
  int64_t length_ = 64, hits_ = 0;  // of new lines
};

}  // namespace swapsvm
