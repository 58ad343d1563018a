// Votes of the pairs of classes: (0, 1), (0, 2), ..., (1, 2), ... in this order. A decision that is not negative is a
// vote for the first class of its pair.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace swapsvm {

// visit(a, b, value) of every pair of classes.
template <class Visit>
void for_each_pair(const double* decisions, int64_t classes, const Visit& visit) {
  for (int64_t a = 0; a < classes; ++a)
    for (int64_t b = a + 1; b < classes; ++b) visit(a, b, *decisions++);
}

// Adds the votes for each class in one row of decisions, and the sums of the decisions for it. Pairs with a class that
// is not present do not count.
inline void count_votes(const double* decisions, int64_t classes, const bool* present, double* votes, double* sums) {
  for_each_pair(decisions, classes, [&](int64_t a, int64_t b, double value) {
    if (!present[a] || !present[b]) return;
    votes[value >= 0 ? a : b] += 1;
    sums[a] += value, sums[b] -= value;
  });
}

// Whether one class has more certain votes than any other class has, or could have if decisions are off by `bound`.
inline bool has_sure_winner(const double* decisions, int64_t classes, double bound) {
  std::vector<int64_t> least(size_t(classes), 0), most(size_t(classes), 0);
  for_each_pair(decisions, classes, [&](int64_t a, int64_t b, double value) {
    least[a] += value > bound, most[a] += value >= -bound;
    least[b] += value < -bound, most[b] += value <= bound;
  });
  const auto winner = std::max_element(least.begin(), least.end());
  most[size_t(winner - least.begin())] = -1;
  return *winner > *std::max_element(most.begin(), most.end());
}

}  // namespace swapsvm
