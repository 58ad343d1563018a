// Numbers below the smallest normal one become zero while an object of this class lives, in its thread: processors take
// a hundred times as long for them, and data such as blurred images are full of them once they are squared. Bounds on
// rounding allow for this.
#pragma once

#include <cstdint>

namespace swapsvm {

class FlushSubnormals {
 public:
  // `flush`: whether to; a user's function that is called meanwhile gets the arithmetic that it expects.
  explicit FlushSubnormals(bool flush = true) : before_(control()) {
    set_control(flush ? before_ | kFlush : before_ & ~kFlush);
  }
  ~FlushSubnormals() { set_control(before_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
#if defined(__SSE2__)
  using Control = uint32_t;
  static constexpr Control kFlush = 0x8040;  // of results, and of operands
  static Control control() { return __builtin_ia32_stmxcsr(); }
  static void set_control(Control value) { __builtin_ia32_ldmxcsr(value); }
#elif defined(__aarch64__)
  using Control = uint64_t;
  static constexpr Control kFlush = Control(1) << 24;
  static Control control() {
    Control value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set_control(Control value) { __asm__ volatile("msr fpcr, %0" : : "r"(value)); }
#else
  using Control = uint32_t;
  static constexpr Control kFlush = 0;
  static Control control() { return 0; }
  static void set_control(Control) {}
#endif

  const Control before_;
};

}  // namespace swapsvm
