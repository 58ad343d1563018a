// Kernel values of a face, row by row. What it shares with the last face asked for is kept: a corrective method that
// adds some vertices pays for their rows only.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "rows.hpp"
#include "threads.hpp"

namespace swapsvm {

template <class V>
class Face {
 public:
  // compute(places) gives the rows of the variables at these places against all of them. Variables ascend.
  template <class Compute>
  std::shared_ptr<const V[]> values(const std::vector<Index>& variables, const Team& team, Compute compute) {
    if (variables == variables_) return values_;
    const size_t n = variables.size(), old = variables_.size();
    std::vector<size_t> fresh;
    const std::vector<Run> runs = shared_runs(variables, fresh);
    const std::vector<V> rows = compute(fresh);
    std::shared_ptr<V[]> values(new V[n * n]);
    for (size_t r = 0; r < fresh.size(); ++r) std::copy_n(&rows[r * n], n, &values[fresh[r] * n]);
    parallel_chunks(int64_t(runs.size()), 1, team, [&](int64_t index, int64_t) {
      const Run& kept = runs[size_t(index)];
      for (size_t k = 0; k < kept.length; ++k) {
        V* row = &values[(kept.to + k) * n];
        for (const Run& run : runs) std::copy_n(&values_[(kept.from + k) * old + run.from], run.length, row + run.to);
        for (size_t r = 0; r < fresh.size(); ++r) row[fresh[r]] = rows[r * n + kept.to + k];  // Q is symmetric
      }
    });
    values_ = values;
    variables_ = variables;
    return values_;
  }

 private:
  struct Run {
    size_t from, to, length;
  };

  // Stretches that the last face has as well, and the places of all other variables.
  std::vector<Run> shared_runs(const std::vector<Index>& variables, std::vector<size_t>& fresh) const {
    std::vector<Run> runs;
    for (size_t k = 0, o = 0; k < variables.size(); ++k) {
      while (o < variables_.size() && variables_[o] < variables[k]) ++o;
      if (o == variables_.size() || variables_[o] != variables[k])
        fresh.push_back(k);
      else if (!runs.empty() && runs.back().to + runs.back().length == k && runs.back().from + runs.back().length == o)
        ++runs.back().length;
      else
        runs.push_back({o, k, 1});
    }
    return runs;
  }

  std::vector<Index> variables_;
  std::shared_ptr<const V[]> values_;
};

}  // namespace swapsvm
