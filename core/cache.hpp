// Kernel lines kept within a budget of bytes: the least recently referenced is evicted first, with a second chance.
//
// Lines form a ring. A line that was referenced since the hand last passed is spared once; the first that
// was not is evicted. Lines in use ("pinned") are skipped.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aligned.hpp"

namespace swapsvm {

struct CacheCounts {
  int64_t hits = 0, misses = 0, evictions = 0;
};

template <class V>
class Cache {
 public:
  struct Line {
    uint64_t key = 0;
    int64_t length = 0;
    AlignedArray<V> values;
    bool referenced = false;
    int pins = 0;
  };

  explicit Cache(int64_t budget_bytes) : budget_(budget_bytes) {}

  // The line of that key, or null.
  Line* find(uint64_t key) {
    const auto found = at_.find(key);
    ++(found == at_.end() ? counts_.misses : counts_.hits);
    if (found == at_.end()) return nullptr;
    ring_[found->second].referenced = true;
    return &ring_[found->second];
  }

  // Room for a new line, or null if this part of the budget cannot hold it beside the pinned ones.
  Line* insert(uint64_t key, int64_t length, double part = 1.0) {
    const int64_t bytes = line_bytes(length);
    if (at_.count(key)) return nullptr;
    while (used_ + bytes > int64_t(part * double(budget_)))
      if (!evict_one()) return nullptr;
    AlignedArray<V> values = aligned_array<V>(length);
    if (free_.empty()) {
      free_.push_back(ring_.size());
      ring_.emplace_back();
    }
    Line& line = ring_[free_.back()];
    line = Line{key, length, std::move(values), false, 0};
    at_[key] = free_.back();
    free_.pop_back();
    used_ += bytes;
    return &line;
  }

  void erase(Line* line) {
    const size_t place = at_.at(line->key);
    used_ -= line_bytes(line->length);
    at_.erase(line->key);
    line->values.reset();
    free_.push_back(place);
  }

  static int64_t line_bytes(int64_t length) { return length * int64_t(sizeof(V)) + int64_t(sizeof(Line)) + 64; }
  const CacheCounts& counts() const { return counts_; }
  int64_t used_bytes() const { return used_; }
  int64_t budget_bytes() const { return budget_; }

 private:
  bool evict_one() {
    for (size_t looked = 0; looked < 2 * ring_.size(); ++looked) {
      hand_ = (hand_ + 1) % ring_.size();
      Line& line = ring_[hand_];
      if (!line.values || line.pins > 0) continue;
      if (std::exchange(line.referenced, false)) continue;
      erase(&line);
      ++counts_.evictions;
      return true;
    }
    return false;
  }

  std::deque<Line> ring_;  // a deque, because lines are handed out by address
  std::vector<size_t> free_;
  std::unordered_map<uint64_t, size_t> at_;
  size_t hand_ = 0;
  int64_t budget_, used_ = 0;
  CacheCounts counts_;
};

}  // namespace swapsvm
