#include "smooth_problem.hpp"

#include <algorithm>
#include <numeric>

#include "cholesky.hpp"

namespace swapsvm {
namespace {

constexpr int kSteps = 40, kProducts = 12;  // most Newton steps, and products of one of them
constexpr int kStale = 6;                   // products of one step after which the factor is computed again
constexpr double kReduction = 1e-3;         // of the error by a Newton step
constexpr double kLeastDecrease = 1e-4, kShortest = 1e-6;  // of a line search: part of the slope, and step

double dot(const std::vector<double>& v, const std::vector<double>& w) {
  return std::inner_product(v.begin(), v.end(), w.begin(), 0.0);
}

void add(std::vector<double>& v, double factor, const std::vector<double>& w) {
  for (size_t k = 0; k < v.size(); ++k) v[k] += factor * w[k];
}

}  // namespace

std::vector<double> SmoothProblem::solve(const std::vector<double>& q, double accuracy, const Team& team) {
  value_ = evaluate(q, u_);
  for (int step = 0; step < kSteps; ++step) {
    if (team.token) team.token->check();
    const std::vector<double> g = gradient();
    if (0.5 * dot(g, curved(g)) <= accuracy * value_) break;
    const std::vector<double> toward = newton_step(g, team);
    if (!descend(q, toward, dot(g, toward))) break;  // the rest is rounding
  }
  std::vector<double> b(slack_);
  for (size_t i = 0; i < b.size(); ++i) b[i] *= c_[i];
  return b;
}

double SmoothProblem::evaluate(const std::vector<double>& q, const std::vector<double>& u) {
  slack_ = z_.product(u);
  double loss = 0;
  for (size_t i = 0; i < slack_.size(); ++i) {
    slack_[i] = std::max(q[i] - slack_[i], 0.0);
    loss += c_[i] * slack_[i] * slack_[i];
  }
  return 0.5 * (dot(u, u) + loss);
}

std::vector<double> SmoothProblem::gradient() const {
  std::vector<double> b(slack_);
  for (size_t i = 0; i < b.size(); ++i) b[i] *= -c_[i];
  std::vector<double> g = z_.transposed(b);
  add(g, 1, u_);
  return g;
}

std::vector<double> SmoothProblem::curved(const std::vector<double>& v) const {
  std::vector<double> each = z_.product(v);
  for (size_t i = 0; i < each.size(); ++i) each[i] *= slack_[i] > 0 ? c_[i] : 0.0;
  std::vector<double> product = z_.transposed(each);
  add(product, 1, v);
  return product;
}

std::vector<double> SmoothProblem::newton_step(const std::vector<double>& gradient, const Team& team) {
  if (factor_.empty()) precondition(team);
  std::vector<double> step(gradient.size(), 0.0), residual(gradient), direction;
  for (double& r : residual) r = -r;
  double last = 0, enough = 0;
  int products = 0;
  for (; products < kProducts; ++products) {
    std::vector<double> near(residual);
    solve_factored(factor_.data(), z_.rank(), near);
    const double size = dot(residual, near);
    if (products == 0) enough = kReduction * size;
    if (!(size > enough)) break;
    if (products > 0) add(near, size / last, direction);
    direction = std::move(near), last = size;
    const std::vector<double> product = curved(direction);
    const double length = size / dot(direction, product);
    add(step, length, direction), add(residual, -length, product);
  }
  if (products > kStale) factor_.clear();
  return step;
}

void SmoothProblem::precondition(const Team& team) {
  std::vector<double> weights(c_);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] *= slack_[i] > 0 ? 1.0 : 0.0;
  factor_ = z_.curvature(weights, team);
  for (int64_t k = 0; k < z_.rank(); ++k) factor_[size_t(k * z_.rank() + k)] += 1;
  factor_cholesky(factor_.data(), z_.rank());  // no eigenvalue is below 1
}

bool SmoothProblem::descend(const std::vector<double>& q, const std::vector<double>& step, double slope) {
  const double before = value_;
  const std::vector<double> from(u_), slack(slack_);
  for (double length = 1; length > kShortest; length /= 2) {
    u_ = from;
    add(u_, length, step);
    value_ = evaluate(q, u_);
    if (value_ < before + kLeastDecrease * length * slope) return true;
  }
  u_ = from, slack_ = slack, value_ = before;
  return false;
}

}  // namespace swapsvm
