#include <nanobind/stl/shared_ptr.h>

#include "../threads.hpp"
#include "bindings.hpp"

namespace swapsvm {

void hear_signals() {
  nb::gil_scoped_acquire acquire;
  const FlushSubnormals as_usual(false);
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void bind_stop_token(nb::module_& m) {
  nb::exception<Stopped>(m, "Stopped");
  nb::class_<StopToken>(m, "StopToken")
      .def("__init__", [](StopToken* self) { new (self) StopToken(hear_signals); })
      .def("sharing", &StopToken::sharing)
      .def("request", &StopToken::request)
      .def("heed_requests", &StopToken::heed_requests, "heed"_a)
      .def("set_seconds_left", &StopToken::set_seconds_left, "seconds"_a)
      .def_prop_ro("requested", &StopToken::requested)
      .def_prop_ro("stopped", &StopToken::stopped);
}

}  // namespace swapsvm
