#include "whole_matrix.hpp"

#include <random>

#include "sums.hpp"

namespace swapsvm {

template <class V>
WholeMatrix<V>::WholeMatrix(Gram<V>& gram, std::vector<Member> members, double bias, bool scales)
    : gram_(gram),
      members_(std::move(members)),
      bias_(bias),
      scales_(scales),
      q_(gram.take_array(size() * size(), Filling::full)) {
  enter(size() > kSample ? sample() : outside());
}

template <class V>
void WholeMatrix<V>::set_ridge(const std::vector<double>& ridge) {
  for (int64_t v = 0; v < size(); ++v) {
    members_[v].diagonal += ridge[v] - members_[v].ridge;
    members_[v].ridge = ridge[v];
  }
  for (int64_t p = 0; p < entered(); ++p) row(p)[p] = V(members_[order_[p]].diagonal);
  copied_.clear(), swapped_ = 0, stepped_ = false;
  std::vector<Index> others = outside();
  const bool needed = std::any_of(others.begin(), others.end(), [&](Index v) { return members_[v].weight > 0; });
  enter(needed ? others : std::vector<Index>());  // smooth steps end without Q
}

template <class V>
std::vector<Index> WholeMatrix<V>::outside() const {
  std::vector<char> in(size_t(size()), 0);
  for (const Index v : order_) in[v] = 1;
  std::vector<Index> others;
  others.reserve(size_t(size() - entered()));
  for (int64_t v = 0; v < size(); ++v)
    if (!in[v]) others.push_back(Index(v));
  return others;
}

// The active variables, and random ones.
template <class V>
std::vector<Index> WholeMatrix<V>::sample() const {
  std::vector<Index> all = outside();
  std::mt19937 random(0);
  for (int64_t k = 0; k < kSample; ++k) std::swap(all[k], all[k + int64_t(random() % uint32_t(size() - k))]);
  for (int64_t k = kSample, used = kSample; k < size(); ++k)
    if (members_[all[k]].weight > 0) std::swap(all[used++], all[k]);
  int64_t count = kSample;
  while (count < size() && members_[all[count]].weight > 0) ++count;
  all.resize(size_t(count));
  std::sort(all.begin(), all.end());
  return all;
}

template <class V>
void WholeMatrix<V>::enter(const std::vector<Index>& variables) {
  const int64_t before = entered(), after = before + int64_t(variables.size());
  order_.reserve(size_t(after)), rows_.reserve(size_t(after)), signs_.reserve(size_t(after));
  for (const Index v : variables) {
    order_.push_back(v);
    rows_.push_back(members_[v].row), signs_.push_back(V(members_[v].sign));
  }
  if (after > before) spread_rows(before);
  for (int64_t first = before; first < entered(); first += kPanel)
    fill_panel(first, std::min(kPanel, entered() - first));
  set_scores();
}

// Rows lie one behind the other: those of `before` columns move apart, the last one first.
template <class V>
void WholeMatrix<V>::spread_rows(int64_t before) {
  const V* from = q_.values.get();
  for (int64_t p = before - 1; p > 0; --p)
    std::copy_backward(from + p * before, from + (p + 1) * before, row(p) + before);
}

// Rows and columns of some places against all places up to the last of them.
template <class V>
void WholeMatrix<V>::fill_panel(int64_t first, int64_t width) {
  const int64_t count = first + width;
  if (panel_size_ < count * width) panel_ = aligned_array<V>(panel_size_ = count * width);
  gram_.block({rows_.data(), 0, count}, {rows_.data() + first, 0, width}, panel_.get());
  constexpr int64_t kTile = 16;  // rows that are mirrored while they are in the first-level cache
  for (int64_t begin = 0; begin < count; begin += kTile) {
    for (int64_t r = begin; r < std::min(begin + kTile, count); ++r)
      note_largest(hot_updates<V>().signed_values(panel_.get() + r * width, signs_[size_t(r)], &signs_[size_t(first)],
                                                  V(bias_), width, row(r) + first));
    for (int64_t c = 0; c < width; ++c)
      for (int64_t k = begin; k < std::min(begin + kTile, first); ++k) row(first + c)[k] = row(k)[first + c];
  }
  for (int64_t c = first; c < count; ++c) row(c)[c] = V(members_[order_[c]].diagonal);
}

template <class V>
void WholeMatrix<V>::solve(double accuracy, const Team& team) {
  double coarse = entered() < size() ? std::max(accuracy, kCoarse) : accuracy;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    if (team.token) team.token->listen(), team.token->check();
    const double now = gap();
    if (now > accuracy * value() && solve_smoothly(accuracy, team)) return;
    if (now > coarse * value() && now < best && run_round()) {
      best = cut_ ? std::numeric_limits<double>::infinity() : now;
      continue;
    }
    const std::vector<Index> entering = next_to_enter();
    if (entering.empty() && coarse == accuracy) return;
    if (!entering.empty()) enter(entering);
    best = std::numeric_limits<double>::infinity();
    if (entered() == size() || entering.empty()) coarse = accuracy;
  }
}

template <class V>
std::vector<Index> WholeMatrix<V>::next_to_enter() {
  if (entered() == size()) return {};
  return active_part() > kMost ? outside() : violators();
}

template <class V>
double WholeMatrix<V>::active_part() const {
  const auto is_active = [this](Index v) { return members_[v].weight > 0; };
  return double(std::count_if(order_.begin(), order_.end(), is_active)) / double(entered());
}

template <class V>
std::vector<Index> WholeMatrix<V>::violators() {
  const std::vector<Index> others = outside();
  std::vector<Index> rows, active, found;
  std::vector<double> coef, sums(others.size());
  double total = 0;
  for (const Index v : others) rows.push_back(members_[v].row);
  for (const Index v : order_) {
    const Member& m = members_[v];
    if (!(m.weight > 0)) continue;
    active.push_back(m.row), coef.push_back(m.weight * m.sign);
    total += coef.back();
  }
  const Vectors z{{active.data(), 0, int64_t(active.size())}, coef.data(), total};
  if (!others.empty()) gram_.product({rows.data(), 0, int64_t(rows.size())}, z, false, sums.data());
  for (size_t k = 0; k < others.size(); ++k) {
    Member& m = members_[others[k]];
    m.score = m.sign * (sums[k] + bias_ * total) - m.half_linear;
    if (m.score < quadratic_ - half_linear_value_) found.push_back(others[k]);
  }
  summed_ = true;
  return found;
}

template <class V>
double WholeMatrix<V>::gap_among(const std::vector<Index>& variables) const {
  double lowest = std::numeric_limits<double>::infinity(), norm = quadratic_;
  MemberScores scores;
  for (const Index v : variables) {
    const Member& m = members_[v];
    scores.add(m);
    lowest = std::min(lowest, m.score), norm -= m.weight * m.weight * m.ridge;
  }
  const auto sums = [&](double level) { return scores.shortfall(level); };
  const double mean = quadratic_ - half_linear_value_;
  return std::min(2 * (mean - lowest), lowest_bound({mean, lowest, norm, scales_}, sums).gap);
}

template <class V>
std::vector<Index> WholeMatrix<V>::open_places() const {
  double highest = -std::numeric_limits<double>::infinity();
  for (const Index v : order_)
    if (members_[v].weight > 0) highest = std::max(highest, members_[v].score);
  std::vector<Index> open;
  open.reserve(size_t(entered()));
  for (int64_t p = 0; p < entered(); ++p) {
    const Member& m = members_[order_[p]];
    if (m.weight > 0 || m.score < highest) open.push_back(Index(p));
  }
  return open;
}

template <class V>
bool WholeMatrix<V>::run_round() {
  std::vector<Index> open = open_places();
  const bool most = entered() == size() && double(open.size()) > kFew * double(size());
  const bool all = most || int64_t(open.size()) == entered();
  if (all) {  // q_ itself is the matrix
    open.resize(size_t(entered()));
    std::iota(open.begin(), open.end(), 0);
    std::swap(q_, inner_.q);
  } else if (open != copied_) {
    copy_matrix(open);
  }
  const bool moved = swap_among(open);
  if (all) std::swap(q_, inner_.q);
  if (moved) set_scores();
  return moved;
}

template <class V>
bool WholeMatrix<V>::swap_among(const std::vector<Index>& open) {
  double largest = 0;
  for (const Index p : open) largest = std::max(largest, std::abs(members_[order_[p]].score));
  inner_.reset(open.size(), largest, quadratic_, half_linear_value_);
  for (size_t k = 0; k < open.size(); ++k) {
    const Member& m = members_[order_[open[k]]];
    inner_.set(k, m.diagonal, m.score, m.half_linear, m.weight);
  }
  const double most = most_moves(double(open.size()));
  cut_ = most < kMostMoves * double(open.size());
  const int64_t moves = inner_.run(kRough, int64_t(most));
  if (moves == 0) return false;
  swapped_ += double(moves) * double(open.size());
  for (size_t k = 0; k < open.size(); ++k) members_[order_[open[k]]].weight = inner_.weights[k];
  return true;
}

// Of swaps on all variables, the number of moves grows with the number of variables. What has been spent on all of them
// is what the rest is expected to take.
template <class V>
double WholeMatrix<V>::growth() const {
  const double larger = double(size()) / double(entered());
  return larger * larger;
}

template <class V>
double WholeMatrix<V>::most_moves(double open) const {
  const double most = kMostMoves * open;
  if (!smooth_ || stepped_) return most;
  return std::min(most, std::max(kLeastMoves * open, (smooth_->needed() / growth() - swapped_) / open + 1));
}

template <class V>
bool WholeMatrix<V>::solve_smoothly(double accuracy, const Team& team) {
  if (size() < kLeastSmooth || !scales_ || stepped_) return false;
  if (!smooth_) smooth_ = std::make_unique<SmoothSteps<V>>(gram_, members_, bias_);
  if (!smooth_->are_worth(swapped_ * growth())) return false;
  stepped_ = true, summed_ = false;
  std::vector<Index> all(static_cast<size_t>(size()));
  std::iota(all.begin(), all.end(), 0);
  for (int k = 0; k < kSmoothSteps; ++k) {
    if (team.token) team.token->listen(), team.token->check();
    const double next = smooth_->step(k == 0, quadratic_, accuracy);
    if (!(next < quadratic_)) break;
    quadratic_ = next;
    if (gap_among(all) <= accuracy * value()) return true;
  }
  enter(outside());
  return false;
}

template <class V>
void WholeMatrix<V>::copy_matrix(const std::vector<Index>& open) {
  const int64_t n = int64_t(open.size());
  if (inner_.q.size < n * n) {
    gram_.give_back(std::move(inner_.q));
    inner_.q = gram_.take_array(n * n, Filling::full);
  }
  for (int64_t i = 0; i < n; ++i) {
    const V* from = row(open[i]);
    V* to = inner_.q.values.get() + i * n;
    for (int64_t j = 0; j < n; ++j) to[j] = from[open[j]];
  }
  copied_ = open;
}

template <class V>
void WholeMatrix<V>::set_scores() {
  const int64_t n = entered();
  std::vector<Index> active;
  std::vector<double> coef, sums(size_t(n), 0.0);
  active.reserve(size_t(n)), coef.reserve(size_t(n));
  for (int64_t p = 0; p < n; ++p)
    if (members_[order_[p]].weight > 0) active.push_back(Index(p)), coef.push_back(members_[order_[p]].weight);
  add_scaled<V>(int64_t(active.size()), [&](int64_t k) { return row(active[k]); }, coef.data(), sums.data(), n);
  quadratic_ = half_linear_value_ = 0;
  for (int64_t p = 0; p < n; ++p) {
    Member& m = members_[order_[p]];
    const double h = sums[p] + (m.diagonal - double(V(m.diagonal))) * m.weight;  // the ridge keeps its digits
    m.score = h - m.half_linear;
    quadratic_ += m.weight * h, half_linear_value_ += m.weight * m.half_linear;
  }
  summed_ = n == size();
}

template <class V>
std::vector<double> WholeMatrix<V>::weights() const {
  std::vector<double> found;
  found.reserve(members_.size());
  for (const Member& m : members_) found.push_back(m.weight);
  return found;
}

template <class V>
std::vector<double> WholeMatrix<V>::products() const {
  std::vector<double> found;
  found.reserve(members_.size());
  for (const Member& m : members_) found.push_back(m.score + m.half_linear - m.ridge * m.weight);
  return found;
}

// The bias is added in V. Weights, which sum to 1, and sums are in double.
template <class V>
double WholeMatrix<V>::rounding() const {
  if (!summed_) return std::numeric_limits<double>::infinity();
  double diagonal = 0;
  for (const Member& m : members_) diagonal = std::max(diagonal, std::abs(m.diagonal));
  return double(std::numeric_limits<V>::epsilon()) * largest_ + rounding_of_sums(size(), std::max(largest_, diagonal));
}

template class WholeMatrix<float>;
template class WholeMatrix<double>;

}  // namespace swapsvm
