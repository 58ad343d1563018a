#include "features.hpp"

#include <type_traits>

namespace swapsvm {

namespace {

constexpr int64_t kPiece = 4096;      // rows whose kernel values are computed together
constexpr int64_t kSolved = 256;      // rows of one triangular solve
constexpr int64_t kLeastChunk = 512;  // rows
constexpr int64_t kMostChunks = 256;
constexpr int64_t kTogether = 8;  // rows that stay in the first-level cache between the two halves of quadratic()

}  // namespace

template <class V>
Features::Features(Gram<V>& gram, Selection rows, Selection landmarks, const float* factor, double bias,
                   TriangularSolve solve)
    : Passes(rows.count, landmarks.count),
      threads_(gram.threads()),
      values_(aligned_array<float>(rows_ * stride_, Filling::full)),
      residual_(size_t(rows_)) {
  std::vector<V> kernel(size_t(std::min(kPiece, rows_) * columns_));
  for (int64_t first = 0; first < rows_; first += kPiece) {
    const int64_t count = std::min(kPiece, rows_ - first);
    gram.block(rows.part(first, count), landmarks, kernel.data());
    parallel_chunks(count, kSolved, gram.team(), [&](int64_t begin, int64_t length) {
      float* z = values_.get() + (first + begin) * stride_;
      for (int64_t i = 0; i < length; ++i) {
        for (int64_t f = 0; f < columns_; ++f)
          z[i * stride_ + f] = float(double(kernel[(begin + i) * columns_ + f]) + bias);
        std::fill(z + i * stride_ + columns_, z + (i + 1) * stride_, 0.0f);
      }
      // Row by row, L is L' column by column: solve (L')' X = X with the rows of Z as the columns of X.
      char left = 'L', upper = 'U', transposed = 'T', plain = 'N';
      int m = int(columns_), n = int(length), ld = int(stride_);
      float one = 1.0f;
      solve(&left, &upper, &transposed, &plain, &m, &n, &one, const_cast<float*>(factor), &m, z, &ld);
      for (int64_t i = 0; i < length; ++i) {
        double square = 0;
        for (int64_t f = 0; f < columns_; ++f) square += double(z[i * stride_ + f]) * double(z[i * stride_ + f]);
        residual_[size_t(first + begin + i)] = std::max(0.0, gram.diagonal(rows[first + begin + i]) + bias - square);
      }
    });
  }
}

Passes::Passes(int64_t rows, int64_t columns)
    : rows_(rows),
      columns_(columns),
      stride_((columns + kAlign - 1) / kAlign * kAlign),
      chunk_(std::max(kLeastChunk, (rows + kMostChunks - 1) / kMostChunks)) {}

template <class Use>
void Passes::for_each_tile(int64_t begin, int64_t count, Use use) const {
  std::vector<float> scratch;
  const int64_t most = tile_rows();
  for (int64_t first = begin; first < begin + count; first += most) {
    const int64_t some = std::min(most, begin + count - first);
    use(tile(first, some, scratch), first, some);
  }
}

template <class Add>
std::vector<double> Passes::sum_over_tiles(Add add) const {
  const int64_t chunks = (rows_ + chunk_ - 1) / chunk_;
  std::vector<double> parts(size_t(chunks * stride_), 0.0);
  parallel_chunks(rows_, chunk_, team(), [&](int64_t begin, int64_t count) {
    for_each_tile(begin, count, [&](const float* numbers, int64_t first, int64_t some) {
      add(numbers, first, some, &parts[begin / chunk_ * stride_]);
    });
  });
  std::vector<double> sums(parts.begin(), parts.begin() + columns_);
  for (int64_t c = 1; c < chunks; ++c)
    for (int64_t f = 0; f < columns_; ++f) sums[size_t(f)] += parts[size_t(c * stride_ + f)];
  return sums;
}

std::vector<double> Passes::product(const double* v) const {
  const std::vector<double> all = padded(v);
  std::vector<double> out(static_cast<size_t>(rows_));
  parallel_chunks(rows_, chunk_, team(), [&](int64_t begin, int64_t count) {
    for_each_tile(begin, count, [&](const float* numbers, int64_t first, int64_t some) {
      hot_features().dot_rows(numbers, some, stride_, all.data(), &out[size_t(first)]);
    });
  });
  return out;
}

std::vector<double> Passes::transposed(const double* w) const {
  return sum_over_tiles([&](const float* numbers, int64_t first, int64_t count, double* sums) {
    hot_features().add_rows(numbers, count, stride_, w + first, sums);
  });
}

std::vector<double> Passes::quadratic(const double* w, const double* v) const {
  const std::vector<double> all = padded(v);
  return sum_over_tiles([&](const float* numbers, int64_t first, int64_t count, double* sums) {
    double weighted[kTogether];
    for (int64_t done = 0; done < count; done += kTogether) {
      const int64_t some = std::min(kTogether, count - done);
      const float* rows = numbers + done * stride_;
      hot_features().dot_rows(rows, some, stride_, all.data(), weighted);
      for (int64_t i = 0; i < some; ++i) weighted[i] *= w[first + done + i];
      hot_features().add_rows(rows, some, stride_, weighted, sums);
    }
  });
}

int64_t Passes::rows_of_a_tile() const {
  constexpr int64_t kTile = 1 << 19;  // few enough for a cache, and many for landmarks that are packed for each tile
  return std::max<int64_t>(kTogether, kTile / stride_ / kTogether * kTogether);
}

GivenColumns::GivenColumns(const float* numbers, int64_t rows, int64_t stride, int64_t columns, int threads)
    : Passes(rows, columns), numbers_(numbers), threads_(threads) {
  if (stride != stride_) throw std::invalid_argument("rows of another length");
}

template <class V>
std::vector<float> KernelColumns<V>::numbers() const {
  std::vector<float> out(size_t(rows_ * stride_));
  parallel_chunks(rows_, tile_rows(), team(), [&](int64_t begin, int64_t count) {
    std::vector<float> scratch;
    std::copy_n(tile(begin, count, scratch), count * stride_, &out[size_t(begin * stride_)]);
  });
  return out;
}

template <class V>
const float* KernelColumns<V>::tile(int64_t first, int64_t count, std::vector<float>& scratch) const {
  const Selection rows{listed_.data() + first, 0, count}, landmarks{landmarks_.data(), 0, stride_};
  scratch.resize(size_t(std::max(int64_t(scratch.size()), count * stride_)));
  if constexpr (std::is_same_v<V, float>) {
    gram_.block_in_thread(rows, landmarks, scratch.data());
  } else {
    std::vector<V> values(size_t(count * stride_));
    gram_.block_in_thread(rows, landmarks, values.data());
    std::copy(values.begin(), values.end(), scratch.begin());
  }
  for (int64_t k = 0; k < count * stride_; ++k) scratch[size_t(k)] += float(bias_);
  return scratch.data();
}

std::vector<float> Features::some(Selection rows) const {
  std::vector<float> out(size_t(rows.count * columns_));
  for (int64_t k = 0; k < rows.count; ++k) std::copy_n(row(rows[k]), columns_, &out[size_t(k * columns_)]);
  return out;
}

template Features::Features(Gram<float>&, Selection, Selection, const float*, double, TriangularSolve);
template Features::Features(Gram<double>&, Selection, Selection, const float*, double, TriangularSolve);
template class KernelColumns<float>;
template class KernelColumns<double>;

}  // namespace swapsvm
