#include "features.hpp"

namespace swapsvm {

namespace {

constexpr int64_t kPiece = 4096;      // rows whose kernel values are computed together
constexpr int64_t kSolved = 128;      // rows of one triangular solve
constexpr int64_t kLeastChunk = 512;  // rows
constexpr int64_t kMostChunks = 256;
constexpr int64_t kTogether = 8;  // rows that stay in the first-level cache between the two halves of quadratic()

}  // namespace

template <class V>
Features::Features(Gram<V>& gram, Selection rows, Selection landmarks, const float* factor, double bias,
                   TriangularSolve solve)
    : rows_(rows.count),
      columns_(landmarks.count),
      stride_((landmarks.count + kAlign - 1) / kAlign * kAlign),
      chunk_(std::max(kLeastChunk, (rows.count + kMostChunks - 1) / kMostChunks)),
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

template <class Add>
std::vector<double> Features::sum_over_chunks(Add add) const {
  const int64_t chunks = (rows_ + chunk_ - 1) / chunk_;
  std::vector<double> parts(size_t(chunks * stride_), 0.0);
  parallel_chunks(rows_, chunk_, Team{threads_},
                  [&](int64_t begin, int64_t count) { add(begin, count, &parts[begin / chunk_ * stride_]); });
  std::vector<double> sums(parts.begin(), parts.begin() + columns_);
  for (int64_t c = 1; c < chunks; ++c)
    for (int64_t f = 0; f < columns_; ++f) sums[size_t(f)] += parts[size_t(c * stride_ + f)];
  return sums;
}

std::vector<double> Features::product(const double* v) const {
  const std::vector<double> all = padded(v);
  std::vector<double> out(static_cast<size_t>(rows_));
  parallel_chunks(rows_, chunk_, Team{threads_}, [&](int64_t begin, int64_t count) {
    hot_features().dot_rows(row(begin), count, stride_, all.data(), &out[size_t(begin)]);
  });
  return out;
}

std::vector<double> Features::transposed(const double* w) const {
  return sum_over_chunks([&](int64_t begin, int64_t count, double* sums) {
    hot_features().add_rows(row(begin), count, stride_, w + begin, sums);
  });
}

std::vector<double> Features::quadratic(const double* w, const double* v) const {
  const std::vector<double> all = padded(v);
  return sum_over_chunks([&](int64_t begin, int64_t count, double* sums) {
    double weighted[kTogether];
    for (int64_t first = begin; first < begin + count; first += kTogether) {
      const int64_t some = std::min(kTogether, begin + count - first);
      hot_features().dot_rows(row(first), some, stride_, all.data(), weighted);
      for (int64_t i = 0; i < some; ++i) weighted[i] *= w[first + i];
      hot_features().add_rows(row(first), some, stride_, weighted, sums);
    }
  });
}

std::vector<float> Features::some(Selection rows) const {
  std::vector<float> out(size_t(rows.count * columns_));
  for (int64_t k = 0; k < rows.count; ++k) std::copy_n(row(rows[k]), columns_, &out[size_t(k * columns_)]);
  return out;
}

template Features::Features(Gram<float>&, Selection, Selection, const float*, double, TriangularSolve);
template Features::Features(Gram<double>&, Selection, Selection, const float*, double, TriangularSolve);

}  // namespace swapsvm
