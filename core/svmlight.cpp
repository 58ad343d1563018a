#include "svmlight.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#if defined(__APPLE__)
#include <stdlib.h>
#include <xlocale.h>

#include <cerrno>
#endif

namespace swapsvm {
namespace {

constexpr size_t kQuoted = 40;  // characters of a bad token that an error shows

// Printable ASCII only: the text may be anything.
std::string quoted(std::string_view token) {
  constexpr char hex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : token.substr(0, kQuoted)) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code < 0x7f)
      out += c;
    else
      out += {'\\', 'x', hex[code >> 4], hex[code & 15]};
  }
  return out + (token.size() > kQuoted ? "...'" : "'");
}

[[noreturn]] void refuse(const std::string& what, std::string_view token) {
  throw std::invalid_argument(what + ", not " + quoted(token));
}

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// The next run of characters that are not blank; empty at the end of the line.
std::string_view take_token(std::string_view& line) {
  const auto begin = std::find_if_not(line.begin(), line.end(), blank), end = std::find_if(begin, line.end(), blank);
  const std::string_view token = line.substr(size_t(begin - line.begin()), size_t(end - begin));
  line.remove_prefix(size_t(end - line.begin()));
  return token;
}

template <class T>
bool parse(std::string_view text, T& number) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end;
}

#if defined(__APPLE__)  // the library of older systems has no std::from_chars of doubles: the same by strtod
bool parse(std::string_view text, double& number) {
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  number = strtod_l(copy.c_str(), &end, c_locale);
  const bool underflow = errno == ERANGE && number == 0;
  const bool decimal = text.find_first_not_of("+-.0123456789eE") == std::string_view::npos && text.substr(0, 1) != "+";
  return decimal && !underflow && !text.empty() && end == copy.c_str() + copy.size();
}
#endif

double parse_number(std::string_view text, const char* what) {
  double number = 0;
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  if (!parse(text.substr(plus ? 1 : 0), number) || !std::isfinite(number))
    refuse(std::string(what) + " must be a finite number", text);
  return number;
}

}  // namespace

void SvmlightReader::feed(std::string_view text) {
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    if (unfinished_.empty()) {
      read_line(text.substr(0, end));
    } else {
      unfinished_ += text.substr(0, end);
      read_line(unfinished_);
      unfinished_.clear();
    }
  }
  unfinished_ += text;
}

Labelled SvmlightReader::finish() {
  if (!unfinished_.empty()) read_line(unfinished_);
  unfinished_.clear();
  if (features_ > 0) rows_.features = features_;
  return std::exchange(rows_, Labelled{});
}

void SvmlightReader::read_line(std::string_view line) {
  ++line_;
  try {
    read_row(line.substr(0, line.find('#')));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("line " + std::to_string(line_) + ": " + error.what());
  }
}

void SvmlightReader::read_row(std::string_view line) {
  std::string_view token = take_token(line);
  if (token.empty()) return;
  rows_.labels.push_back(parse_number(token, "a label"));
  token = take_token(line);
  if (token.substr(0, 4) == "qid:") {
    if (int64_t query; !parse(token.substr(4), query)) refuse("qid must be an integer", token.substr(4));
    token = take_token(line);
  }
  for (; !token.empty(); token = take_token(line)) read_entry(token, line);
  rows_.indptr.push_back(int64_t(rows_.data.size()));
}

void SvmlightReader::read_entry(std::string_view token, std::string_view& line) {
  const size_t colon = token.find(':');
  if (colon == std::string_view::npos) refuse("an entry must be index:value", token);
  const Index index = read_index(token.substr(0, colon));
  std::string_view value = token.substr(colon + 1);
  if (value.empty()) value = take_token(line);  // LIBSVM's protein has blanks after its colons
  rows_.data.push_back(parse_number(value, "a value"));
  rows_.indices.push_back(index - 1);
}

Index SvmlightReader::read_index(std::string_view text) {
  int64_t index = 0;
  if (!parse(text, index) || index > std::numeric_limits<Index>::max())
    refuse("an index must be an integer below 2^31", text);
  if (index < 1) refuse("indices start at 1", text);
  if (features_ > 0 && index > features_)
    refuse("indices end at the number of features, " + std::to_string(features_), text);
  const bool first = int64_t(rows_.data.size()) == rows_.indptr.back();
  if (!first && index <= rows_.indices.back() + int64_t(1)) refuse("indices must increase within a row", text);
  rows_.features = std::max(rows_.features, index);
  return Index(index);
}

}  // namespace swapsvm
