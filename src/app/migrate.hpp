// migrate: brings the outbox's schema up to this version.
#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::app {

struct migrate_result {
  int applied = 0;        // how many migrations this run applied
  int version = 0;        // what the schema has now
  bool reshaped = false;  // its shards or its doorbell were changed
};

// What is asked for; what is not stays as it is, or is the default for a new outbox.
struct migrate_wishes {
  std::string payload_type;      // empty: not asked for
  std::optional<int> shards;     // a power of two up to 64
  std::optional<bool> notifies;  // whether writers ring for a relay that sleeps
};

// Applies what is missing in one transaction, under a lock, so that two at once do no harm and an interrupted one leaves nothing.
// Blocks.
result<migrate_result> migrate(const std::string& connection_string, const pg::schema_name& schema,
                               const migrate_wishes& wishes);

}  // namespace outboxd::app
