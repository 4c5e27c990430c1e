#include "store/rights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace outboxd::store {
namespace {

// Returns an SQL array of all words in the text that could be names of objects. Such words need no quoting.
std::string names_in(std::string_view text) {
  const auto in_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  std::string out = "'{";
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find_if_not(at, text.end(), in_name);
    if (end != at) out += fmt::format("{}{}", out.ends_with('{') ? "" : ",", std::string(at, end));
    at = std::find_if(end, text.end(), in_name);
  }
  return out + "}'::text[]";
}

std::string lacks(const pg::schema_name& schema, std::string_view role, std::string_view text,
                  bool only_named) {
  const std::array<std::pair<std::string_view, std::string>, 5> replacements{{
      {"@rights@", std::string(state_text("rights"))},
      {"@role@", fmt::format("'{}'", role)},
      {"@names@", names_in(text)},
      {"@only_named@", only_named ? "true" : "false"},
      {"@schema_text@", schema.literal()},  // after the others, because a schema may be named @role@
  }};
  std::string out(state_text("lacks"));
  for (const auto& [what, by] : replacements)
    for (auto at = out.find(what); at != std::string::npos; at = out.find(what, at + by.size()))
      out.replace(at, what.size(), by);
  return out;
}

}  // namespace

std::string_view state_text(std::string_view name) {
  const auto all = state_texts();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const statement_text& one) { return one.name == name; });
  return found == all.end() ? std::string_view() : found->sql;
}

std::string lacks_query(const pg::schema_name& schema, std::string_view role, std::string_view statements) {
  return lacks(schema, role, statements, false);
}

std::string denial_query(const pg::schema_name& schema, std::string_view role, std::string_view words) {
  return fmt::format(
      "SELECT string_agg(l.words || ': ' || rtrim(l.remedy, ';'), '; ') FROM ({}) AS l (kind, name, what, "
      "words, remedy)",
      lacks(schema, role, words, true));
}

}  // namespace outboxd::store
