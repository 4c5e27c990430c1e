// Fuzzes the schema's name. An accepted one, quoted, is exactly one SQL token that means the name again.
#include "pg/schema_name.hpp"

#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

// What PostgreSQL's scanner makes of a quoted token, or nothing when it ends before the text does.
std::string unquoted(std::string_view text, char quote, bool escapes) {
  must(text.size() >= 2 && text.front() == quote && text.back() == quote, "it is quoted");
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == quote || (escapes && text[i] == '\\')) {
      must(i + 1 < text.size() && text[i + 1] == text[i], "no quote ends it early");
      ++i;
    }
    out += text[i];
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const std::string name(in.rest());
  const auto parsed = pg::schema_name::parse(name);
  if (!parsed) return 0;
  must(!name.empty() && name.size() <= 63, "PostgreSQL would not cut it");
  must(parsed->name() == name, "the name is kept");
  must(unquoted(parsed->identifier(), '"', false) == name, "the identifier means the name");
  const std::string literal = parsed->literal();
  const bool escapes = literal.starts_with(" E'");
  must(unquoted(std::string_view(literal).substr(escapes ? 2 : 0), '\'', escapes) == name,
       "the literal means the name");
  must(escapes || name.find('\\') == std::string::npos, "a backslash needs an escape string");
  return 0;
}
