// migrations: the SQL files of sql/, embedded, with their placeholders filled in.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/event.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::app {

struct migration {
  int version;            // the number that its file name begins with
  std::string_view name;  // 0002_event
  std::string_view sql;   // as in sql/
};

// In order of their versions. Generated from sql/ by the build.
std::span<const migration> migrations();

std::optional<payload_type> parse_payload_type(std::string_view name);

// What an outbox is made with.
struct outbox_shape {
  std::string payload_type = "jsonb";
  int shards = 1;
  bool notifies = true;  // whether writers ring for a relay that sleeps
};

// A word between at-signs, and what it stands for.
using placeholder = std::pair<std::string_view, std::string>;

// The SQL of one migration for this schema; `more` is what a text has that is no migration.
std::string fill_in(const migration& which, const pg::schema_name& schema, const outbox_shape& shape,
                    std::span<const placeholder> more = {});

// Creates the record of what was applied.
std::string record_table(const pg::schema_name& schema);
std::string record_of(const migration& which, const pg::schema_name& schema);

// Gives an outbox that exists another number of shards, not below its own, or another doorbell. It waits for
// the leaders of all shards, which give up at a notification, and for no writer.
std::string reshape(const pg::schema_name& schema, const outbox_shape& shape);

// Everything that `outboxd migrate` would do to an empty schema, for people who run their own migration tool.
std::string whole_script(const pg::schema_name& schema, const outbox_shape& shape);

}  // namespace outboxd::app
