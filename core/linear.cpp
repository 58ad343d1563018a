#include "linear.hpp"

#include <limits>
#include <numeric>

#include "linear_rows.hpp"
#include "packing.hpp"

namespace swapsvm {

namespace {

constexpr int64_t kFewestRows = 1024;          // rows
constexpr int64_t kMostPartialSums = 1 << 20;  // of all chunks together, unless one chunk has more

template <class T>
double entries_per_row(const Rows<T>& data) {
  return data.sparse() ? double(data.indptr[data.size]) / double(std::max<int64_t>(data.size, 1))
                       : double(data.features);
}

// Rows of one chunk of a sum over rows. Each chunk has a sum of its own; there are few where sparse rows are wide, so
// that zeros and additions of whole sums take less time than the entries of the rows.
template <class T>
int64_t chunk_of(const Rows<T>& data, int64_t rows) {
  const double width = double(std::max<int64_t>(data.features, 1));
  const double worthwhile = double(rows) * entries_per_row(data) / (4 * width);
  const int64_t chunks = std::max<int64_t>(1, int64_t(std::min(worthwhile, double(kMostPartialSums) / width)));
  return std::max(kFewestRows, (rows + chunks - 1) / chunks);
}

// A sum and what rounding has lost of it [Knuth's TwoSum]. This file is compiled without contraction of a * b + c.
struct Compensated {
  double sum = 0, lost = 0;

  void add(double term) {
    const double next = sum + term, part = next - sum;
    lost += (sum - (next - part)) + (term - part);
    sum = next;
  }
  void add(const Compensated& other) {
    add(other.sum);
    lost += other.lost;
  }
  double total() const { return sum + lost; }
};

void add_to(double& sum, double part) {
  sum += part;
}
void add_to(Compensated& sum, const Compensated& part) {
  sum.add(part);
}

// The sums over all rows of what add(begin, count, sums) adds for a chunk, in the order of the chunks.
template <class Sum, class T, class Add>
std::vector<Sum> chunk_sums(const Rows<T>& data, int64_t rows, const Team& team, Add add) {
  const int64_t chunk = chunk_of(data, rows), chunks = (rows + chunk - 1) / chunk, width = data.features;
  std::vector<Sum> parts(size_t(std::max<int64_t>(chunks, 1) * width));
  parallel_chunks(rows, chunk, team,
                  [&](int64_t begin, int64_t count) { add(begin, count, parts.data() + begin / chunk * width); });
  for (int64_t c = 1; c < chunks; ++c)
    for (int64_t f = 0; f < width; ++f) add_to(parts[size_t(f)], parts[size_t(c * width + f)]);
  parts.resize(size_t(width));
  return parts;
}

// w = sum_c coef_c z_c, compensated: positive and negative coefficients cancel.
template <class T>
std::vector<double> compensated_sum(const Rows<T>& data, Selection rows, const double* coef, const Team& team) {
  const auto parts = chunk_sums<Compensated>(data, rows.count, team, [&](int64_t begin, int64_t count, auto* sums) {
    for (int64_t c = begin; c < begin + count; ++c)
      for_each_entry(data, rows[c], [&](int64_t f, T x) { sums[f].add(coef[c] * double(x)); });
  });
  std::vector<double> w(size_t(data.features));
  for (size_t f = 0; f < w.size(); ++f) w[f] = parts[f].total();
  return w;
}

template <class T>
int64_t entries_of(const Rows<T>& data, int64_t row) {
  return data.sparse() ? data.indptr[row + 1] - data.indptr[row] : data.features;
}

}  // namespace

template <class T>
std::vector<double> weighted_sum(const Rows<T>& data, Selection rows, const double* coef, const Team& team) {
  return chunk_sums<double>(data, rows.count, team, [&](int64_t begin, int64_t count, double* sums) {
    for (int64_t c = begin; c < begin + count; ++c)
      if (coef[c] != 0) add_row(data, rows[c], coef[c], sums);
  });
}

template <class T>
void multiply_rows(const Rows<T>& data, Selection rows, const double* w, double* out, const Team& team) {
  parallel_chunks(rows.count, kRowChunk, team, [&](int64_t begin, int64_t count) {
    for (int64_t r = begin; r < begin + count; ++r) out[r] = dot_row(data, rows[r], w);
  });
}

template <class T>
void linear_product(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns, const double* coef,
                    double* out, const Team& team) {
  const std::vector<double> w = compensated_sum(right, columns, coef, team);
  multiply_rows(left, rows, w.data(), out, team);
}

// With W = sum_c |coef_c| |z_c|, taken number by number, u the unit of double, m the number of vectors and n that of
// the entries of x, of which dot_row sums a quarter at most, and four, one after the other:
//
//   |w^ - w| <= (2 u + (2 m u)^2) W             products; the compensated sum, whose lost parts are below m u W
//   |x'w^ computed - x'w^| <= (n / 4 + 8) u |x|'|w^|
//   |computed - true| <= (n / 4 + 10 + 4 m^2 u) u |x|'W
//
// to first order. W and |x|'W are sums of positive numbers, which are computed within m u and n u of their value; a
// tenth is added for these and for terms of second order, and m u is far below that for any data in memory. A product
// below the smallest normal number is off by at most that number: m of them in each number of w, and n in x'w. Where a
// number overflows, W does too.
template <class T>
void rounding_of_linear_product(const Rows<T>& left, Selection rows, const Rows<T>& right, Selection columns,
                                const double* coef, double* bound, const Team& team) {
  constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2, kSafety = 1.1;
  constexpr double kSmallest = std::numeric_limits<double>::min(), kInfinite = std::numeric_limits<double>::infinity();
  const auto sizes = chunk_sums<double>(right, columns.count, team, [&](int64_t begin, int64_t count, double* sums) {
    for (int64_t c = begin; c < begin + count; ++c) add_row(right, columns[c], std::abs(coef[c]), sums, Absolute{});
  });
  const std::vector<double> ones(sizes.size(), 1.0);
  const double vectors = double(columns.count), of_sum = 10 + 4 * vectors * vectors * kUnit;
  parallel_chunks(rows.count, kRowChunk, team, [&](int64_t begin, int64_t count) {
    for (int64_t r = begin; r < begin + count; ++r) {
      const double entries = double(entries_of(left, rows[r]));
      const double size = dot_row(left, rows[r], sizes.data(), Absolute{});
      const double underflow = kSmallest * (entries + vectors * (1 + dot_row(left, rows[r], ones.data(), Absolute{})));
      const double found = kSafety * (kUnit * (entries / 4 + of_sum) * size + underflow);
      bound[r] = std::isfinite(found) ? found : kInfinite;
    }
  });
}

LinearFeatures::LinearFeatures(const AnyRows& data, std::vector<Index> rows, double bias, int threads)
    : data_(data),
      rows_(std::move(rows)),
      features_(std::visit([](const auto& x) { return x.features; }, data)),
      constant_(std::sqrt(bias)),
      threads_(threads) {}

std::vector<double> LinearFeatures::product(const double* v) const {
  std::vector<double> out(rows_.size());
  std::visit([&](const auto& data) { multiply_rows(data, selection(), v, out.data(), Team{threads_}); }, data_);
  for (double& value : out) value += constant_ * v[features_];
  return out;
}

std::vector<double> LinearFeatures::transposed(const double* w) const {
  auto sums = std::visit([&](const auto& data) { return weighted_sum(data, selection(), w, Team{threads_}); }, data_);
  sums.push_back(constant_ * std::accumulate(w, w + rows(), 0.0));
  return sums;
}

std::vector<double> LinearFeatures::quadratic(const double* w, const double* v) const {
  const int64_t chunk = std::visit([&](const auto& data) { return chunk_of(data, rows()); }, data_);
  std::vector<double> totals(size_t(rows() / chunk + 1), 0.0);  // of the constant feature, for each chunk
  auto sums = std::visit(
      [&](const auto& data) {
        return chunk_sums<double>(data, rows(), Team{threads_}, [&](int64_t begin, int64_t count, double* part) {
          double total = 0;
          for (int64_t i = begin; i < begin + count; ++i) {
            if (w[i] == 0) continue;
            const double weighted = w[i] * (dot_row(data, rows_[size_t(i)], v) + constant_ * v[features_]);
            add_row(data, rows_[size_t(i)], weighted, part);
            total += weighted;
          }
          totals[size_t(begin / chunk)] = total;
        });
      },
      data_);
  sums.push_back(constant_ * std::accumulate(totals.begin(), totals.end(), 0.0));
  return sums;
}

std::vector<double> LinearFeatures::squares(const double* w) const {
  auto sums = std::visit(
      [&](const auto& data) {
        return chunk_sums<double>(data, rows(), Team{threads_}, [&](int64_t begin, int64_t count, double* part) {
          for (int64_t i = begin; i < begin + count; ++i)
            if (w[i] != 0) add_row(data, rows_[size_t(i)], w[i], part, Square{});
        });
      },
      data_);
  sums.push_back(constant_ * constant_ * std::accumulate(w, w + rows(), 0.0));
  return sums;
}

std::vector<float> LinearFeatures::some(Selection places) const {
  std::vector<float> out(size_t(places.count * columns()), 0.0f);
  const auto fill = [&](const auto& data) {
    using T = std::decay_t<decltype(*data.data)>;
    for (int64_t k = 0; k < places.count; ++k) {
      float* z = &out[size_t(k * columns())];
      for_each_entry(data, rows_[size_t(places[k])], [&](int64_t f, T x) { z[f] = float(x); });
      z[features_] = float(constant_);
    }
  };
  std::visit(fill, data_);
  return out;
}

#define SWAPSVM_INSTANTIATE(T)                                                                                     \
  template std::vector<double> weighted_sum<T>(const Rows<T>&, Selection, const double*, const Team&);             \
  template void multiply_rows<T>(const Rows<T>&, Selection, const double*, double*, const Team&);                  \
  template void linear_product<T>(const Rows<T>&, Selection, const Rows<T>&, Selection, const double*, double*,    \
                                  const Team&);                                                                    \
  template void rounding_of_linear_product<T>(const Rows<T>&, Selection, const Rows<T>&, Selection, const double*, \
                                              double*, const Team&);
SWAPSVM_INSTANTIATE(float)
SWAPSVM_INSTANTIATE(double)
#undef SWAPSVM_INSTANTIATE

}  // namespace swapsvm
