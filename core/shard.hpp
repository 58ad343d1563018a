// Everything of a problem that is per row. The problem is to maximize g(a) = -a'Qa + c'a on the simplex,
//
//   Q_uv = s_u s_v (k(x_u, x_v) + bias) + [u == v] ridge_u.
//
// Variables come in segments; a segment is a group of rows with one sign s. Two segments may share a group: kernel
// values are then computed once for both. A segment of sign 0 is a single vertex at the origin, the slack.
//
// A shard keeps h = Qa and a mask of the variables that take part ("live"). Its verbs are passes over its rows, with
// the vectors that they are multiplied with and the point as arguments. "Score" is h - c/2: the gradient is -2 score,
// so the toward vertex has the lowest score and the away vertex the highest among the active.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "gram.hpp"
#include "point.hpp"
#include "primal.hpp"

namespace swapsvm {

struct Segment {
  int group;
  double sign;
  int64_t offset = 0, count = 0;
  size_t line = 0;  // of its group, among the lines of a column
};

struct Terms {
  std::vector<double> ridge;        // one number, or one per variable
  std::vector<double> half_linear;  // empty, or c/2 per variable
  double bias = 0.0;
};

// A linear combination of rows: the right-hand side of a product, with signs in its coefficients.
class Combination {
 public:
  void add(Index row, double coef) {
    if (coef == 0) return;  // of the slack
    rows_.push_back(row);
    coef_.push_back(coef);
    // compensated: positive and negative coefficients may cancel all but the last digits
    const double sum = sum_ + coef;
    lost_ += std::abs(sum_) >= std::abs(coef) ? (sum_ - sum) + coef : (coef - sum) + sum_;
    sum_ = sum;
  }

  Vectors vectors() const { return {{rows_.data(), 0, int64_t(rows_.size())}, coef_.data(), sum_ + lost_}; }
  double absolute_total() const {
    double total = 0;
    for (const double c : coef_) total += std::abs(c);
    return total;
  }

  // The same with each row once, in ascending order.
  Combination merged() const {
    std::map<Index, double> sums;
    for (size_t k = 0; k < rows_.size(); ++k) sums[rows_[k]] += coef_[k];
    Combination result;
    for (const auto& [row, coef] : sums) result.add(row, coef);
    return result;
  }

 private:
  std::vector<Index> rows_;
  std::vector<double> coef_;
  double sum_ = 0, lost_ = 0;
};

template <class V>
class Shard {
 public:
  // half_linear belongs to this radius.
  Shard(std::shared_ptr<Gram<V>> gram, std::vector<Segment> segments, Terms terms, double radius);

  int64_t size() const { return size_; }
  int64_t slack() const { return slack_; }  // its vertex, or -1
  double bias() const { return terms_.bias; }
  bool has_linear() const { return !terms_.half_linear.empty(); }
  const std::vector<int>& groups() const { return groups_; }  // of the segments, each once

  const std::vector<Segment>& segments() const { return segments_; }
  const Segment& segment(int64_t v) const {
    size_t s = 0;
    while (v >= segments_[s].offset + segments_[s].count) ++s;
    return segments_[s];
  }
  int64_t row(int64_t v) const { return row(v, segment(v)); }
  double sign(int64_t v) const { return segment(v).sign; }
  double ridge(int64_t v) const { return terms_.ridge[terms_.ridge.size() == 1 ? 0 : v]; }
  double half_linear(int64_t v) const { return terms_.half_linear.empty() ? 0.0 : terms_.half_linear[v]; }
  double diagonal(int64_t v) const { return diagonal(v, segment(v)); }
  double diagonal(int64_t v, const Segment& s) const {  // of a variable whose segment is known
    return s.sign * s.sign * (gram_->diagonal(row(v, s)) + terms_.bias) + ridge(v);
  }

  // Of a variable that is left out the score is infinite: no oracle chooses it. Active variables are never left out.
  double score(int64_t v) const { return live_[v] ? live_score(v) : std::numeric_limits<double>::infinity(); }
  double live_score(int64_t v) const { return h_[v] - half_linear(v); }
  double h(int64_t v) const { return score(v) + half_linear(v); }
  const std::vector<double>& h() const { return h_; }
  double excess_of(int64_t v, const Point& a) const { return v == slack_ ? 0.0 : excess(score(v), a[v], ridge(v)); }

  const std::vector<uint8_t>& live() const { return live_; }
  bool restricted() const { return restricted_; }
  bool is_known(int64_t v) const { return live_[v] && h_[v] < std::numeric_limits<double>::infinity(); }
  template <class Predicate>
  std::vector<Index> variables_where(Predicate holds) const {
    std::vector<Index> found;
    for (int64_t v = 0; v < size_; ++v)
      if (holds(v)) found.push_back(Index(v));
    return found;
  }
  std::vector<Index> all_variables() const {
    return variables_where([](int64_t) { return true; });
  }
  std::vector<Index> first_variables() const {  // of each segment
    std::vector<Index> first;
    for (const Segment& s : segments_)
      if (s.count > 0) first.push_back(Index(s.offset));
    return first;
  }
  // Variables that are left out, or whose h left the range of V.
  std::vector<Index> unknown() const {
    return variables_where([&](int64_t v) { return !is_known(v); });
  }
  // Leaves out inactive variables above this score.
  void shrink(double highest, const Point& a) {
    for (int64_t v = 0; v < size_; ++v)
      if (live_[v] && !(a[v] > 0) && score(v) > highest) live_[v] = 0, ++left_out_;
  }
  // Leaves out inactive variables that are not listed. Returns whether a listed one takes part again: its h is not
  // known until h is summed afresh.
  bool restrict_to(const std::vector<Index>& variables, const Point& a) {
    bool returns = false;
    std::vector<char> listed(size_t(size_), 0);
    for (const Index v : variables) listed[size_t(v)] = 1;
    restricted_ = std::find(listed.begin(), listed.end(), 0) != listed.end();
    for (int64_t v = 0; v < size_; ++v) {
      if (!listed[size_t(v)] && !(a[v] > 0)) live_[v] = 0;
      if (listed[size_t(v)] && !is_known(v)) h_[v] = 0, live_[v] = 1, returns = true;
    }
    left_out_ = std::count(live_.begin(), live_.end(), 0);
    return returns;
  }
  void include_all() {
    std::fill(live_.begin(), live_.end(), 1);
    left_out_ = 0, restricted_ = false;
  }

  Combination combination(const Point& a) const {
    Combination z;
    for (const Index v : a.active()) z.add(Index(row(v)), a[v] * sign(v));
    return shares_rows() ? z.merged() : z;
  }
  Combination combination(const Changes& changes) const {
    Combination z;
    for (const auto& [v, change] : changes) z.add(Index(row(v)), change * sign(v));
    return shares_rows() ? z.merged() : z;
  }

  // The rows of all variables, in the order of the variables.
  const DistinctRows& every_row() {
    if (every_row_.place.empty()) every_row_ = rows_of(all_variables());
    return every_row_;
  }

  // s_u (sum_c coef_c k(x_u, z_c) + bias total) of the listed variables; `exact`: kernel values in double.
  std::vector<double> product(const std::vector<Index>& variables, const Vectors& z, bool exact);
  // h of the listed variables at this point.
  void evaluate(const std::vector<Index>& variables, const Point& a, bool exact) {
    const Combination z = combination(a);
    const std::vector<double> sums = product(variables, z.vectors(), exact);
    for (size_t k = 0; k < variables.size(); ++k) h_[variables[k]] = sums[k] + ridge(variables[k]) * a[variables[k]];
  }
  // h <- scale h + Q d, in one pass over the kernel values of the changed variables; none is stored unless memory pays.
  // `afresh`: h <- Q d, also where d gives weight to a variable that was left out.
  void sweep(const Changes& d, double scale, bool afresh);
  // h <- scale h + Q d by cached columns, two at a time.
  void add_columns(const Changes& d, double scale);
  void scale_h(double factor) {
    for (double& h : h_) h *= factor;
  }
  void divide_h(double divisor) {
    for (double& h : h_) h /= divisor;
  }
  // Q, of a problem without a slack vertex.
  AlignedArray<double> exact_matrix();
  // Bounds on |computed - true| of h for variables whose h was summed in V, or `exact`ly.
  std::vector<double> rounding(const Point& a, bool exact);

  // A scan of all variables.
  Summary summary(const Point& a) {
    parallel_chunks(int64_t(chunks_.size()), 1, team(), [&](int64_t c, int64_t) { scan(size_t(c), a); });
    return settle(a);
  }
  // The same after a move, whose columns are added on the way.
  Summary follow(const Move& m, const Point& a);
  // The sums of primal minus dual at a level.
  Shortfall shortfall(double level, const Point& a);
  // The live inactive variables of score below this one; the lowest `count` of them if there are more.
  std::vector<Index> violators(double below, int64_t count, const Point& a) const;

  void set_radius(double radius) {
    for (size_t v = 0; v < linear_.size(); ++v) terms_.half_linear[v] = linear_[v] / radius;
  }
  void set_ridge(std::vector<double> ridge, const Point& a) {
    check_ridge(ridge);
    terms_.ridge.swap(ridge);
    for (const Index v : a.active()) h_[v] += (this->ridge(v) - ridge[ridge.size() == 1 ? 0 : size_t(v)]) * a[v];
  }
  void set_h(int64_t v, double h) { h_[v] = h; }
  void add_h(int64_t v, double change) { h_[v] += change; }
  void restore(std::vector<double> h, std::vector<uint8_t> live, bool restricted) {
    h_ = std::move(h), live_ = std::move(live), restricted_ = restricted;
    left_out_ = std::count(live_.begin(), live_.end(), 0);
  }

 private:
  static constexpr int64_t kChunk = 2048;  // 16 kB of h: updated and scanned while in the first-level cache
  struct Chunk {
    size_t segment;
    int64_t begin, count;
  };

  int64_t row(int64_t v, const Segment& s) const { return gram_->group(s.group)[v - s.offset]; }
  void check() const;
  void check_ridge(const std::vector<double>& ridge) const {
    if (ridge.size() != 1 && ridge.size() != size_t(size_))
      throw std::invalid_argument("ridge must be one number, or one per variable");
  }
  bool shares_rows() const { return groups_.size() < segments_.size(); }
  DistinctRows rows_of(const std::vector<Index>& variables) {
    std::vector<Index> rows;
    rows.reserve(variables.size());
    for (const Index v : variables) rows.push_back(Index(row(v)));
    return gram_->distinct(rows);
  }
  void add_products(const Changes& entering, const Vectors& z, double scale, bool afresh);
  void add_kept(const Vectors& z, double scale, bool afresh);
  template <class Visit>
  void add_column_chunks(const Move& m, Visit visit);
  const double* masked_h(const Chunk& chunk, double* buffer) const;
  void scan(size_t chunk, const Point& a);
  Summary settle(const Point& a) const;
  template <class Match>
  int64_t place(size_t chunk, Match match) const {
    const int64_t first = first_of(chunks_[chunk]);
    for (int64_t v = first; v < first + chunks_[chunk].count; ++v)
      if (match(v)) return v;
    throw std::invalid_argument("a kernel value is not finite");
  }
  int64_t first_of(const Chunk& c) const { return segments_[c.segment].offset + c.begin; }
  Team team() const { return {size_ < 32768 ? 1 : gram_->threads()}; }  // as in Gram::team_for

  std::shared_ptr<Gram<V>> gram_;
  std::vector<Segment> segments_;
  std::vector<int> groups_;
  Terms terms_;
  int64_t size_ = 0, slack_ = -1, left_out_ = 0;
  std::vector<double> linear_;  // radius times half_linear
  std::vector<double> h_;       // a sampled state knows it on the active set and its last sample only
  std::vector<uint8_t> live_;
  bool restricted_ = false;  // whether only listed variables take part
  DistinctRows every_row_;
  std::vector<Chunk> chunks_;
  std::vector<Extremes> extremes_;
  std::vector<double> excesses_;
  std::vector<Shortfall> shortfalls_;
};

extern template class Shard<float>;
extern template class Shard<double>;

}  // namespace swapsvm
