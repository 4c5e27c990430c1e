#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "app/commands.hpp"
#include "app/migrate.hpp"
#include "app/migrations.hpp"
#include "app/partitioning.hpp"

namespace outboxd::app {

namespace {

std::string_view words_for(bool notifies) {
  return notifies ? "writers ring for a leader that sleeps" : "writers do not ring";
}

std::string words_for(const migrate_result& done, const pg::schema_name& schema) {
  const auto shards = fmt::format("{} {}", done.now.shards, done.now.shards == 1 ? "shard" : "shards");
  if (done.applied > 0)
    return fmt::format("schema {}: applied {} migrations, now at version {}; {}, {}", schema.identifier(),
                       done.applied, done.version, shards, words_for(done.now.notifies));
  std::string changes;
  if (done.now.shards != done.before.shards)
    changes = fmt::format("{} instead of {}", shards, done.before.shards);
  if (done.now.notifies != done.before.notifies)
    changes += fmt::format("{}{} from now on", changes.empty() ? "" : ", ", words_for(done.now.notifies));
  if (!done.mended.empty())
    changes += fmt::format(
        "{}{} mended", changes.empty() ? "" : ", ",
        done.mended.size() == 1 ? "1 difference" : fmt::format("{} differences", done.mended.size()));
  if (changes.empty())
    return fmt::format("schema {} is up to date (version {})", schema.identifier(), done.version);
  return fmt::format("schema {}: {} (version {})", schema.identifier(), changes, done.version);
}

std::string words_for(const partition_result& done, const pg::schema_name& schema) {
  if (done.before == done.now)
    return fmt::format("schema {}: event is partitioned {} already", schema.identifier(), done.now);
  if (done.before.empty())
    return fmt::format("schema {}: event is partitioned {}", schema.identifier(), done.now);
  return fmt::format("schema {}: partitions of event begin {} instead of {}", schema.identifier(), done.now,
                     done.before);
}

int check_migrations(const std::string& url, const pg::schema_name& schema) {
  const auto found = look_for_migrations(url, schema);
  if (!found) {
    say_error(found.error().message);
    return exit_failure;
  }
  if (found->names.empty() && found->differences.empty()) {
    fmt::print("schema {} is up to date (version {})\n", schema.identifier(), found->version);
    return exit_success;
  }
  if (!found->names.empty())
    fmt::print("schema {} has version {}; pending: {}\n", schema.identifier(), found->version,
               fmt::join(found->names, ", "));
  for (const auto& one : found->differences)
    fmt::print("schema {}: {}{}\n", schema.identifier(), one.what,
               one.remedy.empty() ? "; migrate does not change it" : "");
  return exit_failure;
}

}  // namespace

int migrate_command(const settings& from, const migrate_options& options) {
  const pg::schema_name& schema = from.relay.leader.database.schema;
  if (options.print) {
    fmt::print("{}", whole_script(schema, {options.payload_type.value_or("jsonb"), options.shards.value_or(1),
                                           !options.no_notify}));
    if (options.partition) fmt::print("{}", partition_script(schema, *options.partition));
    return exit_success;
  }
  const auto url = from.relay.leader.database.url.read_blocking();
  if (!url) {
    say_error(url.error().message);
    return url.error().kind == fault::permanent ? exit_usage : exit_failure;
  }
  if (options.check) return check_migrations(*url, schema);
  migrate_wishes wishes{options.payload_type.value_or(""), options.shards, std::nullopt};
  if (options.notify || options.no_notify) wishes.notifies = options.notify;
  const auto done = migrate(*url, schema, wishes, say_error);
  if (!done) {
    say_error(done.error().message);
    return exit_failure;
  }
  for (const auto& one : done->mended) fmt::print("schema {}: mended: {}\n", schema.identifier(), one);
  fmt::print("{}\n", words_for(*done, schema));
  for (const auto& one : done->left)
    say_error(fmt::format("schema {}: {}; migrate does not change it", schema.identifier(), one));
  if (!done->left.empty()) return exit_failure;
  if (!options.partition) return exit_success;
  std::fflush(stdout);
  const auto divided = partition_outbox(*url, schema, *options.partition, say_error);
  if (!divided) {
    say_error(divided.error().message);
    return exit_failure;
  }
  fmt::print("{}\n", words_for(*divided, schema));
  return exit_success;
}

}  // namespace outboxd::app
