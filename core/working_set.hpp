// The middle level of the block engine: some thousand variables, their kernel values in memory, solved by blocks.
//
// Variables stand in slots. A variable that leaves frees its slot for one that enters, and the kernel values between
// those that stay are never computed or copied again: only rows and columns of newcomers are written.
#pragma once

#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "block.hpp"
#include "gram.hpp"

namespace swapsvm {

struct Terms {
  std::vector<double> ridge;        // one number, or one per variable
  std::vector<double> half_linear;  // empty, or c/2 per variable
  double bias = 0.0;
  // If positive: the simplex stands for b = radius a, c'b - b'Qb / 2 is what is reported, with c = radius half_linear.
  double radius = 0.0;
  bool grows = false;  // b >= 0 is all that is asked; the radius, which the slack makes possible, is a means
};

// What a working set knows of a variable of the problem.
struct Member {
  Index variable = -1, row = 0;
  double sign = 1, diagonal = 0, ridge = 0, half_linear = 0, weight = 0, score = 0;
};

struct BlockOptions {
  int64_t block;    // vertices of a block
  int64_t blocks;   // most blocks of one solve, so that an ill-conditioned set does not outlast the limits of the run
  double accuracy;  // of the set, as a part of its gap or value, and of a block, as a part of its violation
  double most_growth;  // of the radius
};

template <class V>
class WorkingSet {
 public:
  WorkingSet(std::shared_ptr<Gram<V>> gram, int64_t variables, int64_t capacity, const Terms& terms)
      : gram_(std::move(gram)),
        capacity_(std::min(variables, capacity)),
        bias_(terms.bias),
        grows_(terms.grows),
        slot_of_(size_t(variables), -1) {
    stride_ = (capacity_ + 15) / 16 * 16 + 16;         // not a power of two: rows would share few cache sets
    values_ = gram_->take_array(capacity_ * stride_);  // touched, and so in memory, only as far as it is used
  }
  ~WorkingSet() {
    gram_->give_back(std::move(values_));
    gram_->give_back(std::move(inner_.q));
  }
  WorkingSet(const WorkingSet&) = delete;
  WorkingSet& operator=(const WorkingSet&) = delete;

  int64_t capacity() const { return capacity_; }

  // The member that has this variable and this weight, or none.
  const Member* find(Index variable, double weight) const {
    const Index slot = slot_of_[variable];
    return slot >= 0 && slots_[slot].weight == weight ? &slots_[slot] : nullptr;
  }

  // The variable of every slot, -1 where it is free.
  std::vector<Index> variables() const {
    std::vector<Index> listed;
    for (const Member& m : slots_) listed.push_back(m.variable);
    return listed;
  }

  // These members slot by slot, into a set that is empty.
  void place(const std::vector<Member>& members) {
    std::vector<Index> entered;
    slots_ = members;
    for (size_t s = 0; s < slots_.size(); ++s) {
      if (slots_[s].variable < 0) {
        slots_[s].score = std::numeric_limits<double>::infinity();
        continue;
      }
      slot_of_[slots_[s].variable] = Index(s);
      entered.push_back(Index(s));
    }
    fill(entered);
  }

  // These members, no more than the capacity. Weights and scores are taken over as they are now.
  void assign(const std::vector<Member>& members) {
    std::vector<char> stays(slots_.size(), 0);
    for (const Member& m : members)
      if (slot_of_[m.variable] >= 0) stays[slot_of_[m.variable]] = 1;
    std::vector<Index> freed, entered;
    for (size_t s = 0; s < slots_.size(); ++s)
      if (!stays[s]) {
        if (slots_[s].variable >= 0) slot_of_[slots_[s].variable] = -1;
        slots_[s].variable = -1, slots_[s].weight = 0;
        slots_[s].score = std::numeric_limits<double>::infinity();
        freed.push_back(Index(s));
      }
    size_t next = 0;
    for (const Member& m : members) {
      Index& slot = slot_of_[m.variable];
      if (slot < 0) {
        slot = next < freed.size() ? freed[next++] : Index(slots_.size());
        if (size_t(slot) == slots_.size()) slots_.emplace_back();
        entered.push_back(slot);
      }
      slots_[slot] = m;
    }
    fill(entered);
  }

  // Raises the value by moves among the members until their own gap is a part of what it was, or of the value. The
  // weights of all other variables are multiplied by the scale that comes back with the new weights.
  Correction solve(double quadratic, double half_linear_value, const BlockOptions& options, const Team& team) {
    quadratic_ = quadratic, half_linear_value_ = half_linear_value, scale_ = growth_ = 1;
    const double first = gap();
    std::vector<Index> kept;
    for (int64_t b = 0; b < options.blocks; ++b) {
      if (gap() <= options.accuracy * std::min(first, std::abs(2 * half_linear_value_ - quadratic_))) break;
      if (team.token) team.token->listen();  // may throw: the set is then left as it is, to be assigned again
      if (team.token && team.token->stopped()) break;
      if (!solve_block(kept, options, team.threads)) break;
      if (grows_) make_room(options.most_growth);
    }
    Correction c;
    for (const Member& m : slots_)
      if (m.variable >= 0) c.variables.push_back(m.variable), c.weights.push_back(m.weight);
    c.scale = scale_;
    c.growth = growth_;
    return c;
  }

 private:
  static constexpr int64_t kNewcomers = 128;  // whose kernel values are computed together
  static constexpr int64_t kMirrored = 64;    // rows that are served together: a few cache lines of a newcomer's row
  static constexpr int64_t kColumns = 2048;

  static constexpr double kLeastRoom = 0.25;

  // Pairs take from the slack what they need.
  void make_room(double most_growth) {
    while (slots_[slack_].weight < kLeastRoom) {
      if (2 * growth_ > most_growth)
        throw std::invalid_argument(
            "in this precision the kernel is not positive semidefinite on these rows: use float64 data, a smaller C, "
            "another gamma or coef0, or another kernel");
      grow(2.0);
    }
  }

  // A radius larger by this factor, at the same b: as State::set_radius.
  void grow(double factor) {
    for (Member& m : slots_) m.half_linear /= factor, m.score /= factor, m.weight /= factor;
    quadratic_ /= factor * factor, half_linear_value_ /= factor * factor;
    scale_ /= factor, growth_ *= factor;
    slots_[slack_].weight += 1 - 1 / factor;
  }

  int64_t count() const { return int64_t(slots_.size()); }
  V* row(int64_t slot) { return values_.values.get() + slot * stride_; }

  // As State::gap, in units of the simplex.
  double gap() const {
    double lowest = std::numeric_limits<double>::infinity(), sum = 0;
    for (const Member& m : slots_) {
      lowest = std::min(lowest, m.score);
      if (grows_ && m.sign != 0) sum += excess(m.score, m.weight, m.ridge);
    }
    return grows_ ? sum : 2 * (quadratic_ - half_linear_value_ - lowest);
  }

  // Kernel values of newcomers. Of members with the same row the first that has values leads and the others copy.
  void fill(const std::vector<Index>& entered) {
    std::vector<char> is_new(slots_.size(), 0);
    for (const Index s : entered) is_new[size_t(s)] = 1;
    std::vector<Index> order, rows;
    slack_ = -1;
    for (const char newcomer : {0, 1})
      for (Index s = 0; s < Index(count()); ++s) {
        if (slots_[s].variable < 0 || is_new[size_t(s)] != newcomer) continue;
        if (slots_[s].sign == 0) slack_ = s;
        if (slots_[s].sign != 0) order.push_back(s), rows.push_back(slots_[s].row);
      }
    const DistinctRows distinct = gram_->distinct(rows);
    std::vector<Index> leaders, fresh;
    std::vector<std::pair<Index, Index>> copies;  // from slot to slot
    for (size_t k = 0; k < order.size(); ++k) {
      const size_t place = size_t(distinct.place[k]);
      if (place < leaders.size())
        copies.push_back({leaders[place], order[k]});
      else
        leaders.push_back(order[k]);
      if (place + 1 == leaders.size() && leaders.back() == order[k] && is_new[size_t(order[k])])
        fresh.push_back(order[k]);
    }
    compute(leaders, distinct, fresh);
    copy(copies);
  }

  // Kernel values of fresh slots against all leaders: their columns, and by symmetry their rows.
  void compute(const std::vector<Index>& leaders, const DistinctRows& rows, const std::vector<Index>& fresh) {
    const int64_t n = int64_t(leaders.size()), all = int64_t(fresh.size());
    std::vector<Index> some;
    for (const Index s : fresh) some.push_back(slots_[s].row);
    for (int64_t first = 0; first < all; first += kNewcomers) {
      const int64_t width = std::min(kNewcomers, all - first);
      const Index* slots = &fresh[first];
      std::vector<char> is_new(slots_.size(), 0);  // its row is written as a row: only one thread may write it
      for (int64_t k = 0; k < width; ++k) is_new[size_t(slots[k])] = 1;
      fresh_.resize(size_t(n * width));
      gram_->block(rows.selection(), {some.data() + first, 0, width}, fresh_.data());
      parallel_chunks(n, kMirrored, Team{n * width < 65536 ? 1 : gram_->threads()}, [&](int64_t begin, int64_t length) {
        for (int64_t t = begin; t < begin + length; ++t)
          for (int64_t k = 0; k < width; ++k) row(leaders[t])[slots[k]] = fresh_[t * width + k];
        for (int64_t k = 0; k < width; ++k)
          for (int64_t t = begin; t < begin + length; ++t)
            if (!is_new[size_t(leaders[t])]) row(slots[k])[leaders[t]] = fresh_[t * width + k];
      });
    }
  }

  // Rows and columns of those that share a row of the data with another slot, and of the slack, which has no values.
  void copy(const std::vector<std::pair<Index, Index>>& copies) {
    for (const auto& [from, to] : copies) std::copy_n(row(from), count(), row(to));
    if (slack_ >= 0) std::fill_n(row(slack_), count(), V(0));
    if (copies.empty() && slack_ < 0) return;
    for (int64_t s = 0; s < count(); ++s) {
      for (const auto& [from, to] : copies) row(s)[to] = row(s)[from];
      if (slack_ >= 0) row(s)[slack_] = V(0);
    }
  }

  bool solve_block(std::vector<Index>& kept, const BlockOptions& options, int threads) {
    auto block = choose_block(
        count(), [this](int64_t s) { return slots_[s].score; }, [this](int64_t s) { return slots_[s].weight > 0; },
        options.block, with_slack(kept, slack_));
    std::sort(block.begin(), block.end());  // rows of the matrix are then read in order
    set_inner(block, threads);
    const int64_t most = 20 * int64_t(block.size());
    const bool moved = (grows_ ? inner_.run_pairs(options.accuracy, most) : inner_.run(options.accuracy, most)) > 0;
    if (moved) apply(block, threads);
    return moved;
  }

  void set_inner(const std::vector<Index>& block, int threads) {
    const size_t n = block.size();
    double largest = 0;
    for (const Index s : block) largest = std::max(largest, std::abs(slots_[s].score));
    if (inner_.q.size < int64_t(n * n)) {
      gram_->give_back(std::move(inner_.q));
      inner_.q = gram_->take_array(int64_t(n * n));
    }
    inner_.reset(n, largest, quadratic_, half_linear_value_);
    std::vector<V> signs(n);
    for (size_t k = 0; k < n; ++k) {
      const Member& m = slots_[block[k]];
      inner_.set(k, m.diagonal, m.score, m.half_linear, m.weight);
      signs[k] = V(m.sign);
    }
    // Half of the matrix, because memory is what this waits for; i and n - 1 - i together make work of equal size.
    parallel_chunks(int64_t(n + 1) / 2, 16, Team{n < 512 ? 1 : threads}, [&](int64_t begin, int64_t count) {
      for (int64_t k = begin; k < begin + count; ++k) {
        copy_row(block, signs, size_t(k));
        copy_row(block, signs, n - 1 - size_t(k));
      }
    });
    inner_.mirror();
  }

  void copy_row(const std::vector<Index>& block, const std::vector<V>& signs, size_t i) {
    const V* values = row(block[i]);
    V* out = inner_.q.values.get() + i * block.size();
    for (size_t j = 0; j < i; ++j) out[j] = values[block[j]];
    for (size_t j = 0; j < i; ++j) out[j] = signs[i] * signs[j] * (out[j] + V(bias_));
    out[i] = inner_.diagonal[i];
  }

  // h <- scale h + Q_:B d on all slots, and the value that belongs to it: f <- s^2 f + d'(s h_old + h_new).
  void apply(const std::vector<Index>& block, int threads) {
    const double s = inner_.scale;
    std::vector<Index> changed;
    std::vector<double> change, coef;
    double total = 0, before = 0, after = 0;
    for (size_t k = 0; k < block.size(); ++k) {
      const Member& m = slots_[block[k]];
      const double d = inner_.weights[k] - s * m.weight;
      if (d == 0) continue;
      changed.push_back(block[k]);
      change.push_back(d);
      coef.push_back(d * m.sign);
      total += coef.back();
      before += d * (m.score + m.half_linear);
    }
    add_rows(changed, coef, s, total, threads);
    for (size_t k = 0; k < changed.size(); ++k) slots_[changed[k]].score += change[k] * slots_[changed[k]].ridge;
    for (Member& m : slots_) m.weight *= s;
    for (size_t k = 0; k < block.size(); ++k) slots_[block[k]].weight = inner_.weights[k];
    if (grows_) slots_[slack_].weight -= std::accumulate(change.begin(), change.end(), 0.0);
    half_linear_value_ *= s;
    for (size_t k = 0; k < changed.size(); ++k) {
      const Member& m = slots_[changed[k]];
      after += change[k] * (m.score + m.half_linear);
      half_linear_value_ += change[k] * m.half_linear;
    }
    quadratic_ = s * s * quadratic_ + s * before + after;
    scale_ *= s;
  }

  void add_rows(const std::vector<Index>& changed, const std::vector<double>& coef, double s, double total,
                int threads) {
    const int64_t n = count();
    product_.resize(size_t(n));
    const Team useful{n * int64_t(changed.size()) < 262144 ? 1 : threads};
    parallel_chunks(n, kColumns, useful, [&](int64_t begin, int64_t length) {
      std::fill_n(&product_[begin], length, 0.0);
      add_scaled<V>(
          int64_t(changed.size()), [&](int64_t k) { return row(changed[k]) + begin; }, coef.data(), &product_[begin],
          length);
    });
    for (int64_t t = 0; t < n; ++t) {
      Member& m = slots_[t];
      if (m.variable >= 0)
        m.score = s * (m.score + m.half_linear) - m.half_linear + m.sign * (product_[t] + bias_ * total);
    }
  }

  std::shared_ptr<Gram<V>> gram_;
  int64_t capacity_, stride_;
  double bias_;
  bool grows_;
  SpareArray<V> values_;
  std::vector<Index> slot_of_;
  std::vector<Member> slots_;
  Index slack_ = -1;  // its slot
  std::vector<double> product_;
  std::vector<V> fresh_;
  InnerProblem<V> inner_;
  double quadratic_ = 0, half_linear_value_ = 0, scale_ = 1, growth_ = 1;
};

}  // namespace swapsvm
