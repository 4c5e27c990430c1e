// run and migrate: their options.
#include <fmt/format.h>

#include <memory>

#include "app/command_set.hpp"
#include "app/commands.hpp"
#include "app/migrations.hpp"
#include "app/units.hpp"

namespace outboxd::app {

void add_daemon_commands(CLI::App& app, command_set& to) {
  to.push_back({app.add_subcommand("run", "relay until told to stop"), purpose::relay, run_command});

  CLI::App* const migrate = app.add_subcommand("migrate", "create the outbox or bring it up to date");
  const auto options = std::make_shared<migrate_options>();
  migrate
      ->add_option("--payload", options->payload_type,
                   "type of the payload: jsonb, json, text or bytea [jsonb]")
      ->type_name("TYPE");
  const auto shards = std::make_shared<std::string>();
  migrate
      ->add_option("--shards", *shards,
                   "streams that relays share out: a power of two up to 64, also later [1]")
      ->take_last()
      ->type_name("N");
  migrate->add_flag("--print", options->print, "print the SQL and do nothing");
  migrate->add_flag("--no-notify", options->no_notify, "writers do not notify relays, which poll instead");
  migrate->add_flag("--notify", options->notify,
                    "writers notify relays that sleep, also if they did not before");
  to.push_back(
      {migrate, purpose::migration, [options, shards](const settings& from) {
         if (!shards->empty()) {
           const auto given = parse_integer(*shards);
           if (!given || *given < 1 || *given > 64 || (*given & (*given - 1)) != 0)
             return refuse(
                 fmt::format("--shards '{}' is not allowed; give 1, 2, 4, 8, 16, 32 or 64", *shards));
           options->shards = static_cast<int>(*given);
         }
         if (!options->payload_type.empty() && !parse_payload_type(options->payload_type))
           return refuse(fmt::format("--payload '{}' is not allowed; give jsonb, json, text or bytea",
                                     options->payload_type));
         if (options->notify && options->no_notify)
           return refuse("--notify and --no-notify are both given; give one of them");
         return migrate_command(from, *options);
       }});
}

}  // namespace outboxd::app
