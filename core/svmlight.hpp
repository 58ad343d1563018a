// A reader of the svmlight (LIBSVM) format, fed with text in pieces of any size:
//
//   line:  label [qid:number] {index:value} [# comment]       index = 1, 2, ... increasing
//
// Lines without a label are skipped; qid and comments are allowed and dropped. Memory is bounded by what was fed.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "rows.hpp"

namespace swapsvm {

struct Labelled {
  std::vector<double> labels;
  std::vector<double> data;
  std::vector<Index> indices;
  std::vector<int64_t> indptr = {0};
  int64_t features = 0;  // the largest index, or what the caller said
};

class SvmlightReader {
 public:
  // 0 features: the largest index that occurs
  explicit SvmlightReader(int64_t features) : features_(features) {
    if (features < 0) throw std::invalid_argument("a negative number of features");
  }

  void feed(std::string_view text);  // throws std::invalid_argument that names the line
  Labelled finish();

 private:
  void read_line(std::string_view line);
  void read_row(std::string_view line);
  void read_entry(std::string_view token, std::string_view& line);
  Index read_index(std::string_view text);

  Labelled rows_;
  std::string unfinished_;  // the line that the last piece ended in
  int64_t line_ = 0;
  int64_t features_;
};

}  // namespace swapsvm
