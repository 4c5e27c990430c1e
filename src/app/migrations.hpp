// migrations: the SQL files of sql/, embedded, with their placeholders filled in.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/event.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::app {

struct migration {
  int version;            // the number that its file name begins with
  std::string_view name;  // 0001_event
  std::string_view sql;   // as in sql/
};

// In order of their versions. Generated from sql/ by the build.
std::span<const migration> migrations();

std::optional<payload_type> parse_payload_type(std::string_view name);

// The SQL of one migration for this schema and type of payload.
std::string fill_in(const migration& which, const pg::schema_name& schema, std::string_view payload_type);

// Creates the record of what was applied.
std::string record_table(const pg::schema_name& schema);
std::string record_of(const migration& which, const pg::schema_name& schema);

// Puts the doorbell's trigger there or takes it away. Whether it is there is the only record of what was asked for: after
// the first no migration may create it.
std::string set_doorbell(const pg::schema_name& schema, bool rings);

// Everything that `outboxd migrate` would do to an empty schema, for people who run their own migration tool.
std::string whole_script(const pg::schema_name& schema, std::string_view payload_type, bool rings = true);

}  // namespace outboxd::app
