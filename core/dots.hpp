// The dot products of all rows of a data set, computed once: every pair of classes reads them.
//
// A kernel value is a map of x'z, or of |x|^2 + |z|^2 - 2 x'z, so one matrix serves every kernel but the Laplacian. It
// is symmetric, and kept as a triangle: the first touch of memory takes as long as a product of sparse rows.
#pragma once

#include <memory>
#include <vector>

#include "aligned.hpp"
#include "source.hpp"

namespace swapsvm {

// Rows have places in the triangle: those of a class lie together, and values of a pair of classes are read in runs.
template <class V>
struct Dots {
  AlignedArray<V> values;
  std::vector<Index> places;    // of each row
  std::vector<double> squares;  // |x|^2, by place

  static int64_t count(int64_t rows) { return rows * (rows + 1) / 2; }
  int64_t size() const { return int64_t(places.size()); }
  const V* row(int64_t place) const { return values.get() + count(place); }  // against places up to itself
  V at(int64_t p, int64_t q) const { return p < q ? row(q)[p] : row(p)[q]; }
};

// Each product once; `order` lists all rows by their places. Instantiated for float and double.
template <class V>
std::shared_ptr<const Dots<V>> dots_of(const AnyRows& data, const std::vector<Index>& order, const Team& team);

// Whether kernel values that come from dot products have the digits that V should give.
template <class V>
bool dots_suffice(const AnyRows& data, const KernelSpec& kernel);

// Kernel values of the same rows; what must be more exact than V is computed from the rows.
template <class V>
std::unique_ptr<Source<V>> dots_source(std::shared_ptr<const Dots<V>> dots, const AnyRows& data,
                                       const KernelSpec& kernel);

}  // namespace swapsvm
