#include "gram.hpp"

namespace swapsvm {

static void check_groups(const std::vector<std::vector<Index>>& groups, int64_t size) {
  for (const auto& rows : groups)
    for (size_t k = 0; k < rows.size(); ++k) {
      if (rows[k] < 0 || rows[k] >= size) throw std::invalid_argument("a group lists a row that does not exist");
      if (k > 0 && rows[k] <= rows[k - 1]) throw std::invalid_argument("a group must list its rows in ascending order");
    }
}

template <class V>
Gram<V>::Gram(std::shared_ptr<const Source<V>> source, std::vector<std::vector<Index>> groups, int64_t cache_bytes,
              int threads)
    : source_(std::move(source)), groups_(std::move(groups)), cache_(cache_bytes), threads_(threads) {
  check_groups(groups_, size());
  for (const auto& rows : groups_)
    in_one_piece_.push_back(!rows.empty() && int64_t(rows.back()) - rows.front() + 1 == int64_t(rows.size()));
  diagonal_.resize(size());
  for (int64_t r = 0; r < size(); ++r) diagonal_[r] = source_->diagonal(r);
}

template <class V>
std::shared_ptr<Gram<V>> Gram<V>::among(const std::vector<int>& groups) {
  if (!source_->keeps_values()) return nullptr;
  std::vector<Index> rows;
  std::vector<std::vector<Index>> places;
  std::vector<double> diagonal;
  for (const int g : groups) {
    places.emplace_back();
    for (const Index r : groups_[size_t(g)]) {
      places.back().push_back(Index(rows.size()));
      rows.push_back(r), diagonal.push_back(diagonal_[size_t(r)]);
    }
  }
  std::shared_ptr<const Source<V>> source = source_->among(std::move(rows));
  if (!source) return nullptr;
  std::vector<bool> in_one_piece;
  for (const auto& own : places) in_one_piece.push_back(!own.empty());
  std::shared_ptr<Gram> part(
      new Gram(std::move(source), std::move(places), std::move(in_one_piece), std::move(diagonal)));
  for (int k = 0; k < 2; ++k) part->spares_[k] = std::move(spares_[k]);
  part->threads_ = threads_, part->token = token;
  return part;
}

template <class V>
const std::vector<const V*>& Gram<V>::column(int64_t row, const std::vector<int>& groups, int slot) {
  Slot& s = slots_[slot];
  if (s.row == row && s.groups == groups) return s.lines;
  release(s.pinned);
  s.row = -1;
  s.groups = groups;
  s.lines.clear();
  s.scratch.resize(groups_.size());
  std::vector<LineRequest<V>> missing;
  std::vector<Line*> fresh;
  int64_t values = 0;
  for (const int g : groups) {
    const int64_t n = group(g).count;
    Line* found = held(cache_.find(line_key(row, g)));
    Line* line = found ? found : held(cache_.insert(line_key(row, g), n));
    s.pinned.push_back(line);
    if (!line) s.scratch[g].resize(n);
    V* out = line ? line->values.get() : s.scratch[g].data();
    s.lines.push_back(out);
    if (found) continue;
    missing.push_back({group(g), out});
    if (line) fresh.push_back(line);
    values += n;
  }
  evaluations_ += values;
  fill(fresh, s.pinned, [&] { source_->lines(row, missing, team_for(values)); });
  s.row = row;  // last: a function that fails on the way leaves the slot empty
  return s.lines;
}

// With S the vectors: S x S by symmetry, and the other rows x S.
template <class V>
bool Gram<V>::symmetric_product(Selection rows, const Vectors& z, bool exact, double* out) {
  const DistinctRows vectors = distinct(z.rows);
  const std::vector<Index> places = places_among(vectors.rows, rows);
  std::vector<char> found(vectors.rows.size(), 0);
  std::vector<Index> others;
  for (int64_t r = 0; r < rows.count; ++r) {
    if (places[r] < 0) others.push_back(Index(rows[r]));
    if (places[r] >= 0) found[places[r]] = 1;
  }
  if (std::find(found.begin(), found.end(), 0) != found.end()) return false;

  const Selection s = vectors.selection();
  std::vector<double> coef(vectors.rows.size(), 0.0), own(vectors.rows.size()), rest(others.size());
  for (int64_t c = 0; c < z.rows.count; ++c) coef[vectors.place[c]] += z.coef[c];
  timed(s.count * (s.count + 1) / 2, exact,
        [&](const Team& team) { source_->symmetric_product(s, coef.data(), exact, own.data(), team); });
  plain_product({others.data(), 0, int64_t(others.size())}, {s, coef.data()}, exact, rest.data());
  for (int64_t r = 0, other = 0; r < rows.count; ++r) out[r] = places[r] < 0 ? rest[other++] : own[places[r]];
  return true;
}

template <class V>
void Gram<V>::kept_product(int g, const Vectors& z, double* out) {
  std::vector<Line*> lines(size_t(z.rows.count));
  for (int64_t c = 0; c < z.rows.count; ++c) lines[c] = held(cache_.find(line_key(z.rows[c], g)));
  std::vector<Index> missing, other;
  std::vector<Line*> fresh;
  std::vector<double> other_coef;
  for (int64_t c = 0; c < z.rows.count; ++c) {
    if (lines[c]) continue;
    lines[c] = held(cache_.insert(line_key(z.rows[c], g), group(g).count, kPartForLines));
    (lines[c] ? missing : other).push_back(Index(z.rows[c]));
    if (lines[c]) fresh.push_back(lines[c]);
    if (!lines[c]) other_coef.push_back(z.coef[c]);
  }
  fill(fresh, lines, [&] {
    fill_lines(g, missing, fresh);
    product(group(g), {{other.data(), 0, int64_t(other.size())}, other_coef.data()}, false, out);
  });
  add_lines(lines, z.coef, group(g).count, out);
  release(lines);
}

template class Gram<float>;
template class Gram<double>;

}  // namespace swapsvm
