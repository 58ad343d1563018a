// The kernels: a reduction of two rows to one number, and a map from that number to k(x, z).
//
//   linear   x'z                        dot
//   poly     (gamma x'z + coef0)^degree dot
//   sigmoid  tanh(gamma x'z + coef0)    dot
//   rbf      exp(-gamma |x - z|^2)      squared distance
//   laplacian exp(-gamma |x - z|_1)     absolute distance
#pragma once

#include "rows.hpp"

namespace swapsvm {

enum class KernelKind { linear, poly, sigmoid, rbf, laplacian };
enum class Reduction { dot, squared, absolute };

struct KernelSpec {
  KernelKind kind = KernelKind::linear;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 1;

  SWAPSVM_ALWAYS_INLINE Reduction reduction() const {
    switch (kind) {
      case KernelKind::rbf: return Reduction::squared;
      case KernelKind::laplacian: return Reduction::absolute;
      default: return Reduction::dot;
    }
  }
};

}  // namespace swapsvm
