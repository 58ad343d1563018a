// Kernel values of rows that lie elsewhere: every product is a pass over them, which somebody else makes.
#include <stdexcept>

#include "source.hpp"

namespace swapsvm {
namespace {

template <class V>
class PassSource final : public Source<V> {
 public:
  PassSource(PassesElsewhere<V> passes, std::vector<double> diagonal, double work)
      : passes_(std::move(passes)), diagonal_(std::move(diagonal)), work_(work) {}

  int64_t size() const override { return int64_t(diagonal_.size()); }
  double diagonal(int64_t row) const override { return diagonal_[size_t(row)]; }
  double work() const override { return work_; }
  bool is_worth_keeping() const override { return false; }  // a line would be as long as the data

  void line(int64_t row, Selection others, V* out, const Team&) const override {
    passes_.block({nullptr, row, 1}, others, out);
  }
  void block(Selection rows, Selection columns, V* out, const Team&) const override {
    passes_.block(rows, columns, out);
  }
  void exact_block(Selection rows, Selection columns, double* out, const Team&) const override {
    passes_.exact_block(rows, columns, out);
  }
  void product(Selection rows, const Vectors& z, bool exact, double* out, const Team& team) const override {
    require_own(z);
    passes_.product(rows, z, exact, out, team.token);
  }
  void symmetric_product(Selection rows, const double* coef, bool exact, double* out, const Team& team) const override {
    passes_.symmetric(rows, {rows, coef}, exact, out, team.token);
  }
  bool symmetry_pays(int64_t rows, bool) const override { return rows >= passes_.least_symmetric; }
  void rounding(Selection rows, const Vectors& z, bool exact, double* bound, const Team& team) const override {
    require_own(z);
    passes_.rounding(rows, z, exact, bound, team.token);
  }

 private:
  static void require_own(const Vectors& z) {
    if (z.data.index() != 0) throw std::invalid_argument("vectors of other data need rows in memory");
  }

  PassesElsewhere<V> passes_;
  std::vector<double> diagonal_;
  double work_;
};

}  // namespace

template <class V>
std::unique_ptr<Source<V>> pass_source(PassesElsewhere<V> passes, std::vector<double> diagonal, double work) {
  return std::make_unique<PassSource<V>>(std::move(passes), std::move(diagonal), work);
}
template std::unique_ptr<Source<float>> pass_source(PassesElsewhere<float>, std::vector<double>, double);
template std::unique_ptr<Source<double>> pass_source(PassesElsewhere<double>, std::vector<double>, double);

}  // namespace swapsvm
