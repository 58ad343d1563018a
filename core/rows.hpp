// The rows of a data matrix, dense or CSR: the only place that knows storage.
#pragma once

#include <cstdint>

// These members are used inside the code made for each instruction set: the linker must not find a copy that it could
// share.
#define SWAPSVM_ALWAYS_INLINE inline __attribute__((always_inline))
// For parts that are called rarely enough: inlined into each of the tiles' many variants, they would be most of the
// code.
#define SWAPSVM_NOT_INLINE __attribute__((noinline))

namespace swapsvm {

using Index = int32_t;  // a row or a column of the data

template <class T>
struct Rows {
  const T* data = nullptr;          // dense: row-major; CSR: the non-zeros
  const int64_t* indptr = nullptr;  // CSR only
  const Index* indices = nullptr;   // CSR only
  int64_t size = 0;
  int64_t features = 0;

  SWAPSVM_ALWAYS_INLINE bool sparse() const { return indptr != nullptr; }
};

// Either listed rows or the contiguous range that begins at `first`.
struct Selection {
  const Index* listed = nullptr;
  int64_t first = 0;
  int64_t count = 0;

  SWAPSVM_ALWAYS_INLINE int64_t operator[](int64_t k) const { return listed ? listed[k] : first + k; }
  SWAPSVM_ALWAYS_INLINE Selection part(int64_t begin, int64_t length) const {
    return {listed ? listed + begin : nullptr, first + begin, length};
  }
};

}  // namespace swapsvm
