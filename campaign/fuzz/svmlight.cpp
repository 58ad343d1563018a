// libFuzzer on the reader of svmlight text: any bytes, in pieces of any size, are rows or std::invalid_argument.
#include "svmlight.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const swapsvm::Labelled& rows) {
  require(rows.indptr.size() == rows.labels.size() + 1);
  require(rows.indptr.front() == 0 && size_t(rows.indptr.back()) == rows.data.size());
  require(rows.indices.size() == rows.data.size());
  for (size_t r = 0; r + 1 < rows.indptr.size(); ++r) {
    require(rows.indptr[r] <= rows.indptr[r + 1]);
    for (int64_t k = rows.indptr[r]; k < rows.indptr[r + 1]; ++k) {
      require(rows.indices[size_t(k)] >= 0 && rows.indices[size_t(k)] < rows.features);
      require(k == rows.indptr[r] || rows.indices[size_t(k - 1)] < rows.indices[size_t(k)]);
    }
  }
}

}  // namespace

// The first byte is the size of the pieces, the second the number of features.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t piece = size_t(data[0]) + 1;
  swapsvm::SvmlightReader reader(data[1] < 128 ? 0 : data[1] - 127);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  try {
    for (size_t at = 0; at < text.size(); at += piece) reader.feed(text.substr(at, piece));
    check(reader.finish());
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
