// The loop: a step only chooses a move. Ends at the gap, after the given number of moves, or when rounding leaves no
// ascent.
#pragma once

#include <array>
#include <iterator>
#include <vector>

#include "move.hpp"

namespace swapsvm {

template <class V>
class State;

enum class StepKind { fw, mfw, swap, swap2, pairwise, blended };

struct Record {  // one row of the trace
  int64_t iteration, support, evaluations, kind;
  double seconds, value, gap;
};

// Name and NumPy format of the fields, in order.
inline constexpr const char* kRecordFields[][2] = {
    {"iteration", "i8"}, {"support", "i8"}, {"evaluations", "i8"}, {"kind", "i8"},
    {"seconds", "f8"},   {"value", "f8"},   {"gap", "f8"},
};
static_assert(sizeof(Record) == 8 * std::size(kRecordFields), "a record has padding, or a field is not listed");

struct Limits {
  int64_t moves;
  double tol, eps;    // gap <= max(tol scale, eps)
  int64_t iteration;  // number of the last iteration so far
};

// Whether an iteration makes a record: the first 1024 do, then 512 of every octave, so that a long run stays readable
// at every scale and its trace short.
inline bool is_recorded(int64_t iteration) {
  int64_t stride = 1;
  while (stride * 1024 <= iteration) stride *= 2;
  return iteration % stride == 0;
}

struct RunOutcome {
  int64_t moves = 0;
  bool stalled = false;  // no move ascends: the gap is below what double precision resolves
  std::array<int64_t, kKinds> kinds{};
  std::vector<Record> records;
};

template <class V>
RunOutcome run(State<V>& state, StepKind step, const Limits& limits);

}  // namespace swapsvm
