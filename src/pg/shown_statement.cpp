#include "pg/shown_statement.hpp"

#include <cctype>

#include "pg/connection_string.hpp"

namespace outboxd::pg {
namespace {

constexpr std::size_t most = 200;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool begins_literal(std::string_view sql, std::size_t at) {
  const char c = sql[at];
  const bool in_word = at > 0 && is_word(sql[at - 1]);
  const auto two = sql.substr(at, 2);
  return c == '\'' || c == '$' || two == "--" || two == "/*" ||
         (!in_word && std::isdigit(static_cast<unsigned char>(c)) != 0);
}

// Replaces everything except printable ASCII, because the server's encoding is unknown here.
char plain(char c) {
  return std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
}

}  // namespace

std::string shown_statement(std::string_view sql) {
  const std::string line = one_line(sql);
  std::string out;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (out.size() == most || begins_literal(line, at)) return out + "...";
    out.push_back(plain(line[at]));
  }
  return out;
}

}  // namespace outboxd::pg
