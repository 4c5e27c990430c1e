// schema_name: the outbox's schema, quoted for SQL.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::pg {

// A name of 1 to 63 bytes (NAMEDATALEN - 1; PostgreSQL manual, "Identifiers and Key Words"), case kept.
class schema_name {
 public:
  static result<schema_name> parse(std::string_view name);

  const std::string& name() const { return name_; }
  std::string identifier() const;  // "out""box"
  std::string literal() const;     // 'out''box'

 private:
  explicit schema_name(std::string_view name) : name_(name) {}
  std::string name_;
};

}  // namespace outboxd::pg
