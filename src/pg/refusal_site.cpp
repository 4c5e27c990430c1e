#include "pg/refusal_site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "pg/sqlstate.hpp"

namespace outboxd::pg {
namespace {

constexpr std::string_view no_privilege = "42501";

std::string_view after(std::string_view text, std::string_view beginning) {
  return text.starts_with(beginning) ? text.substr(beginning.size()) : std::string_view();
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t\n\""));
}

bool needs_no_quotes(std::string_view name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos &&
         (name.front() < '0' || name.front() > '9');
}

std::string quoted(std::string_view name) {
  if (needs_no_quotes(name)) return std::string(name);
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

// The privilege for a function's statement, from the statement's first word. The rest of the text may contain
// anything.
std::string_view right_of_statement(std::string_view context) {
  const auto word = first_word(after(context, "SQL statement \""));
  constexpr std::array rights{"SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE"};
  const auto* const known = std::find_if(rights.begin(), rights.end(), [&](std::string_view one) {
    return std::equal(one.begin(), one.end(), word.begin(), word.end(),
                      [](char a, char b) { return a == (b & ~0x20); });
  });
  return known != rights.end() ? *known : "ALL";
}

// The message of PostgreSQL's aclcheck_error: "permission denied for table NAME", in English.
std::string missing_grant(const error_fields& from, std::string_view user) {
  const auto object = after(from.message, "permission denied for ");
  const auto kind = first_word(object);
  if (kind.empty() || kind.size() + 1 >= object.size()) return {};
  const auto name = object.substr(kind.size() + 1);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> rights{
      {{"schema", "USAGE"}, {"sequence", "USAGE"}, {"function", "EXECUTE"}, {"type", "USAGE"}}};
  const auto* const fixed =
      std::find_if(rights.begin(), rights.end(), [&](const auto& one) { return one.first == kind; });
  if (fixed == rights.end() && kind != "table" && kind != "view") return {};
  const auto right = fixed != rights.end() ? fixed->second : right_of_statement(from.context);
  const auto shown = kind == "view" ? std::string_view("table") : kind;
  std::string upper;
  for (const char c : shown) upper += static_cast<char>(c & ~0x20);
  return fmt::format("GRANT {} ON {} {} TO {}", right, upper, quoted(name), quoted(user));
}

// From PostgreSQL's RewriteQuery: a statement that a rule replaces cannot return rows.
bool is_of_a_rule(const error_fields& from) {
  return from.sqlstate == "0A000" && from.message.starts_with("cannot perform ") &&
         from.message.find(" RETURNING on relation ") != from.message.npos;
}

}  // namespace

// The last line is the outermost context: lines above may be the text of a statement, which ends with a
// quote.
std::string_view function_of(std::string_view context) {
  const auto line = context.substr(context.rfind('\n') + 1);
  const auto function = after(line, "PL/pgSQL function ");
  const auto end = function.find(" line ");
  return end == function.npos || line.ends_with('"') ? std::string_view() : function.substr(0, end);
}

std::string site_of_login(std::string_view sqlstate, std::string_view words, std::string_view database,
                          std::string_view user) {
  if (sqlstate != no_privilege || words.find(database) == words.npos) return {};
  return fmt::format("; GRANT CONNECT ON DATABASE {} TO {}", quoted(database), quoted(user));
}

bool is_denial(const error_fields& from) {
  return from.sqlstate == no_privilege &&
         (function_of(from.context).empty() ||
          speaker(from.source_file, from.inner_query) == spoken_by::function);
}

std::string site_of(const error_fields& from, std::string_view user) {
  constexpr std::string_view foreign_key = "23503";
  const auto function = function_of(from.context);
  const bool by_server = speaker(from.source_file, from.inner_query) == spoken_by::server;
  std::string out;
  if (!function.empty()) out += fmt::format("; in the function {}", function);
  if (by_server && !from.constraint.empty() && from.sqlstate.starts_with("23"))
    out += fmt::format("; constraint {} of {}.{}", quoted(from.constraint), quoted(from.schema),
                       quoted(from.table));
  if (by_server && from.sqlstate == foreign_key && from.message.starts_with("update or delete on table"))
    out += "; delete the rows that refer to the event first, or make the key ON DELETE CASCADE or SET NULL";
  if (is_of_a_rule(from))
    out += "; a rule of the table replaces the relay's statement: drop the rule that `outboxd check` names";
  if (by_server && from.sqlstate == no_privilege && !function.empty()) {
    const auto grant = missing_grant(from, user);
    out +=
        fmt::format("; {}ALTER FUNCTION {} SECURITY DEFINER", grant.empty() ? "" : grant + ", or ", function);
  }
  return out;
}

}  // namespace outboxd::pg
