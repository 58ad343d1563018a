// Arrays that begin on a cache line: a vector load from one that does not touches two lines.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace swapsvm {

inline constexpr std::align_val_t kCacheLine{64};

struct AlignedDelete {
  void operator()(void* p) const { ::operator delete(p, kCacheLine); }
};

template <class V>
using AlignedArray = std::unique_ptr<V[], AlignedDelete>;

// Uninitialized: untouched pages are never committed.
template <class V>
AlignedArray<V> aligned_array(int64_t size) {
  return AlignedArray<V>(static_cast<V*>(::operator new(sizeof(V) * size_t(size > 0 ? size : 1), kCacheLine)));
}

}  // namespace swapsvm
