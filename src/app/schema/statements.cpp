#include "app/schema/statements.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::app {
namespace {

constexpr std::string_view body_quote = "$outboxd$";

// Behind what begins at `at`: a quoted name or text, a function's body, or one character.
std::size_t behind(std::string_view sql, std::size_t at) {
  const char c = sql[at];
  const auto end_of = [&](std::string_view mark, std::size_t from) {
    const auto end = sql.find(mark, from);
    return end == std::string_view::npos ? sql.size() : end + mark.size();
  };
  if (c == '\'' || c == '"') return end_of(std::string_view(&c, 1), at + 1);
  if (sql.substr(at).starts_with(body_quote)) return end_of(body_quote, at + body_quote.size());
  return at + 1;
}

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t';
}

}  // namespace

std::vector<std::string> statements_of(std::string_view sql) {
  std::vector<std::string> out;
  std::string one;
  for (std::size_t at = 0; at < sql.size();) {
    if (sql.substr(at).starts_with("--")) {
      at = std::min(sql.find('\n', at), sql.size());
      continue;
    }
    if (sql[at] == ';') {
      out.push_back(std::exchange(one, {}));
      ++at;
      continue;
    }
    const auto end = behind(sql, at);
    if (!one.empty() || !is_blank(sql[at])) one += sql.substr(at, end - at);
    at = end;
  }
  return out;
}

std::string on_one_line(std::string_view sql) {
  std::string out;
  for (std::size_t at = 0; at < sql.size();) {
    const auto end = behind(sql, at);
    if (!is_blank(sql[at]))
      out += sql.substr(at, end - at);
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
    at = end;
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

std::size_t closing_parenthesis(std::string_view sql, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < sql.size(); at = behind(sql, at)) {
    if (sql[at] == '(') ++depth;
    if (sql[at] == ')' && --depth == 0) return at;
  }
  return sql.size();
}

std::vector<std::string> list_of(std::string_view sql) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= sql.size();) {
    if (at == sql.size() || sql[at] == ',') {
      if (auto part = on_one_line(sql.substr(begin, at - begin)); !part.empty())
        out.push_back(std::move(part));
      begin = ++at;
    } else {
      at = sql[at] == '(' ? closing_parenthesis(sql, at) : behind(sql, at);
    }
  }
  return out;
}

std::size_t find_words(std::string_view sql, std::string_view words) {
  for (std::size_t at = 0; at < sql.size();) {
    if (sql.substr(at).starts_with(words)) return at;
    at = sql[at] == '(' ? closing_parenthesis(sql, at) : behind(sql, at);
  }
  return std::string_view::npos;
}

std::string text_literal(std::string_view text) {
  std::string out = "E'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out.push_back(c);
    out.push_back(c);
  }
  return out + "'";
}

}  // namespace outboxd::app
