// Products of rows with themselves: out_r = sum_c coef_c k(x_r, x_c), where each value is computed once and used twice.
//
// Rows are cut into blocks, and a pair of blocks adds to the sums of both. The pairs are those of a round-robin
// tournament: in each round every block meets at most one other. So no two threads write to the same sums, and every
// sum is added up in the order of the rounds, whatever the number of threads.
#include <memory>
#include <utility>

#include "packing.hpp"
#include "product.hpp"

namespace swapsvm {
namespace {

constexpr int64_t kLargestBlock = 256, kSmallestBlock = 64;  // rows
constexpr int64_t kFewestBlocks = 16;                        // where blocks are not at their smallest: work for threads
constexpr int64_t kKeptPackedBytes = 64 << 20;               // beyond, blocks are packed for each pair again

// A fixed number for each count: it must not depend on threads or on the instruction set.
int64_t block_rows(int64_t count) {
  const int64_t wanted = (count / kFewestBlocks + kSmallestBlock - 1) / kSmallestBlock * kSmallestBlock;
  return std::min(std::max(wanted, kSmallestBlock), kLargestBlock);
}

// The two blocks of a match, by the circle method: the last block stays, the others rotate. `blocks` is even.
std::pair<int64_t, int64_t> match(int64_t blocks, int64_t round, int64_t place) {
  const int64_t others = blocks - 1;
  if (place == 0) return {round, others};
  return std::minmax((round + place) % others, (round - place + others) % others);
}

template <class T, class V>
class SymmetricProduct {
 public:
  SymmetricProduct(const Rows<T>& data, Selection rows, const KernelSpec& kernel, const double* coef, bool differences,
                   double* out)
      : data_(data),
        rows_(rows),
        kernel_(kernel),
        coef_(coef),
        differences_(differences),
        out_(out),
        step_(block_rows(rows.count)),
        blocks_((rows.count + step_ - 1) / step_) {}

  void run(const Team& team) {
    std::fill_n(out_, rows_.count, 0.0);
    const bool keeps = rows_.count * data_.features * int64_t(sizeof(V)) <= kKeptPackedBytes;
    if (keeps) packed_.resize(size_t(blocks_));
    parallel_chunks(blocks_, 1, team, [&](int64_t b, int64_t) {
      if (keeps) packed_[size_t(b)] = std::make_unique<PackedBlock<V>>(pack(b));
      with_packed(b, [&](const Packed<V>& block) { triangle(b, block); });
    });
    const int64_t even = blocks_ + blocks_ % 2;  // with an odd number, one block rests in each round
    for (int64_t round = 0; round + 1 < even; ++round)
      parallel_chunks(even / 2, 1, team, [&](int64_t place, int64_t) {
        const std::pair<int64_t, int64_t> pair = match(even, round, place);
        if (pair.second >= blocks_) return;
        with_packed(pair.second, [&](const Packed<V>& block) { square(pair.first, pair.second, block); });
      });
  }

 private:
  int64_t first(int64_t b) const { return b * step_; }
  int64_t count(int64_t b) const { return std::min(step_, rows_.count - first(b)); }
  Selection rows(int64_t b) const { return rows_.part(first(b), count(b)); }

  PackedBlock<V> pack(int64_t b) const {
    return {data_, kernel_.reduction(), rows(b), coef_ + first(b), hot_.strip_width, differences_};
  }
  template <class Body>
  void with_packed(int64_t b, Body body) const {
    if (!packed_.empty()) return body(packed_[size_t(b)]->view());
    body(pack(b).view());
  }

  // Both directions of the rows of one block against the columns of another.
  void square(int64_t left, int64_t right, const Packed<V>& block) const {
    with_spread(data_, rows(left), differences_,
                [&](const Rows<T>& data, Selection some) { add_both(data, some, left, 0, block, first(right)); });
  }

  // Of a block with itself: each strip against its own rows, and in both directions against the rows after it.
  void triangle(int64_t b, const Packed<V>& block) const {
    with_spread(data_, rows(b), differences_, [&](const Rows<T>& data, Selection some) {
      for (int64_t begin = 0; begin < block.count; begin += hot_.strip_width) {
        const Packed<V> strip = strip_of(block, begin);
        hot_.product(data, kernel_, strip, some.part(begin, strip.count), out_ + first(b) + begin);
        add_both(data, some, b, begin + strip.count, strip, first(b) + begin);
      }
    });
  }

  Packed<V> strip_of(const Packed<V>& block, int64_t begin) const {
    return {block.strips + begin * block.features,
            block.slots,
            block.offsets + begin,
            block.coef + begin,
            std::min<int64_t>(hot_.strip_width, block.count - begin),
            block.features,
            block.differences};
  }

  // The rows of block b from `begin` on, against a block whose sums begin at `column`.
  void add_both(const Rows<T>& data, Selection some, int64_t b, int64_t begin, const Packed<V>& block,
                int64_t column) const {
    const int64_t row = first(b) + begin;
    hot_.both_products(data, kernel_, block, some.part(begin, some.count - begin), coef_ + row, out_ + row,
                       out_ + column);
  }

  const Rows<T>& data_;
  const Selection rows_;
  const KernelSpec& kernel_;
  const double* coef_;
  const bool differences_;
  double* out_;
  const HotKernels<T, V>& hot_ = hot_kernels<T, V>();
  const int64_t step_, blocks_;
  std::vector<std::unique_ptr<PackedBlock<V>>> packed_;  // empty: packed when needed
};

// The same of two sets of rows with each other. In each round every block on the left meets one on the right.
template <class T, class V>
class MutualProduct {
 public:
  MutualProduct(const Rows<T>& data, const KernelSpec& kernel, const Side& left, const Side& right, bool differences)
      : data_(data),
        kernel_(kernel),
        left_(left),
        right_(right),
        differences_(differences),
        step_(block_rows(std::max(left.rows.count, right.rows.count))) {}

  void run(const Team& team) {
    std::fill_n(left_.out, left_.rows.count, 0.0);
    std::fill_n(right_.out, right_.rows.count, 0.0);
    const int64_t on_left = blocks(left_), on_right = blocks(right_), rounds = std::max(on_left, on_right);
    for (int64_t round = 0; round < rounds; ++round)
      parallel_chunks(on_left, 1, team, [&](int64_t place, int64_t) {
        const int64_t other = (place + round) % rounds;
        if (other < on_right) square(place, other);
      });
  }

 private:
  int64_t blocks(const Side& side) const { return (side.rows.count + step_ - 1) / step_; }
  Selection rows(const Side& side, int64_t b) const {
    return side.rows.part(b * step_, std::min(step_, side.rows.count - b * step_));
  }

  void square(int64_t l, int64_t r) const {
    const PackedBlock<V> packed(data_, kernel_.reduction(), rows(right_, r), right_.coef + r * step_, hot_.strip_width,
                                differences_);
    with_spread(data_, rows(left_, l), differences_, [&](const Rows<T>& data, Selection some) {
      hot_.both_products(data, kernel_, packed.view(), some, left_.coef + l * step_, left_.out + l * step_,
                         right_.out + r * step_);
    });
  }

  const Rows<T>& data_;
  const KernelSpec& kernel_;
  const Side &left_, &right_;
  const bool differences_;
  const HotKernels<T, V>& hot_ = hot_kernels<T, V>();
  const int64_t step_;
};

}  // namespace

template <class T, class V>
void mutual_product(const Rows<T>& data, const KernelSpec& kernel, const Side& left, const Side& right,
                    const Team& team, bool differences) {
  MutualProduct<T, V>(data, kernel, left, right, differences).run(team);
}

template <class T, class V>
void symmetric_product(const Rows<T>& data, Selection rows, const KernelSpec& kernel, const double* coef, double* out,
                       const Team& team, bool differences) {
  SymmetricProduct<T, V>(data, rows, kernel, coef, differences, out).run(team);
}

template <class V>
bool symmetry_pays(int64_t features, int64_t rows) {
  constexpr int64_t kEnough = 256;
  return rows >= kEnough && kLargestBlock * features * int64_t(sizeof(V)) <= kPackedBytes;
}

#define SWAPSVM_INSTANTIATE(T, V)                                                                             \
  template void symmetric_product<T, V>(const Rows<T>&, Selection, const KernelSpec&, const double*, double*, \
                                        const Team&, bool);                                                   \
  template void mutual_product<T, V>(const Rows<T>&, const KernelSpec&, const Side&, const Side&, const Team&, bool);
SWAPSVM_INSTANTIATE(float, float)
SWAPSVM_INSTANTIATE(float, double)
SWAPSVM_INSTANTIATE(double, float)
SWAPSVM_INSTANTIATE(double, double)
#undef SWAPSVM_INSTANTIATE
template bool symmetry_pays<float>(int64_t, int64_t);
template bool symmetry_pays<double>(int64_t, int64_t);

}  // namespace swapsvm
