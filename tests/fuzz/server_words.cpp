// Fuzzes what is done to the words of servers before they are shown: of PostgreSQL's login refusals, one line
// with an SQLSTATE or none; of a broker's texts, bounded, without control characters, and no UTF-8 character
// cut in two.
#include <algorithm>

#include "core/text.hpp"
#include "input.hpp"
#include "pg/connection_string.hpp"
#include "pg/sqlstate.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

void check_postgres(std::string_view words) {
  const auto line = pg::one_line(words);
  must(line.find_first_of("\n\r\t") == std::string::npos, "one line is one line");
  must(line.find("  ") == std::string::npos && !line.ends_with(' '), "without needless blanks");
  must(pg::one_line(line) == line, "one line stays as it is");
  const auto refusal = pg::parse_refusal(words);
  must(refusal.sqlstate.empty() || refusal.sqlstate.size() == 5, "an SQLSTATE has five characters");
  must(pg::refused(refusal.sqlstate, refusal.words).message.starts_with(refusal.words), "a refusal is told");
  must(!pg::refused_statement(refusal.sqlstate, refusal.words).message.empty(), "a refused statement, too");
}

void check_broker(std::string_view words, std::size_t most) {
  const auto shown = printable(words, most);
  must(shown.size() <= most + 3, "a text is of bounded length");
  must(std::none_of(shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }),
       "a text has no control characters");
  must(words.size() > most || shown.size() == words.size(), "a short text keeps its length");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const std::size_t most = in.byte();
  const auto words = in.rest();
  check_postgres(words);
  check_broker(words, most);
  return 0;
}
