#include "state.hpp"

#include "full_state.hpp"
#include "pivoting.hpp"
#include "sampled_state.hpp"
#include "sums.hpp"
#include "whole_matrix.hpp"

namespace swapsvm {

template <class V>
int64_t State<V>::second_order_away(int64_t i) {
  const std::vector<Index>& active = point_.active();
  const double sign = shard_.sign(i), from = score(i), diagonal_i = shard_.diagonal(i);
  if (sign != 0)
    kernel_row(i, active, kernel_of_active_);
  else
    kernel_of_active_.assign(active.size(), 0.0);
  int64_t best = away();
  double best_gain = 0.0;
  for (size_t p = 0; p < active.size(); ++p) {
    const int64_t j = active[p];
    const double rise = shard_.live_score(j) - from;
    if (j == i || rise <= 0) continue;
    const Segment& s = shard_.segment(j);
    const double q_ij = sign * s.sign * (kernel_of_active_[p] + shard_.bias());
    const double curvature = diagonal_i + shard_.diagonal(j, s) - 2 * q_ij;
    const double gain = curvature > 0 ? rise * rise / curvature : std::numeric_limits<double>::infinity();
    if (gain > best_gain || (gain == best_gain && j < best)) best_gain = gain, best = j;
  }
  return best;
}

template <class V>
void State<V>::move(const Move& m) {
  const double s = m.scale, p = m.add, q = m.sub;
  forget_certificate();
  // a'Qa of the new point in closed form, from h and Q before the move
  double f = s * s * point_.quadratic;
  if (p != 0) f += p * p * shard_.diagonal(m.i) + 2 * s * p * shard_.h(m.i);
  if (q != 0) f += q * q * shard_.diagonal(m.j) - 2 * s * q * shard_.h(m.j);
  if (p != 0 && q != 0) f -= 2 * p * q * entry(m.i, m.j);
  point_.quadratic = f;
  point_.half_linear_value *= s;
  if (p != 0) point_.half_linear_value += p * shard_.half_linear(m.i);
  if (q != 0) point_.half_linear_value -= q * shard_.half_linear(m.j);
  point_.move(m);
  fresh_ = false;
  move_gradient(m);
  if (point_.radius.grows() && Radius::is_crowded(point_[shard_.slack()])) make_room();
  if (is_measured_by(Measure::primal)) set_bound();
  if (improvement_.note_move(gap(), support_size())) {
    set_value();
    improvement_.end_window(value());
  }
}

// Rows of kernel values against all `variables`, for those at the places `fresh`.
template <class V>
std::vector<V> State<V>::kernel_rows(const std::vector<Index>& variables, const std::vector<size_t>& fresh) {
  constexpr size_t kFew = 16;  // so few come from the cache of columns, which the move will need in any case
  const size_t n = variables.size();
  std::vector<V> values(fresh.size() * n);
  if (fresh.size() <= kFew) {
    for (size_t r = 0; r < fresh.size(); ++r) {
      kernel_row(variables[fresh[r]], variables, kernel_of_active_);
      std::copy(kernel_of_active_.begin(), kernel_of_active_.end(), values.begin() + int64_t(r * n));
    }
    return values;
  }
  std::vector<Index> all, some;
  for (const Index v : variables) all.push_back(Index(shard_.row(v)));
  for (const size_t k : fresh) some.push_back(all[k]);
  const DistinctRows left = gram_->distinct(some), right = gram_->distinct(all);
  std::vector<V> block(left.rows.size() * right.rows.size());
  gram_->block(left.selection(), right.selection(), block.data());
  for (size_t r = 0; r < fresh.size(); ++r)
    for (size_t k = 0; k < n; ++k)
      values[r * n + k] = block[size_t(left.place[r]) * right.rows.size() + size_t(right.place[k])];
  return values;
}

template <class V>
Correction State<V>::solve_on(const std::vector<Index>& variables, int64_t capacity, BlockOptions options) {
  check_variables(variables);
  const bool grows = point_.radius.grows();
  const int64_t wanted = int64_t(variables.size()) + (grows ? 1 : 0);
  if (!working_set_ || working_set_->capacity() < wanted)
    open_working_set(capacity < wanted ? wanted * 3 / 2 : capacity);
  std::vector<Member> members;
  for (const Index v : variables) members.push_back(member(v));
  const Index slack = Index(shard_.slack());
  if (grows && std::find(variables.begin(), variables.end(), slack) == variables.end())
    members.push_back(member(slack));
  try {
    working_set_->assign(members);
  } catch (...) {  // a user's function failed: slots without values must not stay behind
    working_set_.reset();
    throw;
  }
  options.most_growth = point_.radius.most_growth();
  options.measure = measure_;
  return working_set_->solve(point_.quadratic, point_.half_linear_value, options, gram_->team());
}

template <class V>
Snapshot State<V>::snapshot() const {
  Snapshot s;
  s.active = point_.active();
  for (const Index v : s.active) s.weights.push_back(point_[v]);
  s.h = shard_.h(), s.live = shard_.live(), s.restricted = shard_.restricted(), s.fresh = fresh_;
  s.quadratic = point_.quadratic, s.half_linear_value = point_.half_linear_value, s.radius = radius();
  s.oracles = oracles_, s.improvement = improvement_;
  if (working_set_) s.slots = working_set_->variables(), s.capacity = working_set_->capacity();
  return s;
}

template <class V>
void State<V>::restore(const Snapshot& s) {
  s.check(size());
  replace_weights(s.active, s.weights);
  shard_.restore(s.h, s.live, s.restricted);
  point_.quadratic = s.quadratic, point_.half_linear_value = s.half_linear_value;
  if (point_.radius.grows()) place_radius(s.radius);
  oracles_ = s.oracles, improvement_ = s.improvement, fresh_ = s.fresh;
  if (working_set_ && working_set_->variables() == s.slots) return;
  working_set_.reset();
  if (s.slots.empty()) return;
  open_working_set(s.capacity);
  std::vector<Member> members;
  for (const Index v : s.slots) members.push_back(v < 0 ? Member{} : member(v));
  working_set_->place(members);
}

// Where h is not known, Cauchy and Schwarz bound it, Q being positive semidefinite.
template <class V>
void State<V>::prove() {
  std::vector<double> error = shard_.rounding(point_, !fresh_);
  if (fresh_)
    for (double& e : error) e += added_rounding_;
  if (!fresh_) shard_.evaluate(point_.active(), point_, true);
  forget_certificate();
  set_value();
  const double largest = point_.quadratic + rounding_of_mean(error);
  for (int64_t v = 0; v < size(); ++v)
    if (!(point_[v] > 0) && (!fresh_ || !shard_.is_known(v)))
      shard_.set_h(v, 0), error[v] = 1.01 * std::sqrt(std::max(0.0, shard_.diagonal(v) * largest));
  fresh_ = false;
  shard_.include_all();
  choose_vertices();
  set_rounding(error);
}

template <class V>
std::unique_ptr<WholeMatrix<V>> FullState<V>::whole_matrix() const {
  if (shard_.slack() >= 0) throw std::invalid_argument("a problem with a slack vertex is not solved as a whole");
  std::vector<Member> members;
  for (int64_t v = 0; v < this->size(); ++v) members.push_back(this->member(Index(v)));
  return std::make_unique<WholeMatrix<V>>(*gram_, std::move(members), shard_.bias(), this->scales());
}

template <class V>
bool FullState<V>::polish() {
  if (!this->scales() || shard_.has_linear() || shard_.slack() >= 0) return false;
  const AlignedArray<double> q = shard_.exact_matrix();
  std::vector<double> b(point_.weights());
  if (!solve_by_pivoting(q.get(), b)) return false;
  const Snapshot before = snapshot();
  const double gap = this->gap(), relative = gap / this->scale();
  if constexpr (sizeof(V) == sizeof(double))
    place_exactly(b, q.get());
  else  // bounds of products in double are not those of blocks
    this->set_weights(shard_.all_variables(), b);
  if (this->gap() <= gap && this->gap() / this->scale() <= relative) return true;
  restore(before);  // it was exact up to rounding before
  certify();
  return true;
}

// A certificate with the values that are in memory.
template <class V>
void FullState<V>::place_exactly(const std::vector<double>& weights, const double* q) {
  const int64_t n = this->size();
  std::vector<double> products(weights.size(), 0.0);
  add_scaled<double>(n, [&](int64_t v) { return q + v * n; }, weights.data(), products.data(), n);
  for (int64_t v = 0; v < n; ++v) products[size_t(v)] -= shard_.ridge(v) * weights[size_t(v)];
  place_sums(weights, products, rounding_of_sums(n, largest_size(q, n * n)));
  certify();
}

template class State<float>;
template class State<double>;
template class FullState<float>;
template class FullState<double>;
template class SampledState<float>;
template class SampledState<double>;

}  // namespace swapsvm
