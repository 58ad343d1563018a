// Solvers reach a certified gap, which plain loops in double confirm, whatever the number of threads.
#include "check.hpp"
#include "data.hpp"
#include "full_state.hpp"
#include "whole.hpp"

using namespace swapsvm;

namespace {

constexpr double kC = 2, kBias = 1, kGamma = 0.3;
template <class V>
constexpr double kTol = sizeof(V) == 4 ? 2e-4 : 1e-6;  // single precision resolves no more

// Two noisy classes: the first half of the rows is shifted.
template <class V>
struct Problem {
  tests::Matrix<V> X;
  std::shared_ptr<Gram<V>> gram;

  Problem(int64_t rows, int threads) : X(rows, 5, 7) {
    std::vector<std::vector<Index>> classes(2);
    for (int64_t r = 0; r < rows; ++r) {
      if (r < rows / 2) X.dense[size_t(r * X.columns)] += V(0.4);
      classes[r < rows / 2 ? 0 : 1].push_back(Index(r));
    }
    gram = std::make_shared<Gram<V>>(feature_source<V>(X.as_dense(), {KernelKind::rbf, kGamma}), classes, 64 << 20,
                                     threads);
  }

  double sign(int64_t r) const { return r < X.rows / 2 ? 1 : -1; }
  double q(int64_t r, int64_t c) const {
    double squared = 0;
    for (int64_t f = 0; f < X.columns; ++f)
      squared += (double(X.at(r, f)) - X.at(c, f)) * (double(X.at(r, f)) - X.at(c, f));
    return sign(r) * sign(c) * (std::exp(-kGamma * squared) + kBias) + (r == c ? 1 / kC : 0);
  }
  std::vector<double> product(const std::vector<double>& a) const {
    std::vector<double> h(a.size());
    for (size_t r = 0; r < a.size(); ++r)
      for (size_t c = 0; c < a.size(); ++c)
        if (a[c] > 0) h[r] += q(int64_t(r), int64_t(c)) * a[c];
    return h;
  }
};

// What weak duality says of the point, computed afresh: value = -a'Qa, and 2 (a'Qa - min Qa) bounds what is missing.
struct Judged {
  double value = 0, gap = 0;
};
template <class V>
Judged judged(const Problem<V>& problem, const std::vector<double>& a) {
  const std::vector<double> h = problem.product(a);
  double quadratic = 0, total = 0;
  for (size_t v = 0; v < a.size(); ++v) quadratic += a[v] * h[v], total += a[v];
  CHECK(std::abs(total - 1) < 1e-12, total);
  return {-quadratic, 2 * (quadratic - *std::min_element(h.begin(), h.end()))};
}

template <class V>
void solve_by_blocks(FullState<V>& state) {
  const std::vector<Index> first = state.first_variables();
  state.set_weights(first, std::vector<double>(first.size(), 1.0));
  const BlockOptions options{256, 100, 0.03, 0.1};
  for (int step = 0; step < 60 && !(state.gap() <= kTol<V> * state.scale()); ++step) {
    std::vector<Index> variables(state.point().active());
    const std::vector<Index> violators = state.violators(state.size());
    variables.insert(variables.end(), violators.begin(), violators.end());
    Correction correction = state.solve_on(variables, state.size(), options);
    correction.afresh = true;
    state.correct(correction);
  }
  state.certify();
}

template <class V>
void check_blocks() {
  const Problem<V> problem(700, 2);
  FullState<V> state(problem.gram, {{0, 1.0}, {1, -1.0}}, {{1 / kC}, {}, kBias}, Radius());
  solve_by_blocks(state);
  CHECK(state.certified());
  CHECK(state.gap() <= 2 * kTol<V> * state.scale(), state.gap(), state.scale());
  const Judged judge = judged(problem, state.point().weights());
  CHECK(judge.gap <= state.simplex_gap() + 1e-13, judge.gap, state.simplex_gap());
  CHECK(std::abs(judge.value - state.value()) <= state.value_rounding() + 1e-13, judge.value, state.value());
}

template <class V>
std::vector<double> solved_as_a_whole(int threads) {
  const Problem<V> problem(500, threads);
  const PairPath path{{{0}, {1}}, std::make_shared<const std::vector<double>>(1, 1.0)};
  const WholeOptions options{1e-3, 0, 0.9, 0.8, 0};
  const auto found = solve_paths<V>(problem.gram, {path}, {kC}, kBias, options);
  CHECK(found.size() == 1 && found[0].size() == 1 && found[0][0].solved);
  if (found[0].empty()) return {};
  const PairSolution& solution = found[0][0];
  CHECK(solution.gap <= 1e-3 * solution.scale, solution.gap, solution.scale);
  CHECK(judged(problem, solution.weights).gap <= solution.simplex_gap + 1e-13);
  return solution.weights;
}

}  // namespace

TEST(blocks_reach_a_certified_gap_in_double) {
  check_blocks<double>();
}

TEST(blocks_reach_a_certified_gap_in_single_precision) {
  check_blocks<float>();
}

TEST(whole_problems_do_not_depend_on_the_number_of_threads) {
  CHECK(solved_as_a_whole<float>(1) == solved_as_a_whole<float>(3));
  CHECK(solved_as_a_whole<double>(1) == solved_as_a_whole<double>(3));
}
