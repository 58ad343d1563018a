// What the files of this folder share: NumPy arrays to and from vectors, and calls without the GIL. They are the only
// ones that know Python; every call that computes releases the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/variant.h>

#include <mutex>
#include <utility>
#include <vector>

#include "../source.hpp"
#include "../subnormals.hpp"

namespace swapsvm {

namespace nb = nanobind;
using namespace nb::literals;

void bind_stop_token(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_gram(nb::module_& m);
void bind_states(nb::module_& m);
void bind_features(nb::module_& m);
void bind_whole(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_svmlight(nb::module_& m);
void bind_votes(nb::module_& m);

void hear_signals();  // Ctrl-C inside a long computation: its handler may raise, or request a stop

template <class Gram>
const AnyRows& checked_linear_rows(const Gram& gram) {
  const AnyRows* rows = gram.linear_rows();
  if (!rows) throw std::invalid_argument("the kernel is not linear, or has no rows");
  return *rows;
}

// Runs body() without the GIL and with the Gram's cache to itself.
template <class Gram, class Body>
auto exclusively(Gram& gram, Body body) {
  nb::gil_scoped_release release;
  const FlushSubnormals flush;
  std::lock_guard<std::mutex> lock(gram.mutex());
  return body();
}

// The same until a token stops it.
template <class Gram, class Body>
auto until_stopped(Gram& gram, StopToken* token, Body body) {
  return exclusively(gram, [&] {
    struct Lent {
      Gram& gram;
      ~Lent() { gram.token = nullptr; }
    } lent{gram};
    gram.token = token;
    return body();
  });
}

// The same until the token of the state stops it.
template <class State, class Body>
auto stoppably(State& state, Body body) {
  return until_stopped(state.gram(), state.token().get(), body);
}

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using NewMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class Array, class T>
Array new_array(std::vector<T> values, std::initializer_list<size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array(kept->data(), shape, owner);
}

template <class T>
NewVector<T> to_numpy(std::vector<T> values) {
  const size_t size = values.size();
  return new_array<NewVector<T>>(std::move(values), {size});
}

template <class T>
NewMatrix<T> to_numpy(std::vector<T> values, size_t rows, size_t columns) {
  return new_array<NewMatrix<T>>(std::move(values), {rows, columns});
}

template <class T>
std::vector<T> to_vector(const Vector<T>& array) {
  return std::vector<T>(array.data(), array.data() + array.shape(0));
}

}  // namespace swapsvm
