#include "whole.hpp"

#include <mutex>

#include "cpu_time.hpp"
#include "whole_matrix.hpp"

namespace swapsvm {
namespace {

template <class V>
class PairRun {
 public:
  PairRun(std::shared_ptr<Gram<V>> all, const PairPath& path, double C, double bias)
      : all_(all),
        part_(part_of(*all, path.sides)),
        gram_(part_ ? part_ : all),
        ridge_(ridge_of(*all, segments_of(path.sides), *path.ridge)),
        state_(gram_, segments_of(part_ ? numbered(path.sides) : path.sides), {ridge_at(C), {}, bias}, Radius()) {
    state_.measure(Measure::primal, true);
  }
  ~PairRun() {
    whole_.reset();  // gives its arrays back
    if (part_) all_->rejoin(*part_);
  }
  PairRun(const PairRun&) = delete;
  PairRun& operator=(const PairRun&) = delete;

  // The first point of a path.
  PairSolution start(const WholeOptions& options) {
    begin();
    const std::vector<Index> first = state_.first_variables();
    state_.set_weights(first, std::vector<double>(first.size(), 1.0));
    note();
    whole_ = state_.whole_matrix();
    return solve(options);
  }
  // The next one, from the last.
  PairSolution go_on(double C, const WholeOptions& options) {
    begin();
    state_.set_ridge(ridge_at(C));
    whole_->set_ridge(ridge_at(C));
    note();
    return solve(options);
  }

 private:
  static std::vector<Segment> segments_of(const Sides& sides) {
    std::vector<Segment> segments;
    for (const int g : sides.positive) segments.push_back({g, 1.0});
    for (const int g : sides.negative) segments.push_back({g, -1.0});
    return segments;
  }
  // The groups as a Gram of their own, if all of Q will be needed: certificates then read the values that swaps had.
  static std::shared_ptr<Gram<V>> part_of(Gram<V>& all, const Sides& sides) {
    std::vector<int> groups(sides.positive);
    groups.insert(groups.end(), sides.negative.begin(), sides.negative.end());
    int64_t rows = 0;
    for (const int g : groups) rows += all.group(g).count;
    return rows <= WholeMatrix<V>::kSample ? all.among(groups) : nullptr;
  }
  static Sides numbered(Sides sides) {
    std::iota(sides.positive.begin(), sides.positive.end(), 0);
    std::iota(sides.negative.begin(), sides.negative.end(), int(sides.positive.size()));
    return sides;
  }
  static std::vector<double> ridge_of(const Gram<V>& gram, const std::vector<Segment>& segments,
                                      const std::vector<double>& ridge) {
    std::vector<double> own;
    int64_t rows = 0;
    for (const Segment& s : segments) rows += gram.group(s.group).count;
    own.reserve(size_t(rows));
    for (const Segment& s : segments)
      for (int64_t k = 0; k < gram.group(s.group).count; ++k)
        own.push_back(ridge[ridge.size() == 1 ? 0 : size_t(gram.group(s.group)[k])]);
    return own;
  }
  std::vector<double> ridge_at(double C) const {
    std::vector<double> ridge(ridge_);
    for (double& r : ridge) r /= C;
    return ridge;
  }
  double target_of(const WholeOptions& options) const { return std::max(options.eps, options.tol * state_.scale()); }
  void begin() {
    found_ = {};
    began_ = steady_seconds(), earlier_evaluations_ = gram_->evaluations();
  }
  PairSolution solve(const WholeOptions& options) {
    whole_->solve(options.accuracy * (options.margin * target_of(options)) / state_.scale(), gram_->team());
    state_.place_sums(whole_->weights(), whole_->products(), whole_->rounding());
    note();
    if (!(state_.gap() <= options.margin * target_of(options))) return std::move(found_);
    const double before = thread_cpu_seconds();
    state_.certify();
    found_.certificate_seconds = thread_cpu_seconds() - before;
    if (!(state_.gap() <= target_of(options))) return std::move(found_);
    read();
    if (state_.size() < options.exact_below) {
      found_.solved = state_.polish();
      note();
      if (found_.solved && is_at_least_found()) read();
    }
    return std::move(found_);
  }
  bool is_at_least_found() const {
    return state_.gap() <= found_.gap && state_.gap() / state_.scale() <= found_.gap / found_.scale;
  }
  int64_t evaluations() const { return gram_->evaluations() - earlier_evaluations_; }
  void note() {
    found_.records.push_back({int64_t(found_.records.size()) + 1, state_.support_size(), evaluations(),
                              int64_t(Kind::corrective), steady_seconds() - began_, state_.value(), state_.gap()});
  }
  void read() {
    found_.solved = true;
    found_.weights = state_.point().weights();
    found_.value = state_.value(), found_.gap = state_.gap(), found_.scale = state_.scale();
    found_.simplex_gap = state_.simplex_gap(), found_.primal_gap = state_.primal_gap();
    found_.evaluations = evaluations(), found_.seconds = steady_seconds() - began_;
    found_.level = state_.level(), found_.rounding = state_.value_rounding();
  }

  std::shared_ptr<Gram<V>> all_, part_, gram_;  // of the data; of the pair or null; the one in use
  std::vector<double> ridge_;                   // of each variable, at C = 1
  FullState<V> state_;
  std::unique_ptr<WholeMatrix<V>> whole_;
  PairSolution found_;
  double began_ = 0;
  int64_t earlier_evaluations_ = 0;
};

template <class V>
std::vector<PairSolution> follow(const std::shared_ptr<Gram<V>>& gram, const PairPath& path,
                                 const std::vector<double>& Cs, double bias, const WholeOptions& options) {
  PairRun<V> run(gram, path, Cs[0], bias);
  std::vector<PairSolution> points;
  for (size_t k = 0; k < Cs.size(); ++k) {
    points.push_back(k == 0 ? run.start(options) : run.go_on(Cs[k], options));
    if (!points.back().solved) {
      points.pop_back();
      break;
    }
    if (options.noted) options.noted();
  }
  return points;
}

template <class V>
int64_t rows_of(const Gram<V>& gram, const PairPath& path) {
  int64_t rows = 0;
  for (const auto* groups : {&path.sides.positive, &path.sides.negative})
    for (const int g : *groups) rows += gram.group(g).count;
  return rows;
}

// So that no thread is left with a large one at the end.
template <class V>
std::vector<size_t> largest_first(const Gram<V>& gram, const std::vector<PairPath>& paths) {
  std::vector<int64_t> rows;
  for (const PairPath& path : paths) rows.push_back(rows_of(gram, path));
  std::vector<size_t> order(paths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rows[a] > rows[b]; });
  return order;
}

// Pairs whose matrices, and copies of them, fit into the budget; at least one.
template <class V>
int most_at_a_time(const Gram<V>& gram, const std::vector<PairPath>& paths) {
  int64_t most = 0;
  for (const PairPath& path : paths) most = std::max(most, rows_of(gram, path));
  const double bytes = 2.0 * double(most) * double(most) * sizeof(V);
  return int(std::max(1.0, std::min(double(kMostThreads), double(gram.cache().budget_bytes()) / bytes)));
}

template <class V>
void check(const Gram<V>& gram, const std::vector<PairPath>& paths, const std::vector<double>& Cs) {
  for (const PairPath& path : paths) {
    if (path.ridge->size() != 1 && int64_t(path.ridge->size()) != gram.size())
      throw std::invalid_argument("ridge must be one number, or one per row");
    for (const auto* groups : {&path.sides.positive, &path.sides.negative})
      for (const int g : *groups)
        if (g < 0 || g >= gram.groups()) throw std::invalid_argument("a group that does not exist");
  }
  if (Cs.empty()) throw std::invalid_argument("at least one C is needed");
}

}  // namespace

// A Gram for each thread that works; a single pair gets the threads instead.
template <class V>
class LentGrams {
 public:
  LentGrams(const std::shared_ptr<Gram<V>>& gram, bool single)
      : gram_(gram), token_(gram->token ? gram->token->silent() : nullptr) {
    if (single) free_.push_back(gram);
  }
  ~LentGrams() {
    for (const auto& own : free_)
      if (own != gram_) gram_->add_evaluations(own->evaluations());
  }

  std::shared_ptr<Gram<V>> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      auto found = free_.back();
      free_.pop_back();
      return found;
    }
    auto fresh = gram_->for_one_thread();
    fresh->token = token_.get();
    return fresh;
  }
  void give_back(std::shared_ptr<Gram<V>> gram) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(gram));
  }

 private:
  const std::shared_ptr<Gram<V>>& gram_;
  std::shared_ptr<StopToken> token_;
  std::vector<std::shared_ptr<Gram<V>>> free_;
  std::mutex mutex_;
};

template <class V>
std::vector<std::vector<PairSolution>> solve_paths(const std::shared_ptr<Gram<V>>& gram,
                                                   const std::vector<PairPath>& paths, const std::vector<double>& Cs,
                                                   double bias, const WholeOptions& options) {
  check(*gram, paths, Cs);
  std::vector<std::vector<PairSolution>> found(paths.size());
  Team team = gram->team();
  team.threads = std::min(team.threads, most_at_a_time(*gram, paths));
  LentGrams<V> lent(gram, paths.size() == 1);
  const std::vector<size_t> order = largest_first(*gram, paths);
  try {
    parallel_chunks(int64_t(paths.size()), 1, team, [&](int64_t k, int64_t) {
      auto own = lent.take();
      const size_t next = order[size_t(k)];
      found[next] = follow(own, paths[next], Cs, bias, options);
      lent.give_back(std::move(own));
    });
  } catch (const Stopped&) {  // what is not solved is left to runs, which know what to do at a limit
  }
  return found;
}

template std::vector<std::vector<PairSolution>> solve_paths(const std::shared_ptr<Gram<float>>&,
                                                            const std::vector<PairPath>&, const std::vector<double>&,
                                                            double, const WholeOptions&);
template std::vector<std::vector<PairSolution>> solve_paths(const std::shared_ptr<Gram<double>>&,
                                                            const std::vector<PairPath>&, const std::vector<double>&,
                                                            double, const WholeOptions&);

}  // namespace swapsvm
