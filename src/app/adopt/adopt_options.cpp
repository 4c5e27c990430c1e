#include "app/adopt/adopt_options.hpp"

#include <memory>

namespace outboxd::app {

void add_adopt_command(CLI::App& app, command_set& to) {
  CLI::App* const adopt =
      app.add_subcommand("adopt", "copy rows inserted into your own outbox table into the outbox");
  const auto options = std::make_shared<adopt_options>();
  const auto add_list = [&](const char* name, std::vector<std::string>& values, const char* type,
                            const char* help) {
    adopt->add_option(name, values, help)->allow_extra_args(false)->type_name(type);
  };
  adopt->add_option("--table", options->table, "the table, with its schema or found by search_path")
      ->take_last()
      ->type_name("TABLE");
  add_text(*adopt, "--preset", options->preset, "whose columns it has: debezium or spring-modulith")
      ->take_last()
      ->type_name("NAME");
  add_list("--map", options->maps, "FIELD=COLUMN",
           "the column for a field of the event; can be repeated. 'TEXT' in single quotes: the same text for "
           "all events");
  add_list("--header", options->headers, "NAME=COLUMN", "a column that becomes a header; can be repeated");
  add_text(*adopt, "--where", options->where,
           "copy only rows that meet this condition: \"NEW.type <> 'internal'\"")
      ->take_last()
      ->type_name("SQL");
  add_text(*adopt, "--null-payload", options->misfits.null_payload,
           "rows without a payload: skip, json-null, empty or refuse; required if the column may be null")
      ->take_last()
      ->type_name("CHOICE");
  add_text(*adopt, "--unfit", options->misfits.unfit,
           "other rows that cannot be events: skip or refuse; required if such rows are likely")
      ->take_last()
      ->type_name("CHOICE");
  adopt->add_flag("--keep", options->keep,
                  "leave the rows in the table instead of removing them at the commit");
  adopt->add_flag("--backlog", options->backlog, "also take over the rows that are there already, once");
  add_list("--order-by", options->order_by, "COLUMN", "the order of the backlog; can be repeated");
  adopt->add_flag("--print", options->print, "print the SQL and do nothing");
  adopt->add_flag("--remove", options->remove, "take triggers and functions away again");
  to.push_back({adopt, purpose::migration,
                [options](const settings& from) { return adopt_command(from, *options); }, scope::one});
}

}  // namespace outboxd::app
