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
  int applied = 0;      // the number of migrations that this run applied
  int version = 0;      // the schema's version after the run
  outbox_shape before;  // the shape of a schema that existed before
  outbox_shape now;
  // Existing faults: those repaired by this run, and those that only a person can decide on.
  std::vector<std::string> mended;
  std::vector<std::string> left;
};

// The migrations that `migrate` would apply, in order, and the faults that it would repair. Fails if a newer
// outboxd has migrated the schema. Changes nothing.
struct pending_migrations {
  int version = 0;  // the schema's version; 0 if there is none
  std::vector<std::string_view> names;
  std::vector<difference> differences;
};
result<pending_migrations> look_for_migrations(const std::string& connection_string,
                                               const pg::schema_name& schema);

// The requested shape. A value that is not given stays as it is, or takes the default in a new outbox.
struct migrate_wishes {
  std::optional<std::string> payload_type;
  std::optional<int> shards;     // a power of two up to 64
  std::optional<bool> notifies;  // whether writers notify an idle leader
};

// Applies missing migrations and repairs existing faults in one transaction, under a lock. Concurrent runs do
// no harm, and an interrupted run leaves nothing behind. Each lock is waited for at most one second, because
// writers may queue up behind the request. After a lock timeout the run is retried for up to a minute, and
// each retry is reported. Blocks.
result<migrate_result> migrate(const std::string& connection_string, const pg::schema_name& schema,
                               const migrate_wishes& wishes,
                               const std::function<void(const std::string& progress)>& say);

}  // namespace outboxd::app
