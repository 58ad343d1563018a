#include "working_set.hpp"

namespace swapsvm {

template <class V>
void WorkingSet<V>::assign(const std::vector<Member>& members) {
  std::vector<char> stays(slots_.size(), 0);
  for (const Member& m : members)
    if (slot_of_[m.variable] >= 0) stays[slot_of_[m.variable]] = 1;
  std::vector<Index> freed, entered;
  for (size_t s = 0; s < slots_.size(); ++s)
    if (!stays[s]) {
      if (slots_[s].variable >= 0) slot_of_[slots_[s].variable] = -1;
      slots_[s] = {};
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

template <class V>
Correction WorkingSet<V>::solve(double quadratic, double half_linear_value, const BlockOptions& options,
                                const Team& team) {
  quadratic_ = quadratic, half_linear_value_ = half_linear_value, scale_ = growth_ = 1;
  const double first = gap(options.measure);
  std::vector<Index> kept;
  for (int64_t b = 0; b < options.blocks; ++b) {
    if (gap(options.measure) <= options.accuracy * std::min(first, std::abs(2 * half_linear_value_ - quadratic_)))
      break;
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

template <class V>
void WorkingSet<V>::fill(const std::vector<Index>& entered) {
  if (!entered.empty()) inner_slots_.clear();
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
    if (place == leaders.size()) {
      leaders.push_back(order[k]);
      if (is_new[size_t(order[k])]) fresh.push_back(order[k]);
    } else {
      copies.push_back({leaders[place], order[k]});
    }
  }
  compute(leaders, distinct, fresh);
  copy(copies);
}

template <class V>
void WorkingSet<V>::compute(const std::vector<Index>& leaders, const DistinctRows& rows,
                            const std::vector<Index>& fresh) {
  const int64_t all = int64_t(fresh.size()), before = int64_t(leaders.size()) - all;
  std::vector<Index> some;
  for (const Index s : fresh) some.push_back(slots_[s].row);
  for (int64_t first = 0; first < all; first += kNewcomers) {
    const int64_t width = std::min(kNewcomers, all - first);
    const int64_t n = before + first + width;  // later newcomers meet these in their turn
    const Index* slots = &fresh[first];
    std::vector<char> is_new(slots_.size(), 0);  // its row is written as a row: only one thread may write it
    for (int64_t k = 0; k < width; ++k) is_new[size_t(slots[k])] = 1;
    fresh_.resize(size_t(n * width));
    gram_->block(rows.selection().part(0, n), {some.data() + first, 0, width}, fresh_.data());
    parallel_chunks(n, kMirrored, Team{n * width < 65536 ? 1 : gram_->threads()}, [&](int64_t begin, int64_t length) {
      for (int64_t t = begin; t < begin + length; ++t)
        for (int64_t k = 0; k < width; ++k) row(leaders[t])[slots[k]] = fresh_[t * width + k];
      for (int64_t k = 0; k < width; ++k)
        for (int64_t t = begin; t < begin + length; ++t)
          if (!is_new[size_t(leaders[t])]) row(slots[k])[leaders[t]] = fresh_[t * width + k];
    });
  }
}

template <class V>
bool WorkingSet<V>::solve_block(std::vector<Index>& kept, const BlockOptions& options, int threads) {
  auto block = choose_block(
      count(), [this](int64_t s) { return slots_[s].score; }, [this](int64_t s) { return slots_[s].weight > 0; },
      options.block, with_slack(kept, slack_));
  std::sort(block.begin(), block.end());  // rows of the matrix are then read in order
  set_inner(block, threads);
  const int64_t most = 20 * int64_t(block.size());
  const bool moved =
      (grows_ ? inner_.run_pairs(options.block_accuracy, most) : inner_.run(options.block_accuracy, most)) > 0;
  if (moved) apply(block, threads);
  return moved;
}

template <class V>
void WorkingSet<V>::set_inner(const std::vector<Index>& block, int threads) {
  const size_t n = block.size();
  double largest = 0;
  for (const Index s : block) largest = std::max(largest, std::abs(slots_[s].score));
  if (inner_.q.size < int64_t(n * n)) {
    gram_->give_back(std::move(inner_.q));
    inner_.q = gram_->take_array(int64_t(n * n));
    inner_slots_.clear();
  }
  inner_.reset(n, largest, quadratic_, half_linear_value_);
  std::vector<V> signs(n);
  for (size_t k = 0; k < n; ++k) {
    const Member& m = slots_[block[k]];
    inner_.set(k, m.diagonal, m.score, m.half_linear, m.weight);
    signs[k] = V(m.sign);
  }
  if (block == inner_slots_) return inner_.set_diagonal();
  inner_slots_ = block;
  // Half of the matrix, because memory is what this waits for; i and n - 1 - i together make work of equal size.
  parallel_chunks(int64_t(n + 1) / 2, 16, Team{n < 512 ? 1 : threads}, [&](int64_t begin, int64_t count) {
    for (int64_t k = begin; k < begin + count; ++k) {
      copy_row(block, signs, size_t(k));
      copy_row(block, signs, n - 1 - size_t(k));
    }
  });
  inner_.mirror();
}

template <class V>
void WorkingSet<V>::apply(const std::vector<Index>& block, int threads) {
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
  multiply(changed, coef, threads);
  for (int64_t t = 0; t < count(); ++t) {
    Member& m = slots_[t];
    if (m.variable >= 0)
      m.score = s * (m.score + m.half_linear) - m.half_linear + m.sign * (product_[t] + bias_ * total);
  }
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

template <class V>
void WorkingSet<V>::multiply(const std::vector<Index>& some, const std::vector<double>& coef, int threads) {
  const int64_t n = count();
  product_.resize(size_t(n));
  const Team useful{n * int64_t(some.size()) < 262144 ? 1 : threads};
  parallel_chunks(n, kColumns, useful, [&](int64_t begin, int64_t length) {
    std::fill_n(&product_[begin], length, 0.0);
    add_scaled<V>(
        int64_t(some.size()), [&](int64_t k) { return row(some[k]) + begin; }, coef.data(), &product_[begin], length);
  });
}

template class WorkingSet<float>;
template class WorkingSet<double>;

}  // namespace swapsvm
