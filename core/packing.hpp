// How rows are laid out for the hot loops: blocks transposed into strips, and pieces of rows for the threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "aligned.hpp"
#include "source.hpp"

namespace swapsvm {

inline constexpr int64_t kPackedBytes = 4 << 20;  // of a packed block
inline constexpr int64_t kWide = 1024;            // features of sparse rows, beyond which a block leaves out the unused

template <class V>
V zeros_part(Reduction reduction, V x) {
  return reduction == Reduction::squared ? x * x : reduction == Reduction::absolute ? std::abs(x) : V(0);
}

template <class T, class Visit>
void for_each_entry(const Rows<T>& data, int64_t row, Visit visit) {
  if (data.sparse()) {
    for (int64_t p = data.indptr[row]; p < data.indptr[row + 1]; ++p) visit(data.indices[p], data.data[p]);
  } else {
    const T* x = data.data + row * data.features;
    for (int64_t f = 0; f < data.features; ++f) visit(f, x[f]);
  }
}

// A row spread out as a dense vector (see Query).
template <class V>
class SpreadRow {
 public:
  template <class T>
  SpreadRow(const Rows<T>& data, Reduction reduction, int64_t row)
      : dense_(size_t((data.features + kAlign - 1) / kAlign * kAlign), V(0)) {
    for_each_entry(data, row, [&](int64_t f, T value) {
      dense_[size_t(f)] = V(value);
      offset_ += zeros_part(reduction, V(value));
    });
  }
  Query<V> query() const { return {dense_.data(), offset_}; }

 private:
  std::vector<V> dense_;
  V offset_ = 0;
};

// Whether blocks have places only for the features that occur in them. Rows that are spread out for their differences
// meet every feature.
template <class T>
bool is_wide(const Rows<T>& data, bool differences) {
  return data.sparse() && !differences && data.features > kWide;
}

// A block of rows transposed into strips (see Packed), with the coefficients it is to be multiplied by.
template <class V>
class PackedBlock {
 public:
  template <class T>
  PackedBlock(const Rows<T>& data, Reduction reduction, Selection rows, const double* coef, int width, bool differences)
      : features_(data.features), count_(rows.count), differences_(differences) {
    if (is_wide(data, differences)) find_slots(data, rows);
    const int64_t padded = (rows.count + width - 1) / width * width;
    strips_ = aligned_array<V>(padded * features_);
    std::fill_n(strips_.get(), padded * features_, V(0));
    offsets_.assign(padded, V(0));
    coef_.assign(padded, V(0));
    for (int64_t b = 0; b < rows.count; ++b) {
      V* column = strips_.get() + (b / width) * features_ * width + b % width;
      double offset = 0;
      for_each_entry(data, rows[b], [&](int64_t f, T value) {
        column[(slots_.empty() ? f : slots_[size_t(f)]) * width] = V(value);
        offset += zeros_part(reduction, double(V(value)));
      });
      offsets_[b] = V(offset);
      if (coef) coef_[b] = V(coef[b]);
    }
  }
  Packed<V> view() const {
    const Index* slots = slots_.empty() ? nullptr : slots_.data();
    return {strips_.get(), slots, offsets_.data(), coef_.data(), count_, features_, differences_};
  }

 private:
  template <class T>
  void find_slots(const Rows<T>& data, Selection rows) {
    slots_.assign(size_t(data.features), -1);
    features_ = 0;
    for (int64_t b = 0; b < rows.count; ++b)
      for_each_entry(data, rows[b], [&](int64_t f, T) {
        if (slots_[size_t(f)] < 0) slots_[size_t(f)] = Index(features_++);
      });
  }

  AlignedArray<V> strips_;
  std::vector<Index> slots_;
  std::vector<V> offsets_, coef_;
  int64_t features_, count_;
  bool differences_;
};

// Rows of a block that stays in cache: a multiple of the width.
template <class V, class T>
int64_t packed_rows(const Rows<T>& data, int width, bool differences) {
  const bool wide = is_wide(data, differences) && data.size > 0;
  const int64_t entries = wide ? data.indptr[data.size] / data.size + 1 : 0;  // of a row, on average
  const auto fits = [&](int64_t rows) {
    const int64_t features = wide ? std::min(data.features, rows * entries) : data.features;
    return rows * features * int64_t(sizeof(V)) <= kPackedBytes;
  };
  int64_t rows = width;
  while (rows + width <= 1024 && fits(rows + width)) rows += width;
  return rows;
}

// Calls body(first, packed block) for consecutive pieces of `columns` that stay in cache.
template <class V, class T, class Body>
void for_each_packed(const Rows<T>& data, const KernelSpec& kernel, Selection columns, const double* coef, int width,
                     bool differences, Body body) {
  const int64_t step = packed_rows<V>(data, width, differences);
  for (int64_t first = 0; first < columns.count; first += step) {
    const int64_t count = columns.count - first < step ? columns.count - first : step;
    const PackedBlock<V> block(data, kernel.reduction(), columns.part(first, count), coef ? coef + first : nullptr,
                               width, differences);
    body(first, block.view());
  }
}

// Calls body(data, rows). If distances are to be summed from `differences`, sparse rows are spread out first, which
// costs all columns but no digits.
template <class T, class Body>
void with_spread(const Rows<T>& data, Selection rows, bool differences, const Body& body) {
  if (!differences || !data.sparse()) return body(data, rows);
  std::vector<T> values(size_t(rows.count * data.features), T(0));
  for (int64_t r = 0; r < rows.count; ++r)
    for_each_entry(data, rows[r], [&](int64_t f, T x) { values[size_t(r * data.features + f)] = x; });
  body(Rows<T>{values.data(), nullptr, nullptr, rows.count, data.features}, all_rows(rows.count));
}

// Calls body(first, data, rows) for consecutive pieces of rows, in parallel.
template <class T, class Body>
void for_each_piece(const Rows<T>& data, Selection rows, bool differences, int64_t chunk, const Team& team,
                    const Body& body) {
  constexpr int64_t kSpreadNumbers = 1 << 19;
  if (differences && data.sparse())
    chunk = std::max<int64_t>(4, std::min(chunk, kSpreadNumbers / std::max<int64_t>(data.features, 1)));
  parallel_chunks(rows.count, chunk, team, [&](int64_t begin, int64_t count) {
    with_spread(data, rows.part(begin, count), differences,
                [&](const Rows<T>& some, Selection places) { body(begin, some, places); });
  });
}

}  // namespace swapsvm
