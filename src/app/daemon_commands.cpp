// run, migrate, health, check and route: their options.
#include <fmt/format.h>

#include <memory>

#include "app/command_set.hpp"
#include "app/commands.hpp"
#include "app/migrations.hpp"
#include "app/partitioning.hpp"
#include "app/units.hpp"

namespace outboxd::app {

void add_daemon_commands(CLI::App& app, const setting_flags& flags, command_set& to) {
  CLI::App* const run = app.add_subcommand("run", "relay until told to stop");
  const auto runs = std::make_shared<run_options>();
  runs->read_again = [&flags] { return flags.gather(); };
  run->add_flag("--print-config", runs->print_config,
                "print the settings in force as TOML, with where each came from, and do nothing");
  to.push_back({run, purpose::relay, [runs](const settings& from) { return run_command(from, *runs); }});

  CLI::App* const migrate = app.add_subcommand("migrate", "create the outbox or bring it up to date");
  const auto options = std::make_shared<migrate_options>();
  add_text(*migrate, "--payload", options->payload_type,
           "type of the payload: jsonb, json, text or bytea [jsonb]")
      ->type_name("TYPE");
  const auto shards = std::make_shared<std::optional<std::string>>();
  add_text(*migrate, "--shards", *shards,
           "streams that relays share out: a power of two up to 64, also later [1]")
      ->take_last()
      ->type_name("N");
  add_text(*migrate, "--partition", options->partition,
           "divide the outbox into partitions, also later: daily or hourly")
      ->take_last()
      ->type_name("PERIOD");
  migrate->add_flag("--print", options->print, "print the SQL and do nothing");
  migrate->add_flag("--check", options->check,
                    "tell what is pending, exit 1 if something is, and do nothing");
  migrate->add_flag("--no-notify", options->no_notify, "writers do not notify relays, which poll instead");
  migrate->add_flag("--notify", options->notify,
                    "writers notify relays that sleep, also if they did not before");
  to.push_back(
      {migrate, purpose::migration, [options, shards](const settings& from) {
         if (*shards) {
           const auto given = parse_integer(**shards);
           if (!given || *given < 1 || *given > 64 || (*given & (*given - 1)) != 0)
             return refuse(
                 fmt::format("--shards '{}' is not allowed; give 1, 2, 4, 8, 16, 32 or 64", **shards));
           options->shards = static_cast<int>(*given);
         }
         if (options->payload_type && !parse_payload_type(*options->payload_type))
           return refuse(fmt::format("--payload '{}' is not allowed; give jsonb, json, text or bytea",
                                     *options->payload_type));
         if (options->partition && !is_partition_period(*options->partition))
           return refuse(
               fmt::format("--partition '{}' is not allowed; give daily or hourly", *options->partition));
         if (options->check && (options->print || options->notify || options->no_notify || options->shards ||
                                options->partition || options->payload_type))
           return refuse("--check only tells what is pending; give no other option with it");
         if (options->notify && options->no_notify)
           return refuse("--notify and --no-notify are both given; give one of them");
         return migrate_command(from, *options);
       }});

  CLI::App* const health = app.add_subcommand("health", "ask a running relay whether it is well");
  const auto ready = std::make_shared<bool>(false);
  health->add_flag("--ready", *ready, "whether it can publish, not only whether it is alive");
  to.push_back(
      {health, purpose::health, [ready](const settings& from) { return health_command(from, *ready); }});

  CLI::App* const check = app.add_subcommand(
      "check", "look at everything that a relay needs, and say what is wrong and how to mend it");
  const auto how = std::make_shared<check_options>();
  check->add_flag("--json", how->json, "print JSON");
  to.push_back({check, purpose::relay, [how](const settings& from) { return check_command(from, *how); }});

  CLI::App* const route =
      app.add_subcommand("route", "tell which route an event would take, and what message comes out");
  const auto what = std::make_shared<route_options>();
  route->add_option("--event-type", what->event_type, "of the event")->required()->type_name("TYPE");
  route->add_option("--aggregate-type", what->aggregate_type, "of the event")->type_name("TYPE");
  route->add_option("--aggregate-id", what->aggregate_id, "of the event")->type_name("ID");
  route->add_option("--header", what->headers, "of the event; may be given again")->type_name("NAME=VALUE");
  route->add_option("--payload", what->payload, "of the event [{}]")->type_name("TEXT");
  route->add_option("--payload-type", what->payload_type, "of the outbox: jsonb, json, text or bytea [jsonb]")
      ->type_name("TYPE");
  add_text(*route, "--exchange", what->exchange, "that the event itself names")->type_name("NAME");
  add_text(*route, "--routing-key", what->routing_key, "that the event itself names")->type_name("KEY");
  route->add_flag("--json", what->json, "print JSON");
  to.push_back({route, purpose::health, [what](const settings& from) { return route_command(from, *what); }});
}

}  // namespace outboxd::app
