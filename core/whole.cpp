#include "whole.hpp"

#include <mutex>

namespace swapsvm {
namespace {

template <class V>
class PairRun {
 public:
  PairRun(std::shared_ptr<Gram<V>> gram, const Sides& sides, const std::vector<double>& ridge, double bias)
      : gram_(gram),
        state_(gram, segments_of(sides), {ridge_of(*gram, segments_of(sides), ridge), {}, bias}, Radius()) {
    state_.measure(Measure::primal, true);
  }

  PairSolution solve(const WholeOptions& options) {
    const std::vector<Index> first = state_.first_variables();
    state_.set_weights(first, std::vector<double>(first.size(), 1.0));
    note();
    const double aim = options.margin * target(options);
    const auto [weights, products] = state_.solve_whole(options.accuracy * aim / state_.scale());
    state_.place(weights, products);
    note();
    if (!(state_.gap() <= options.margin * target(options))) return std::move(found_);
    const double before = steady_seconds();
    state_.certify();
    found_.certificate_seconds = steady_seconds() - before;
    if (!(state_.gap() <= target(options))) return std::move(found_);
    if (state_.size() < options.exact_below) {
      if (!state_.polish()) return std::move(found_);
      note();
    }
    read();
    return std::move(found_);
  }

 private:
  static std::vector<Segment> segments_of(const Sides& sides) {
    std::vector<Segment> segments;
    for (const int g : sides.positive) segments.push_back({g, 1.0});
    for (const int g : sides.negative) segments.push_back({g, -1.0});
    return segments;
  }
  static std::vector<double> ridge_of(const Gram<V>& gram, const std::vector<Segment>& segments,
                                      const std::vector<double>& ridge) {
    if (ridge.size() == 1) return ridge;
    std::vector<double> own;
    for (const Segment& s : segments)
      for (int64_t k = 0; k < gram.group(s.group).count; ++k) own.push_back(ridge[size_t(gram.group(s.group)[k])]);
    return own;
  }
  double target(const WholeOptions& options) const { return std::max(options.eps, options.tol * state_.scale()); }
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
    found_.evaluations = evaluations();
    found_.level = state_.level(), found_.rounding = state_.value_rounding();
  }

  std::shared_ptr<Gram<V>> gram_;
  FullState<V> state_;
  PairSolution found_;
  double began_ = steady_seconds();
  int64_t earlier_evaluations_ = gram_->evaluations();
};

// A Gram for each thread that works; a single pair gets the threads instead.
template <class V>
class Lent {
 public:
  Lent(const std::shared_ptr<Gram<V>>& gram, bool single)
      : gram_(gram), token_(gram->token ? gram->token->silent() : nullptr) {
    if (single) free_.push_back(gram);
  }
  ~Lent() {
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

// Pairs whose matrices, and copies of them, fit into the budget; at least one.
template <class V>
int most_at_a_time(const Gram<V>& gram, const std::vector<Sides>& pairs) {
  int64_t most = 0;
  for (const Sides& sides : pairs) {
    int64_t rows = 0;
    for (const auto* groups : {&sides.positive, &sides.negative})
      for (const int g : *groups) rows += gram.group(g).count;
    most = std::max(most, rows);
  }
  const double bytes = 2.0 * double(most) * double(most) * sizeof(V);
  return int(std::max(1.0, std::min(double(kMostThreads), double(gram.cache().budget_bytes()) / bytes)));
}

}  // namespace

template <class V>
std::vector<PairSolution> solve_pairs(const std::shared_ptr<Gram<V>>& gram, const std::vector<Sides>& pairs,
                                      const std::vector<double>& ridge, double bias, const WholeOptions& options) {
  if (ridge.size() != 1 && int64_t(ridge.size()) != gram->size())
    throw std::invalid_argument("ridge must be one number, or one per row");
  for (const Sides& sides : pairs)
    for (const auto* groups : {&sides.positive, &sides.negative})
      for (const int g : *groups)
        if (g < 0 || g >= gram->groups()) throw std::invalid_argument("a group that does not exist");
  std::vector<PairSolution> found(pairs.size());
  Team team = gram->team();
  team.threads = std::min(team.threads, most_at_a_time(*gram, pairs));
  Lent<V> lent(gram, pairs.size() == 1);
  try {
    parallel_chunks(int64_t(pairs.size()), 1, team, [&](int64_t k, int64_t) {
      auto own = lent.take();
      found[size_t(k)] = PairRun<V>(own, pairs[size_t(k)], ridge, bias).solve(options);
      lent.give_back(std::move(own));
    });
  } catch (const Stopped&) {  // what is not solved is left to runs, which know what to do at a limit
  }
  return found;
}

template std::vector<PairSolution> solve_pairs(const std::shared_ptr<Gram<float>>&, const std::vector<Sides>&,
                                               const std::vector<double>&, double, const WholeOptions&);
template std::vector<PairSolution> solve_pairs(const std::shared_ptr<Gram<double>>&, const std::vector<Sides>&,
                                               const std::vector<double>&, double, const WholeOptions&);

}  // namespace swapsvm
