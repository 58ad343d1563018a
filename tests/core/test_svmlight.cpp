// The reader of svmlight text: numbers to the last bit, pieces of any size, refusals.
#include "check.hpp"
#include "svmlight.hpp"

using namespace swapsvm;

namespace {

Labelled read(const std::string& text, size_t piece = 1 << 20, int64_t features = 0) {
  SvmlightReader reader(features);
  for (size_t at = 0; at < text.size(); at += piece) reader.feed(std::string_view(text).substr(at, piece));
  return reader.finish();
}

double number(const std::string& text) {
  return read("1 1:" + text + "\n").data.at(0);
}

}  // namespace

TEST(svmlight_lines_of_any_form_are_read_in_pieces) {
  const std::string text = "+1 1:0.5 3:-2e3 # a comment\n\n-1 qid:7 2:1e-300\r\n2\n1 4: 7";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    const Labelled rows = read(text, piece);
    CHECK(rows.labels == (std::vector<double>{1, -1, 2, 1}), piece);
    CHECK(rows.data == (std::vector<double>{0.5, -2e3, 1e-300, 7}), piece);
    CHECK(rows.indices == (std::vector<Index>{0, 2, 1, 3}), piece);
    CHECK(rows.indptr == (std::vector<int64_t>{0, 2, 3, 3, 4}), piece);
    CHECK(rows.features == 4, rows.features);
  }
}

TEST(svmlight_numbers_have_all_bits) {
  CHECK(number("0.1") == 0.1);
  CHECK(number("+.5") == 0.5);
  CHECK(number("5.") == 5);
  CHECK(number("-0.30000000000000004") == -0.30000000000000004);
  CHECK(number("1.7976931348623157e308") == 1.7976931348623157e308);
  CHECK(number("4.9406564584124654e-324") == 4.9406564584124654e-324);
  CHECK(number("2.2250738585072014E-308") == 2.2250738585072014e-308);
  CHECK(number("123456789012345678901234567890") == 123456789012345678901234567890.0);
}

TEST(svmlight_refuses_what_is_no_number) {
  for (const char* text : {"inf", "nan", "nan(1)", "0x10", "1e400", "1e-400", "1e", "++1", "+-1", "--1", "1,5", "."})
    CHECK_THROWS(number(text), std::invalid_argument);
}

TEST(svmlight_refuses_bad_indices) {
  for (const char* entry :
       {"0:1", "-1:1", "2147483648:1", "99999999999999999999:1", "x:1", ":1", "1", "2:1 2:1", "9:1"})
    CHECK_THROWS(read(std::string("1 ") + entry, 1 << 20, 8), std::invalid_argument);
}
