// Kernel values of one data set behind a cache, for rows partitioned into groups (the classes).
//
// A cached line is k(x_row, rows of one group): plain values, without labels, bias or ridge. So one cache
// serves every class pair, every C and every fold of the same rows.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cache.hpp"
#include "source.hpp"

namespace swapsvm {

template <class V>
struct SpareArray {
  AlignedArray<V> values;
  int64_t size = 0;
};

// The distinct rows of a list, and the place of each entry of the list among them.
struct DistinctRows {
  std::vector<Index> rows, place;

  Selection selection() const { return {rows.data(), 0, int64_t(rows.size())}; }
};

template <class V>
class Gram {
 public:
  // Groups list rows in ascending order; `threads` as in usable_threads.
  Gram(std::shared_ptr<const Source<V>> source, std::vector<std::vector<Index>> groups, int64_t cache_bytes,
       int threads);

  // The same rows for one thread, without a cache.
  std::shared_ptr<Gram> for_one_thread() const {
    return std::shared_ptr<Gram>(new Gram(source_, groups_, in_one_piece_, diagonal_));
  }

  // The rows of some groups, each group without gaps, whose values are made once; null where that does not pay. Arrays
  // are handed over until `rejoin`.
  std::shared_ptr<Gram> among(const std::vector<int>& groups);
  void rejoin(Gram& part) {
    for (int k = 0; k < 2; ++k) spares_[k] = std::move(part.spares_[k]);
    evaluations_ += part.evaluations_;
  }

  int64_t size() const { return source_->size(); }
  int groups() const { return int(groups_.size()); }
  // Groups are ascending. A group without gaps is given as a range, which is read faster than a list.
  Selection group(int g) const {
    const auto& rows = groups_[g];
    if (in_one_piece_[g]) return {nullptr, rows.front(), int64_t(rows.size())};
    return {rows.data(), 0, int64_t(rows.size())};
  }
  double diagonal(int64_t row) const { return diagonal_[row]; }
  const std::vector<double>& diagonals() const { return diagonal_; }
  int threads() const { return usable_threads(threads_); }
  Team team() const { return {threads(), token}; }

  DistinctRows distinct(const std::vector<Index>& rows) { return distinct({rows.data(), 0, int64_t(rows.size())}); }
  DistinctRows distinct(Selection rows) {
    place_of_.resize(size_t(size()), -1);
    DistinctRows found;
    found.place.reserve(size_t(rows.count));
    for (int64_t k = 0; k < rows.count; ++k) {
      Index& place = place_of_[size_t(rows[k])];
      if (place < 0) {
        place = Index(found.rows.size());
        found.rows.push_back(Index(rows[k]));
      }
      found.place.push_back(place);
    }
    for (const Index r : found.rows) place_of_[size_t(r)] = -1;
    return found;
  }

  // Lines of one row against some groups. They stay valid until the same slot is asked for another column.
  const std::vector<const V*>& column(int64_t row, const std::vector<int>& groups, int slot);

  void line(int64_t row, Selection others, V* out) {
    evaluations_ += others.count;
    source_->line(row, others, out, team_for(others.count));
  }
  void block(Selection rows, Selection columns, V* out) {
    if (rows.count == 0 || columns.count == 0) return;  // never call a user's function with an empty block
    evaluations_ += rows.count * columns.count;
    source_->block(rows, columns, out, team_for(rows.count * columns.count));
  }
  // By the calling thread alone, which can be one of several. Its values are not counted.
  void block_in_thread(Selection rows, Selection columns, V* out) const { source_->block(rows, columns, out, {}); }
  void exact_block(Selection rows, Selection columns, double* out) {
    evaluations_ += rows.count * columns.count;
    source_->exact_block(rows, columns, out, team_for(rows.count * columns.count));
  }
  // Vectors that are among the rows are multiplied with themselves at half the price.
  void product(Selection rows, const Vectors& z, bool exact, double* out) {
    if (z.data.index() != 0 || !source_->symmetry_pays(std::min(rows.count, z.rows.count), exact) ||
        !symmetric_product(rows, z, exact, out))
      plain_product(rows, z, exact, out);
  }
  // Two sets of rows with each other; each value counts once.
  void mutual_product(const Side& left, const Side& right, bool exact) {
    timed(left.rows.count * right.rows.count, exact,
          [&](const Team& team) { source_->mutual_product(left, right, exact, team); });
  }
  double work() const { return source_->work(); }  // operations per value, roughly
  // Whether lines are kept: there must be room for some. Products of a linear kernel need no kernel values.
  bool memory_pays() const { return source_->is_worth_keeping() && cache_.budget_bytes() > 0 && !linear_rows(); }
  // Of a linear kernel; else null.
  const AnyRows* linear_rows() const { return source_->linear_rows(); }

  // product() for all rows of a group, from cached lines; those that are missing are computed once, and kept if there
  // is room.
  void kept_product(int g, const Vectors& z, double* out);

  // Bounds on what rounding does to a product, or to an exact one.
  void rounding(Selection rows, const Vectors& z, bool exact, double* bound) const {
    source_->rounding(rows, z, exact, bound, team());
  }

  // That a product takes, as measured so far.
  double product_seconds(double rows, double vectors, bool exact) const {
    return values_of_product(rows, vectors) * seconds_per_value(exact);
  }

  // Memory for working sets, handed from one class pair to the next: fresh pages cost more than filling them.
  SpareArray<V> take_array(int64_t size, Filling filling = Filling::sparse) {
    for (SpareArray<V>& spare : spares_)
      if (spare.size >= size) return std::exchange(spare, {});
    return {aligned_array<V>(size, filling), size};
  }
  void give_back(SpareArray<V> array) {
    for (SpareArray<V>& spare : spares_)
      if (spare.size < array.size) std::swap(spare, array);
  }

  int64_t evaluations() const { return evaluations_; }
  void add_evaluations(int64_t count) { evaluations_ += count; }  // by Grams of the same rows for other threads
  const Cache<V>& cache() const { return cache_; }
  Cache<V>& cache() { return cache_; }
  // The first of 2^32 keys of lines that belong to a state: no other has them.
  uint64_t keys_of_state() { return uint64_t{1} << 63 | ++states_ << 32; }
  std::mutex& mutex() { return mutex_; }

  StopToken* token = nullptr;  // stops computations from now on

 private:
  Gram(std::shared_ptr<const Source<V>> source, std::vector<std::vector<Index>> groups, std::vector<bool> in_one_piece,
       std::vector<double> diagonal)
      : source_(std::move(source)),
        groups_(std::move(groups)),
        in_one_piece_(std::move(in_one_piece)),
        diagonal_(std::move(diagonal)),
        cache_(0),
        threads_(1) {}

  void plain_product(Selection rows, const Vectors& z, bool exact, double* out) {
    if (rows.count == 0 || z.rows.count == 0) return void(std::fill_n(out, rows.count, 0.0));
    const int64_t values = values_of_product(rows.count, z.rows.count);
    timed(values, exact, [&](const Team& team) { source_->product(rows, z, exact, out, team); });
  }
  // Of a linear kernel each row and each vector is read once: that counts as an evaluation.
  template <class Count>
  Count values_of_product(Count rows, Count vectors) const {
    return linear_rows() ? rows + vectors : rows * vectors;
  }
  double seconds_per_value(bool exact) const {
    if (pace_[exact] > 0) return pace_[exact];
    if (pace_[!exact] > 0) return exact ? 3 * pace_[0] : pace_[1];
    return 1e-10 * source_->work();
  }
  // The place of each row in a list of distinct ones, or -1.
  std::vector<Index> places_among(const std::vector<Index>& distinct_rows, Selection rows) {
    for (size_t k = 0; k < distinct_rows.size(); ++k) place_of_[size_t(distinct_rows[k])] = Index(k);
    std::vector<Index> places(static_cast<size_t>(rows.count));
    for (int64_t r = 0; r < rows.count; ++r) places[r] = place_of_[size_t(rows[r])];
    for (const Index r : distinct_rows) place_of_[size_t(r)] = -1;
    return places;
  }
  // Returns false, having done nothing, if a vector is not among the rows.
  bool symmetric_product(Selection rows, const Vectors& z, bool exact, double* out);
  // The pace of a product is noted if it is long enough to tell.
  template <class Compute>
  void timed(int64_t values, bool exact, Compute compute) {
    constexpr int64_t kEnough = 1 << 20;
    evaluations_ += values;
    const double begin = steady_seconds();
    compute(team_for(values));
    if (values >= kEnough) pace_[exact] = (steady_seconds() - begin) / double(values);
  }

  using Line = typename Cache<V>::Line;
  static constexpr double kPartForLines = 0.5;  // of the budget; the rest is for the working set

  struct Slot {
    int64_t row = -1;
    std::vector<int> groups;
    std::vector<const V*> lines;
    std::vector<Line*> pinned;            // null for lines in scratch
    std::vector<std::vector<V>> scratch;  // per group, for lines that the cache has no room for
  };

  // A team of threads costs some microseconds, and far more when the cores are busy: below about 40 of one
  // thread's microseconds it does not pay.
  Team team_for(int64_t values) const { return {double(values) * source_->work() < 262144.0 ? 1 : threads(), token}; }

  uint64_t line_key(int64_t row, int g) const { return uint64_t(row) * groups_.size() + uint64_t(g); }

  // A strip of columns at a time.
  void fill_lines(int g, const std::vector<Index>& columns, const std::vector<Line*>& lines) {
    constexpr int64_t kTogether = 64;
    const int64_t n = group(g).count;
    std::vector<V> values;
    for (int64_t first = 0; first < int64_t(columns.size()); first += kTogether) {
      const int64_t width = std::min(kTogether, int64_t(columns.size()) - first);
      values.resize(size_t(n * width));
      block(group(g), {columns.data() + first, 0, width}, values.data());
      parallel_chunks(n, kRowChunk, team_for(n * width), [&](int64_t begin, int64_t count) {
        for (int64_t c = 0; c < width; ++c)
          for (int64_t r = begin; r < begin + count; ++r) lines[first + c]->values[r] = values[r * width + c];
      });
    }
  }
  void add_lines(const std::vector<Line*>& lines, const double* coef, int64_t n, double* out) {
    std::vector<const V*> kept;
    std::vector<double> kept_coef;
    for (size_t k = 0; k < lines.size(); ++k)
      if (lines[k]) kept.push_back(lines[k]->values.get()), kept_coef.push_back(coef[k]);
    parallel_chunks(n, 2 * kRowChunk, team_for(n * int64_t(kept.size())), [&](int64_t begin, int64_t count) {
      add_scaled<V>(
          int64_t(kept.size()), [&](int64_t k) { return kept[k] + begin; }, kept_coef.data(), out + begin, count);
    });
  }
  static Line* held(Line* line) {
    if (line) ++line->pins;
    return line;
  }
  static void release(std::vector<Line*>& lines) {
    for (Line* line : lines)
      if (line) --line->pins;
    lines.clear();
  }
  // compute() fills the fresh lines. If it throws (a user's function may), half-filled lines must not stay behind.
  template <class Compute>
  void fill(const std::vector<Line*>& fresh, std::vector<Line*>& pinned, Compute compute) {
    try {
      compute();
    } catch (...) {
      release(pinned);
      for (Line* line : fresh) cache_.erase(line);
      throw;
    }
  }

  std::shared_ptr<const Source<V>> source_;
  std::vector<std::vector<Index>> groups_;
  std::vector<bool> in_one_piece_;
  std::vector<double> diagonal_;
  std::vector<Index> place_of_;  // -1 outside of distinct() and places_among()
  Cache<V> cache_;
  Slot slots_[2];
  SpareArray<V> spares_[2];
  int64_t evaluations_ = 0;
  uint64_t states_ = 0;
  int threads_;
  double pace_[2] = {0, 0};  // seconds per value of products: in V, exact
  std::mutex mutex_;
};

extern template class Gram<float>;
extern template class Gram<double>;

}  // namespace swapsvm
