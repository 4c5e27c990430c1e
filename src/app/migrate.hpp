// migrate: brings the outbox's schema up to this version.
#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::app {

struct migrate_result {
  int applied = 0;  // how many migrations this run applied
  int version = 0;  // what the schema has now
};

// Applies what is missing in one transaction, under a lock, so that two at once do no harm and an interrupted
// one leaves nothing. payload_type: empty takes what the table has, or jsonb for a new one. rings: whether to have the
// doorbell's trigger; nothing leaves it as it is, and a new schema has it. Blocks.
result<migrate_result> migrate(const std::string& connection_string, const pg::schema_name& schema,
                               std::string payload_type, std::optional<bool> rings);

}  // namespace outboxd::app
