// What sums of values in memory round, which are added up in double one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace swapsvm {

// The largest absolute value; NaN if one is not a number. Numbers that are not negative are in the order of their bits,
// and NaN is above all of them: integers can be compared a vector at a time.
template <class V>
double largest_size(const V* values, int64_t count) {
  using Bits = std::conditional_t<sizeof(V) == sizeof(int32_t), int32_t, int64_t>;
  Bits largest = 0;
  for (int64_t k = 0; k < count; ++k) {
    Bits bits;
    std::memcpy(&bits, values + k, sizeof(V));
    largest = std::max(largest, Bits(bits & std::numeric_limits<Bits>::max()));
  }
  V value;
  std::memcpy(&value, &largest, sizeof(V));
  return double(value);
}

// Of this many numbers of at most `largest`, each computed in double by a few operations from a kernel value, and with
// weights that sum to 1.
inline double rounding_of_sums(int64_t count, double largest) {
  return double(count + 8) * std::numeric_limits<double>::epsilon() * largest;
}

}  // namespace swapsvm
