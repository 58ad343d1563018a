#include "smooth_steps.hpp"

#include <cmath>
#include <numeric>

namespace swapsvm {
namespace {

std::vector<double> diagonal_of(const std::vector<Member>& members) {
  std::vector<double> diagonal;
  for (const Member& m : members) diagonal.push_back(m.diagonal - m.ridge);
  return diagonal;
}

double mean(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / double(v.size());
}

}  // namespace

template <class V>
SmoothSteps<V>::SmoothSteps(Gram<V>& gram, std::vector<Member>& members, double bias)
    : gram_(gram), members_(members), bias_(bias), factor_(diagonal_of(members)), needed_(cost(kLeast)) {
  for (const Member& m : members_) {
    rows_.push_back(m.row), signs_.push_back(m.sign);
    largest_ = std::max(largest_, m.diagonal - m.ridge);
  }
  mean_residuals_.push_back(mean(factor_.residual()));
}

// An operation is what a move of swaps does for one variable, about a nanosecond: two numbers of kernel values, or
// eight products of single numbers. Columns of Z take rank products each, H as many, Newton steps some hundred. The
// product K b takes what swaps would need for values that they have not computed yet.
template <class V>
double SmoothSteps<V>::cost(double rank) const {
  constexpr double kValue = 0.125, kPasses = 25, kSquare = 0.25;
  const double value = 1 + kValue * gram_.work();
  return double(size()) * rank * (value + kPasses + kSquare * rank);
}

template <class V>
bool SmoothSteps<V>::are_worth(double operations) {
  while (needed_ <= operations) {
    if (left_out() <= kLeft) return true;
    if (factor_.residual()[size_t(factor_.pivot())] <= kResolved * largest_) return left_out() <= kMostLeft;
    add_columns();
    if (factor_.rank() < kLeast) continue;
    const double rank = expected_rank();
    if (left_out() > kLeft)
      needed_ = rank * kLargestPart <= double(size()) ? cost(rank) : std::numeric_limits<double>::infinity();
  }
  return false;
}

template <class V>
double SmoothSteps<V>::inverse_ridge() const {
  double sum = 0;
  for (const Member& m : members_) sum += 1 / m.ridge;
  return sum / double(size());
}

template <class V>
double SmoothSteps<V>::expected_rank() const {
  const double rank = double(factor_.rank()), now = left_out();
  const double before = mean_residuals_[mean_residuals_.size() / 2] * inverse_ridge();
  if (now <= kLeft) return rank;
  const double rate = std::log(before / now) / (rank - double(mean_residuals_.size() / 2 * kTogether));
  return rate > 0 ? rank + std::log(now / kLeft) / rate : std::numeric_limits<double>::infinity();
}

template <class V>
void SmoothSteps<V>::add_columns() {
  if (gram_.token) gram_.token->check();
  std::vector<V> values(rows_.size());
  std::vector<double> column(rows_.size());
  for (int64_t k = 0; k < kTogether; ++k) {
    const Member& pivot = members_[size_t(factor_.pivot())];
    gram_.line(pivot.row, {rows_.data(), 0, size()}, values.data());
    for (size_t v = 0; v < rows_.size(); ++v) column[v] = pivot.sign * signs_[v] * (double(values[v]) + bias_);
    factor_.add(column);
    if (factor_.residual()[size_t(factor_.pivot())] <= kResolved * largest_) break;
  }
  mean_residuals_.push_back(mean(factor_.residual()));
  inner_.reset();
}

// What single precision rounds off can hide what a second step gains: it looks at products in double.
template <class V>
double SmoothSteps<V>::step(bool first, double quadratic, double accuracy) {
  constexpr double kPart = 0.05;  // of the accuracy
  Point now = present(quadratic);
  if (first) {
    open(now);
  } else if (!exact_) {
    now.products = product(now.b, true);
    quadratic = place(now, std::numeric_limits<double>::infinity());
  }
  exact_ = !first;
  Point next;
  next.b = inner_->solve(first ? std::vector<double>(rows_.size(), 1.0) : target(now), kPart * accuracy, gram_.team());
  next.products = product(next.b, exact_);
  return place(first ? next : between(now, next), quadratic);
}

template <class V>
typename SmoothSteps<V>::Point SmoothSteps<V>::present(double quadratic) const {
  Point now;
  for (const Member& m : members_) {
    now.b.push_back(m.weight / quadratic);
    now.products.push_back((m.score - m.ridge * m.weight) / quadratic);
  }
  return now;
}

template <class V>
void SmoothSteps<V>::open(const Point& now) {
  std::vector<double> c(factor_.residual());
  for (size_t v = 0; v < c.size(); ++v) c[v] = 1 / (c[v] + members_[v].ridge);
  inner_ = std::make_unique<SmoothProblem>(factor_, std::move(c), factor_.transposed(now.b));
}

template <class V>
std::vector<double> SmoothSteps<V>::target(const Point& now) const {
  std::vector<double> q = factor_.product(factor_.transposed(now.b));
  for (size_t v = 0; v < q.size(); ++v) q[v] += 1 - now.products[v] + factor_.residual()[v] * now.b[v];
  return q;
}

template <class V>
std::vector<double> SmoothSteps<V>::product(const std::vector<double>& b, bool exact) {
  std::vector<Index> active;
  std::vector<double> coef, sums(b.size());
  double total = 0;
  for (size_t v = 0; v < b.size(); ++v)
    if (b[v] > 0) active.push_back(rows_[v]), coef.push_back(signs_[v] * b[v]), total += coef.back();
  gram_.product({rows_.data(), 0, size()}, {{active.data(), 0, int64_t(active.size())}, coef.data(), total}, exact,
                sums.data());
  for (size_t v = 0; v < b.size(); ++v) sums[v] = signs_[v] * (sums[v] + bias_ * total);
  return sums;
}

// The largest dual value on the line to `to`, which b >= 0 allows as far as that.
template <class V>
typename SmoothSteps<V>::Point SmoothSteps<V>::between(const Point& from, const Point& to) const {
  double slope = 0, curvature = 0;
  for (size_t v = 0; v < from.b.size(); ++v) {
    const double change = to.b[v] - from.b[v], ridge = members_[v].ridge;
    slope += change * (1 - from.products[v] - ridge * from.b[v]);
    curvature += change * (to.products[v] - from.products[v] + ridge * change);
  }
  const double length = slope > 0 ? (slope < curvature ? slope / curvature : 1.0) : 0.0;
  Point found(from);
  for (size_t v = 0; v < found.b.size(); ++v) {
    found.b[v] += length * (to.b[v] - from.b[v]);
    found.products[v] += length * (to.products[v] - from.products[v]);
  }
  return found;
}

template <class V>
double SmoothSteps<V>::place(const Point& next, double quadratic) {
  double total = 0, f = 0;
  for (size_t v = 0; v < next.b.size(); ++v) {
    total += next.b[v];
    f += next.b[v] * (next.products[v] + members_[v].ridge * next.b[v]);
  }
  f /= total * total;
  if (!(f > 0 && f < quadratic)) return quadratic;
  for (size_t v = 0; v < next.b.size(); ++v) {
    Member& m = members_[v];
    m.weight = next.b[v] / total;
    m.score = next.products[v] / total + m.ridge * m.weight;
  }
  return f;
}

template class SmoothSteps<float>;
template class SmoothSteps<double>;

}  // namespace swapsvm
