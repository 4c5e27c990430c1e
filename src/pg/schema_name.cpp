#include "pg/schema_name.hpp"

#include <fmt/format.h>

namespace outboxd::pg {
namespace {

constexpr std::size_t longest_identifier = 63;
constexpr std::string_view body_quote = "$outboxd$";  // quotes the function bodies in sql/

std::string within_quotes(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote) out.push_back(quote);
    out.push_back(c);
  }
  out.push_back(quote);
  return out;
}

}  // namespace

result<schema_name> schema_name::parse(std::string_view name) {
  if (name.empty()) return permanent("outbox.schema is empty; give the name of a schema, for example outbox");
  if (name.size() > longest_identifier)
    return permanent(fmt::format("outbox.schema '{}' is {} bytes long; PostgreSQL allows {}", name,
                                 name.size(), longest_identifier));
  if (name.find('\0') != std::string_view::npos || name.find(body_quote) != std::string_view::npos)
    return permanent(fmt::format("outbox.schema must not contain a NUL or {}", body_quote));
  if (name.starts_with("pg_"))
    return permanent(
        fmt::format("outbox.schema '{}': PostgreSQL keeps names that begin with pg_ for itself", name));
  return schema_name(name);
}

std::string schema_name::identifier() const {
  return within_quotes(name_, '"');
}

// If there is a backslash, uses an escape string, so that standard_conforming_strings does not matter.
std::string schema_name::literal() const {
  if (name_.find('\\') == std::string::npos) return within_quotes(name_, '\'');
  std::string doubled;
  for (const char c : name_) {
    if (c == '\\') doubled.push_back('\\');
    doubled.push_back(c);
  }
  return " E" + within_quotes(doubled, '\'');
}

}  // namespace outboxd::pg
