// The microarchitecture level of an x86-64 processor, as far as the operating system saves its registers. Asked of the
// processor itself: the compilers' own test needs a library that Microsoft's linker does not have.
#pragma once

#include <cpuid.h>

#include <cstdint>

namespace swapsvm {

namespace cpuid {

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;  // all zero: no such leaf
};

inline Registers leaf(unsigned number) {
  Registers found;
  __get_cpuid_count(number, 0, &found.a, &found.b, &found.c, &found.d);
  return found;
}

template <class... Bits>
constexpr unsigned bits(Bits... places) {
  return ((1u << places) | ...);
}

inline bool has(unsigned value, unsigned all) {
  return (value & all) == all;
}

// The registers that the operating system saves: XCR0.
inline unsigned saved_registers() {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

}  // namespace cpuid

// 1 to 4, see the x86-64 psABI.
inline int x86_level() {
  using namespace cpuid;
  const Registers one = leaf(1), seven = leaf(7), extended = leaf(0x80000001);
  constexpr unsigned v2 = bits(0, 9, 13, 19, 20, 23);          // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT
  if (!has(one.c, v2) || !has(extended.c, bits(0))) return 1;  // LAHF
  constexpr unsigned v3 = bits(12, 22, 27, 28, 29), v3_seven = bits(3, 5, 8);  // FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1,
  if (!has(one.c, v3) || !has(seven.b, v3_seven) || !has(extended.c, bits(5))) return 2;  // AVX2, BMI2; LZCNT
  const unsigned saved = saved_registers();
  if (!has(saved, bits(1, 2))) return 2;             // SSE, AVX
  constexpr unsigned v4 = bits(16, 17, 28, 30, 31);  // AVX-512 F, DQ, CD, BW, VL
  return has(seven.b, v4) && has(saved, bits(5, 6, 7)) ? 4 : 3;
}

}  // namespace swapsvm
