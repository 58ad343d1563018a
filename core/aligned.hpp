// Arrays that begin on a cache line: a vector load from one that does not touches two lines.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace swapsvm {

inline constexpr std::align_val_t kCacheLine{64}, kHugePage{2 << 20};

struct AlignedDelete {
  std::align_val_t alignment = kCacheLine;
  void operator()(void* p) const { ::operator delete(p, alignment); }
};

template <class V>
using AlignedArray = std::unique_ptr<V[], AlignedDelete>;

// How much of an array will be used: of one that may stay empty in places, untouched pages are never committed; one
// that will be full gets huge pages, of which the first touch costs a tenth.
enum class Filling { sparse, full };

// Uninitialized.
template <class V>
AlignedArray<V> aligned_array(int64_t size, Filling filling = Filling::sparse) {
  const size_t bytes = sizeof(V) * size_t(size > 0 ? size : 1);
  const bool huge = filling == Filling::full && bytes >= 2 * size_t(kHugePage);
  const AlignedDelete deleter{huge ? kHugePage : kCacheLine};
  AlignedArray<V> array(static_cast<V*>(::operator new(bytes, deleter.alignment)), deleter);
#if defined(__linux__)
  if (huge) madvise(array.get(), bytes, MADV_HUGEPAGE);  // a wish: without it pages are small
#endif
  return array;
}

}  // namespace swapsvm
