// Places ("slots") for the active rows of the data, in lines of kernel values.
//
// A row that leaves the active set keeps its slot until another one needs it, so that a row that returns finds its
// values. Time counts the changes of the active set: what a line has to compute follows from when it was last used.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rows.hpp"

namespace swapsvm {

class Slots {
 public:
  explicit Slots(int64_t rows) : of_row_(size_t(rows), -1) {}

  int64_t now() const { return now_; }
  int64_t count() const { return int64_t(rows_.size()); }
  const std::vector<Index>& active() const { return active_; }  // the slots of the active rows, in their order
  Index of_row(int64_t row) const { return of_row_[size_t(row)]; }
  Index row(Index slot) const { return rows_[size_t(slot)]; }

  // These rows are active from now on, each listed once.
  void follow(Selection rows) {
    ++now_;
    active_.clear();
    for (int64_t k = 0; k < rows.count; ++k) keep(of_row_[size_t(rows[k])]);
    for (int64_t k = 0; k < rows.count; ++k) {
      Index& slot = of_row_[size_t(rows[k])];
      if (slot < 0) slot = given_to(Index(rows[k]), rows.count);
      active_.push_back(slot);
    }
    forget_old(entries_, entered_);
    forget_old(gifts_, given_);
  }

  // The slots of active rows that entered after this time, the last first: visit(slot, time).
  template <class Visit>
  void entered_since(int64_t time, Visit visit) const {
    for (auto e = entries_.rbegin(); e != entries_.rend() && e->time > time; ++e)
      if (is_latest(*e, entered_) && seen_[size_t(e->slot)] == now_) visit(e->slot, e->time);
  }
  // The slots that were given to other rows after this time.
  template <class Visit>
  void given_since(int64_t time, Visit visit) const {
    for (auto g = gifts_.rbegin(); g != gifts_.rend() && g->time > time; ++g)
      if (is_latest(*g, given_)) visit(g->slot);
  }

 private:
  struct Event {
    int64_t time;
    Index slot;
  };

  static bool is_latest(const Event& event, const std::vector<int64_t>& latest) {
    return latest[size_t(event.slot)] == event.time;
  }
  static void forget_old(std::vector<Event>& events, const std::vector<int64_t>& latest) {
    if (events.size() < 2 * latest.size() + 64) return;
    const auto is_old = [&](const Event& event) { return !is_latest(event, latest); };
    events.erase(std::remove_if(events.begin(), events.end(), is_old), events.end());
  }

  void keep(Index slot) {
    if (slot < 0) return;
    if (seen_[size_t(slot)] < now_ - 1) enter(slot);
    seen_[size_t(slot)] = now_;
  }
  void enter(Index slot) {
    entered_[size_t(slot)] = now_;
    entries_.push_back({now_, slot});
  }
  // A new slot as long as there are at most twice as many as active rows; then one that is not in use.
  Index given_to(Index row, int64_t active) {
    constexpr int64_t kSpare = 64;
    const Index slot = count() < 2 * active + kSpare ? added() : unused();
    rows_[size_t(slot)] = row;
    seen_[size_t(slot)] = given_[size_t(slot)] = now_;
    gifts_.push_back({now_, slot});
    enter(slot);
    return slot;
  }
  Index added() {
    rows_.push_back(-1);
    for (auto* times : {&seen_, &entered_, &given_}) times->push_back(-1);
    return Index(rows_.size() - 1);
  }
  Index unused() {
    do hand_ = (hand_ + 1) % rows_.size();
    while (seen_[hand_] == now_);
    of_row_[size_t(rows_[hand_])] = -1;
    return Index(hand_);
  }

  std::vector<Index> of_row_, rows_, active_;
  std::vector<int64_t> seen_, entered_, given_;  // of each slot: times
  std::vector<Event> entries_, gifts_;
  size_t hand_ = 0;
  int64_t now_ = 0;
};

}  // namespace swapsvm
