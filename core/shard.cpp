#include "shard.hpp"

namespace swapsvm {

template <class V>
Shard<V>::Shard(std::shared_ptr<Gram<V>> gram, std::vector<Segment> segments, Terms terms, double radius)
    : gram_(std::move(gram)), segments_(std::move(segments)), terms_(std::move(terms)) {
  for (Segment& s : segments_) {
    if (s.group < 0 || s.group >= gram_->groups()) throw std::invalid_argument("a group that does not exist");
    s.offset = size_;
    s.count = s.sign == 0 ? 1 : gram_->group(s.group).count;
    if (s.sign == 0) slack_ = size_;
    size_ += s.count;
    s.line = size_t(std::find(groups_.begin(), groups_.end(), s.group) - groups_.begin());
    if (s.line == groups_.size()) groups_.push_back(s.group);
    for (int64_t begin = 0; begin < s.count; begin += kChunk)
      chunks_.push_back({size_t(&s - segments_.data()), begin, std::min(kChunk, s.count - begin)});
  }
  check();
  for (const double c : terms_.half_linear) linear_.push_back(c * radius);
  h_.assign(size_, 0.0);
  live_.assign(size_, 1);
  extremes_.resize(chunks_.size());
  excesses_.resize(chunks_.size());
  shortfalls_.resize(chunks_.size());
}

template <class V>
void Shard<V>::check() const {
  if (size_ == 0) throw std::invalid_argument("a problem without variables");
  check_ridge(terms_.ridge);
  if (has_linear() && terms_.half_linear.size() != size_t(size_))
    throw std::invalid_argument("linear must be empty, or have one number per variable");
  for (int64_t v = 0; v < size_; ++v)
    if (!std::isfinite(diagonal(v)))
      throw std::invalid_argument("a kernel value k(x, x) is not finite: scale the data");
}

template <class V>
std::vector<double> Shard<V>::product(const std::vector<Index>& variables, const Vectors& z, bool exact) {
  const bool all = int64_t(variables.size()) == size_ && std::is_sorted(variables.begin(), variables.end());
  const DistinctRows some = all ? DistinctRows{} : rows_of(variables);
  const DistinctRows& left = all ? every_row() : some;
  std::vector<double> sums(left.rows.size()), out(variables.size());
  gram_->product(left.selection(), z, exact, sums.data());
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = sign(variables[k]) * (sums[size_t(left.place[k])] + terms_.bias * z.total);
  return out;
}

template <class V>
void Shard<V>::sweep(const Changes& d, double scale, bool afresh) {
  const Combination z = combination(d);
  if (gram_->memory_pays() && !restricted_)
    add_kept(z.merged().vectors(), scale, afresh);
  else
    add_products(afresh ? d : Changes{}, z.vectors(), scale, afresh);
  for (const auto& [v, change] : d) {
    if (!live_[v] && afresh) live_[v] = 1, --left_out_;
    h_[v] += change * ridge(v);
  }
}

// For the live variables, and those that enter.
template <class V>
void Shard<V>::add_products(const Changes& entering, const Vectors& z, double scale, bool afresh) {
  auto wanted = variables_where([&](int64_t v) { return live_[v]; });
  for (const auto& change : entering)
    if (!live_[change.first]) wanted.push_back(change.first);
  const std::vector<double> sums = product(wanted, z, false);
  for (size_t k = 0; k < wanted.size(); ++k) {
    double& h = h_[wanted[k]];
    h = afresh ? sums[k] : scale * h + sums[k];
  }
}

// The same for all variables, from kept lines.
template <class V>
void Shard<V>::add_kept(const Vectors& z, double scale, bool afresh) {
  std::vector<std::vector<double>> products;  // of each line, all before any h changes
  for (const int g : groups_) {
    products.emplace_back(size_t(gram_->group(g).count), 0.0);
    gram_->kept_product(g, z, products.back().data());
  }
  for (const Segment& s : segments_)
    for (int64_t k = 0; k < s.count; ++k) {
      double& h = h_[s.offset + k];
      h = (afresh ? 0.0 : scale * h) + s.sign * (s.sign == 0 ? 0.0 : products[s.line][k] + terms_.bias * z.total);
    }
}

template <class V>
AlignedArray<double> Shard<V>::exact_matrix() {
  std::vector<Index> rows;
  std::vector<double> signs;
  for (int64_t v = 0; v < size_; ++v) rows.push_back(Index(row(v))), signs.push_back(sign(v));
  const Selection all{rows.data(), 0, size_};
  AlignedArray<double> q = aligned_array<double>(size_ * size_);
  gram_->exact_block(all, all, q.get());
  for (int64_t u = 0; u < size_; ++u) {
    double* own = q.get() + u * size_;
    for (int64_t v = 0; v < size_; ++v) own[v] = signs[u] * signs[v] * (own[v] + terms_.bias);
    own[u] += ridge(u);
  }
  return q;
}

template <class V>
std::vector<double> Shard<V>::rounding(const Point& a, bool exact) {
  constexpr double u = std::numeric_limits<double>::epsilon() / 2;
  const Combination z = combination(a);
  const DistinctRows& rows = every_row();
  std::vector<double> bounds(rows.rows.size()), error(static_cast<size_t>(size_));
  gram_->rounding(rows.selection(), z.vectors(), exact, bounds.data());
  const double of_bias = 6 * u * std::abs(terms_.bias) * z.absolute_total();
  for (int64_t v = 0; v < size_; ++v)
    error[v] = sign(v) == 0 ? 0.0 : bounds[size_t(rows.place[v])] + of_bias + 4 * u * ridge(v) * a[v];
  return error;
}

// h <- scale h + add Q_:i - sub Q_:j, and visit(chunk) for each chunk of variables while it is in cache.
template <class V>
template <class Visit>
void Shard<V>::add_column_chunks(const Move& m, Visit visit) {
  const bool has_i = m.add != 0 && sign(m.i) != 0, has_j = m.sub != 0 && sign(m.j) != 0;
  if (!has_i && !has_j) {  // only the slack has got weight
    for (double& h : h_) h *= m.scale;
    for (size_t c = 0; c < chunks_.size(); ++c) visit(c);
    return;
  }
  const auto& lines_i = gram_->column(row(has_i ? m.i : m.j), groups_, 0);
  const auto& lines_j = has_j && has_i ? gram_->column(row(m.j), groups_, 1) : lines_i;
  const double add = has_i ? m.add * sign(m.i) : 0.0, sub = has_j ? m.sub * sign(m.j) : 0.0;
  parallel_chunks(int64_t(chunks_.size()), 1, team(), [&](int64_t index, int64_t) {
    const Chunk& c = chunks_[index];
    const Segment& s = segments_[c.segment];
    const ColumnUpdate<V> update{
        m.scale, add * s.sign, sub * s.sign, terms_.bias, lines_i[s.line] + c.begin, lines_j[s.line] + c.begin};
    const int64_t first = first_of(c);
    hot_updates<V>().update(update, h_.data() + first, c.count);
    if (has_i && m.i >= first && m.i < first + c.count) h_[m.i] += m.add * ridge(m.i);
    if (has_j && m.j >= first && m.j < first + c.count) h_[m.j] -= m.sub * ridge(m.j);
    visit(size_t(index));
  });
}

template <class V>
void Shard<V>::add_columns(const Changes& d, double scale) {
  std::vector<double> before = h_;
  try {
    for (size_t k = 0; k < d.size(); k += 2) {
      const auto [i, add] = d[k];
      const auto [j, minus_sub] = k + 1 < d.size() ? d[k + 1] : std::pair<Index, double>{-1, 0.0};
      add_column_chunks({Kind::corrective, k == 0 ? scale : 1.0, i, add, j, -minus_sub, false}, [](size_t) {});
    }
  } catch (...) {  // a user's function failed
    h_ = std::move(before);
    throw;
  }
}

// h of a chunk, infinite for variables that are left out; those are then in the buffer.
template <class V>
const double* Shard<V>::masked_h(const Chunk& c, double* buffer) const {
  const double* h = h_.data() + first_of(c);
  if (left_out_ == 0) return h;
  const uint8_t* live = live_.data() + first_of(c);
  for (int64_t k = 0; k < c.count; ++k) buffer[k] = live[k] ? h[k] : std::numeric_limits<double>::infinity();
  return buffer;
}

template <class V>
void Shard<V>::scan(size_t index, const Point& a) {
  const Chunk& c = chunks_[index];
  const int64_t first = first_of(c);
  const double* linear = has_linear() ? terms_.half_linear.data() + first : nullptr;
  double masked[kChunk];
  const double* h = masked_h(c, masked);
  extremes_[index] = hot_scan().scan(h, linear, a.weights().data() + first, c.count);
  if (!a.radius.grows()) return;
  excesses_[index] = 0;
  for (int64_t v = first; v < first + c.count; ++v) excesses_[index] += excess_of(v, a);
}

template <class V>
Summary Shard<V>::follow(const Move& m, const Point& a) {
  add_column_chunks(m, [&](size_t c) { scan(c, a); });
  return settle(a);
}

// The vertices behind the extremes; ties go to the lowest index, whatever the number of threads.
template <class V>
Summary Shard<V>::settle(const Point& a) const {
  size_t low = 0, high = 0;
  for (size_t c = 1; c < chunks_.size(); ++c) {
    if (extremes_[c].lowest < extremes_[low].lowest) low = c;
    if (extremes_[c].highest_active > extremes_[high].highest_active) high = c;
  }
  Summary found;
  found.toward_score = extremes_[low].lowest;
  found.excess = std::accumulate(excesses_.begin(), excesses_.end(), 0.0);
  const auto has_score = [&](int64_t v, double score) { return live_score(v) == score && live_[v]; };
  found.toward = place(low, [&](int64_t v) { return has_score(v, extremes_[low].lowest); });
  found.away = place(high, [&](int64_t v) { return a[v] > 0 && has_score(v, extremes_[high].highest_active); });
  return found;
}

template <class V>
Shortfall Shard<V>::shortfall(double level, const Point& a) {
  parallel_chunks(int64_t(chunks_.size()), 1, team(), [&](int64_t index, int64_t) {
    const Chunk& c = chunks_[index];
    const int64_t first = first_of(c);
    const double* linear = has_linear() ? terms_.half_linear.data() + first : nullptr;
    double masked[kChunk], same[kChunk];
    const bool one = terms_.ridge.size() == 1;
    if (one) std::fill_n(same, c.count, terms_.ridge[0]);
    const double* ridge = one ? same : terms_.ridge.data() + first;
    const Scores some{masked_h(c, masked), linear, a.weights().data() + first, ridge, c.count};
    shortfalls_[index] = hot_scan().shortfall(some, level);
  });
  Shortfall total;
  for (const Shortfall& s : shortfalls_) add(total, s);
  return total;
}

template <class V>
std::vector<Index> Shard<V>::violators(double below, int64_t count, const Point& a) const {
  auto found = variables_where([&](int64_t v) { return !(a[v] > 0) && score(v) < below; });
  const auto lower = [&](Index u, Index v) { return std::make_pair(score(u), u) < std::make_pair(score(v), v); };
  if (int64_t(found.size()) > count) {
    std::nth_element(found.begin(), found.begin() + count, found.end(), lower);
    found.resize(size_t(count));
  }
  return found;
}

template class Shard<float>;
template class Shard<double>;

}  // namespace swapsvm
