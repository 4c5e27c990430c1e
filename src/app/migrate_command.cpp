#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/migrate.hpp"
#include "app/migrations.hpp"

namespace outboxd::app {

int migrate_command(const settings& from, const migrate_options& options) {
  const pg::schema_name& schema = from.relay.leader.database.schema;
  if (options.print) {
    fmt::print("{}", whole_script(schema, {options.payload_type.empty() ? "jsonb" : options.payload_type,
                                           options.shards.value_or(1), !options.no_notify}));
    return exit_success;
  }
  const auto url = from.relay.leader.database.url();
  if (!url) {
    say_error(url.error().message);
    return exit_usage;
  }
  migrate_wishes wishes{options.payload_type, options.shards, std::nullopt};
  if (options.notify || options.no_notify) wishes.notifies = options.notify;
  const auto done = migrate(*url, schema, wishes);
  if (!done) {
    say_error(done.error().message);
    return exit_failure;
  }
  if (done->reshaped) {
    fmt::print("schema {}: the shards and the doorbell are as asked for (version {})\n", schema.identifier(),
               done->version);
  } else if (done->applied == 0) {
    fmt::print("schema {} is up to date (version {})\n", schema.identifier(), done->version);
  } else {
    fmt::print("schema {}: applied {} migrations, now at version {}\n", schema.identifier(), done->applied,
               done->version);
  }
  return exit_success;
}

}  // namespace outboxd::app
