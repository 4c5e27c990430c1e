#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "app/command/outcome.hpp"
#include "app/config/units.hpp"
#include "app/schema/migrate.hpp"
#include "app/schema/migrate_command.hpp"
#include "app/schema/migrations.hpp"
#include "app/schema/partitioning.hpp"

namespace outboxd::app {
namespace {

struct migrate_options {
  std::optional<std::string> payload_type;  // if not given: unchanged, or jsonb in a new outbox
  std::optional<int> shards;
  bool print = false;
  bool check = false;                    // only report what is pending
  bool notify = false;                   // make writers notify, even if they did not before
  bool no_notify = false;                // make writers not notify
  std::optional<std::string> partition;  // daily or hourly; if not given: unchanged
};

std::string_view words_for(bool notifies) {
  return notifies ? "writers notify an idle leader" : "writers do not notify";
}

std::string words_for(const migrate_result& done, const pg::schema_name& schema) {
  const auto shards = fmt::format("{} {}", done.now.shards, done.now.shards == 1 ? "shard" : "shards");
  if (done.applied > 0)
    return fmt::format("schema {}: now at version {}; {}, {}", schema.identifier(), done.version, shards,
                       words_for(done.now.notifies));
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
    return fmt::format("schema {}: event is already partitioned {}", schema.identifier(), done.now);
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

result<void> check(const migrate_options& options, const std::optional<std::string>& shards) {
  if (shards) {
    const auto given = parse_integer(*shards);
    if (!given || *given < 1 || *given > 64 || (*given & (*given - 1)) != 0)
      return permanent(fmt::format("--shards '{}' is not allowed; give 1, 2, 4, 8, 16, 32 or 64", *shards));
  }
  if (options.payload_type && !parse_payload_type(*options.payload_type))
    return permanent(
        fmt::format("--payload '{}' is not allowed; give jsonb, json, text or bytea", *options.payload_type));
  if (options.partition && !is_partition_period(*options.partition))
    return permanent(
        fmt::format("--partition '{}' is not allowed; give daily or hourly", *options.partition));
  if (options.check && (options.print || options.notify || options.no_notify || shards || options.partition ||
                        options.payload_type))
    return permanent("--check only tells what is pending; give no other option with it");
  if (options.notify && options.no_notify)
    return permanent("--notify and --no-notify are both given; give one of them");
  return {};
}

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
  migrate_wishes wishes{options.payload_type, options.shards, std::nullopt};
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

}  // namespace

void add_migrate_command(CLI::App& app, command_set& to) {
  CLI::App* const migrate = app.add_subcommand("migrate", "create the outbox or bring it up to date");
  const auto options = std::make_shared<migrate_options>();
  add_text(*migrate, "--payload", options->payload_type,
           "type of the payload: jsonb, json, text or bytea [jsonb]")
      ->type_name("TYPE");
  const auto shards = std::make_shared<std::optional<std::string>>();
  add_text(*migrate, "--shards", *shards,
           "number of shards: a power of two up to 64; can be raised later [1]")
      ->take_last()
      ->type_name("N");
  add_text(*migrate, "--partition", options->partition, "partition the outbox, also later: daily or hourly")
      ->take_last()
      ->type_name("PERIOD");
  migrate->add_flag("--print", options->print, "print the SQL and do nothing");
  migrate->add_flag("--check", options->check, "list what migrate would change, and exit with 1 if anything");
  migrate->add_flag("--no-notify", options->no_notify, "writers do not notify relays, which poll instead");
  migrate->add_flag("--notify", options->notify, "writers notify idle leaders again");
  to.push_back({migrate, purpose::migration, [options, shards](const settings& from) {
                  if (const auto good = check(*options, *shards); !good) return refuse(good.error().message);
                  if (*shards) options->shards = static_cast<int>(*parse_integer(**shards));
                  return migrate_command(from, *options);
                }});
}

}  // namespace outboxd::app
