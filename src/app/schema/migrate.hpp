// migrate: brings the outbox's schema up to this version.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/schema/differences.hpp"
#include "app/schema/migrations.hpp"
#include "core/error.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::app {

struct migrate_result {
  int applied = 0;      // how many migrations this run applied
  int version = 0;      // what the schema has now
  outbox_shape before;  // of a schema that was there
  outbox_shape now;
  // What was there already and not as it should be: what is mended now, and what somebody has to decide.
  std::vector<std::string> mended;
  std::vector<std::string> left;
};

// What `migrate` would apply, in order, and what else it would mend; an error if a newer outboxd has migrated
// the schema. Changes nothing.
struct pending_migrations {
  int version = 0;  // what the schema has; 0: nothing
  std::vector<std::string_view> names;
  std::vector<difference> differences;
};
result<pending_migrations> look_for_migrations(const std::string& connection_string,
                                               const pg::schema_name& schema);

// What is asked for; what is not stays as it is, or is the default for a new outbox.
struct migrate_wishes {
  std::optional<std::string> payload_type;
  std::optional<int> shards;     // a power of two up to 64
  std::optional<bool> notifies;  // whether writers ring for a relay that sleeps
};

// Applies what is missing, and mends what is there and not as it should be, in one transaction, under a lock,
// so that two at once do no harm and an interrupted one leaves nothing. No lock is waited for longer than a
// second, for writers may queue up behind it: it then begins anew, for a minute, and says so. Blocks.
result<migrate_result> migrate(const std::string& connection_string, const pg::schema_name& schema,
                               const migrate_wishes& wishes,
                               const std::function<void(const std::string& progress)>& say);

}  // namespace outboxd::app
