// The dot products of all rows of a data set, computed once: every pair of classes, fold, C and gamma reads them.
//
// A kernel value is a map of x'z, or of |x|^2 + |z|^2 - 2 x'z, so one matrix serves every kernel but the Laplacian.
#pragma once

#include <memory>
#include <vector>

#include "aligned.hpp"
#include "source.hpp"

namespace swapsvm {

template <class V>
struct Dots {
  AlignedArray<V> values;  // size x size
  int64_t size = 0;
  std::vector<double> squares;  // |x|^2

  const V* row(int64_t r) const { return values.get() + r * size; }
};

// Each product once. Instantiated for float and double.
template <class V>
std::shared_ptr<const Dots<V>> dots_of(const AnyRows& data, const Team& team);

// Whether kernel values that come from dot products have the digits that V should give.
template <class V>
bool dots_suffice(const AnyRows& data, const KernelSpec& kernel);

// Kernel values of the same rows; what must be more exact than V is computed from the rows.
template <class V>
std::unique_ptr<Source<V>> dots_source(std::shared_ptr<const Dots<V>> dots, const AnyRows& data,
                                       const KernelSpec& kernel);

}  // namespace swapsvm
