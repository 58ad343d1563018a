// Kernel values and products at every instruction set of this machine, against plain loops in long double.
#include <string>

#include "check.hpp"
#include "data.hpp"
#include "product.hpp"
#if defined(__x86_64__)
#include "processor.hpp"
#endif

using namespace swapsvm;

namespace {

const KernelSpec kKernels[] = {{KernelKind::linear, 1, 0, 1},
                               {KernelKind::poly, 0.5, 1.0, 3},
                               {KernelKind::sigmoid, 0.1, 0.2, 1},
                               {KernelKind::rbf, 0.3, 0, 1},
                               {KernelKind::laplacian, 0.2, 0, 1}};
constexpr int64_t kWidths[] = {1, 2, 3, 7, 8, 15, 16, 17, 33, 64, 200};  // around every vector length, and of a panel

template <class T>
long double expected(const KernelSpec& k, const tests::Matrix<T>& x, int64_t r, const tests::Matrix<T>& z, int64_t c) {
  long double dot = 0, squared = 0, absolute = 0;
  for (int64_t f = 0; f < x.columns; ++f) {
    const long double a = x.at(r, f), b = z.at(c, f);
    dot += a * b, squared += (a - b) * (a - b), absolute += std::fabs(a - b);
  }
  switch (k.kind) {
    case KernelKind::linear: return dot;
    case KernelKind::poly: return std::pow((long double)(k.gamma) * dot + (long double)(k.coef0), k.degree);
    case KernelKind::sigmoid: return std::tanh((long double)(k.gamma) * dot + (long double)(k.coef0));
    case KernelKind::rbf: return std::exp(-(long double)(k.gamma) * squared);
    case KernelKind::laplacian: return std::exp(-(long double)(k.gamma) * absolute);
  }
  return 0;
}

template <class V>
constexpr double kTolerance = sizeof(V) == 4 ? 4e-6 : 1e-12;

template <class T, class V>
struct Case {
  const KernelSpec& kernel;
  const tests::Matrix<T>&x, &z;
  bool sparse;
  std::string where;

  Rows<T> left() const { return sparse ? x.as_sparse() : x.as_dense(); }
  Rows<T> right() const { return sparse ? z.as_sparse() : z.as_dense(); }

  void check_block(bool differences) const {
    std::vector<V> out(size_t(x.rows * z.rows));
    kernel_block<T, V>(left(), all_rows(x.rows), right(), all_rows(z.rows), kernel, out.data(), {}, differences);
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t c = 0; c < z.rows; ++c) {
        const double error = double(out[size_t(r * z.rows + c)] - expected(kernel, x, r, z, c));
        CHECK(std::abs(error) <= kTolerance<V>, error, where);
      }
  }

  void check_product(bool differences) const {
    tests::Random random(3);
    std::vector<double> coef, out(size_t(x.rows));
    for (int64_t c = 0; c < z.rows; ++c) coef.push_back(random.normal());
    fused_product<T, V>(left(), all_rows(x.rows), right(), all_rows(z.rows), kernel, coef.data(), out.data(), {},
                        differences);
    for (int64_t r = 0; r < x.rows; ++r) {
      long double sum = 0;
      for (int64_t c = 0; c < z.rows; ++c) sum += coef[size_t(c)] * expected(kernel, x, r, z, c);
      CHECK(std::abs(double(out[size_t(r)] - sum)) <= 20 * kTolerance<V>, where);
    }
  }
};

template <class T, class V>
void check_all(const std::string& level) {
  for (const int64_t columns : kWidths) {
    const tests::Matrix<T> x(13, columns, 1), z(37, columns, 2);
    for (const KernelSpec& kernel : kKernels)
      for (const bool sparse : {false, true})
        for (const bool differences : {false, true}) {
          const std::string where = level + " kernel " + std::to_string(int(kernel.kind)) + " columns " +
                                    std::to_string(columns) + (sparse ? " sparse" : " dense");
          const Case<T, V> one{kernel, x, z, sparse, where};
          one.check_block(differences);
          one.check_product(differences);
        }
  }
}

}  // namespace

TEST(kernels_at_every_level_equal_plain_loops) {
  const std::string before = simd_level();
  for (const std::string& level : simd_levels()) {
    select_simd(level);
    check_all<float, float>(level);
    check_all<float, double>(level);
    check_all<double, float>(level);
    check_all<double, double>(level);
  }
  select_simd(before);
}

TEST(exponentials_have_all_digits) {
  std::vector<double> values, exact;
  for (double x = -700; x < 0; x += 0.37) values.push_back(x), exact.push_back(double(std::exp((long double)(x))));
  hot_updates<double>().exponential(values.data(), int64_t(values.size()));
  for (size_t k = 0; k < values.size(); ++k) CHECK(std::abs(values[k] / exact[k] - 1) < 1e-14, exact[k]);
}

#if defined(__x86_64__) && defined(__linux__)  // where the compiler's own test needs no further library
TEST(processor_level_is_that_of_the_compiler) {
  __builtin_cpu_init();
  const int level = __builtin_cpu_supports("x86-64-v4")   ? 4
                    : __builtin_cpu_supports("x86-64-v3") ? 3
                    : __builtin_cpu_supports("x86-64-v2") ? 2
                                                          : 1;
  CHECK(x86_level() == level, x86_level(), level);
}
#endif
