#include "../svmlight.hpp"

#include <nanobind/stl/tuple.h>

#include "bindings.hpp"

namespace swapsvm {

void bind_svmlight(nb::module_& m) {
  nb::class_<SvmlightReader>(m, "SvmlightReader")
      .def(nb::init<int64_t>(), "features"_a)
      .def(
          "feed",
          [](SvmlightReader& reader, const nb::bytes& text) {
            const std::string_view view(text.c_str(), text.size());
            nb::gil_scoped_release release;
            reader.feed(view);
          },
          "text"_a)
      .def("finish", [](SvmlightReader& reader) {
        Labelled rows = reader.finish();
        return std::make_tuple(to_numpy(std::move(rows.labels)), to_numpy(std::move(rows.data)),
                               to_numpy(std::move(rows.indices)), to_numpy(std::move(rows.indptr)), rows.features);
      });
}

}  // namespace swapsvm
