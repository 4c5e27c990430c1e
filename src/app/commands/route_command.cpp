// route: shows the route of an event and the resulting message, without any server.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "amqp/publish_encoder.hpp"
#include "app/command/outcome.hpp"
#include "app/commands/commands.hpp"
#include "app/schema/migrations.hpp"
#include "core/broker_headers.hpp"
#include "core/standard_headers.hpp"
#include "core/text.hpp"
#include "core/to_message.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

struct route_options {
  std::string event_type;
  std::string aggregate_type;
  std::string aggregate_id;
  std::vector<std::string> headers;  // NAME=VALUE
  std::string payload = "{}";
  std::string payload_type = "jsonb";
  std::optional<std::string> exchange;  // the row's own; may be empty
  std::optional<std::string> routing_key;
  bool json = false;
};

constexpr std::uint32_t usual_frame_max = 131'072;  // bytes; RabbitMQ's default

// Parses NAME=VALUE. Every value is a text.
result<json> headers_of(const std::vector<std::string>& given) {
  json out = json::object();
  for (const std::string& one : given) {
    const auto equals = one.find('=');
    if (equals == 0 || equals == std::string::npos)
      return permanent(fmt::format("--header '{}' is not NAME=VALUE", one));
    out[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return out;
}

json value_of(const message_header& one) {
  return std::visit([](const auto& value) { return json(value); }, one.value);
}

// In the order of field_table.hpp: a later header replaces an earlier one.
json headers_of(const message& what) {
  json out = json::object();
  for (const auto& one : what.default_headers) out[one.name] = value_of(one);
  const json own = json::parse(what.headers);
  for (const auto& [name, value] : own.items())
    if (!is_broker_header(name)) out[name] = value;
  for (const auto& one : what.format_headers) out[one.name] = value_of(one);
  visit_standard_headers(
      what, [&out](std::string_view name, const auto& value) { out[std::string(name)] = value; });
  return out;
}

json left_out_of(const message& what) {
  json out = json::array();
  const json own = json::parse(what.headers);
  for (const auto& [name, value] : own.items())
    if (is_broker_header(name)) out.push_back(name);
  return out;
}

json properties_of(const message& what) {
  json out{{"content_type", what.content_type},
           {"delivery_mode", what.persistent ? 2 : 1},
           {"message_id", what.message_id},
           {"type", what.type},
           {"app_id", "outboxd"}};
  if (what.timestamp) out["timestamp"] = *what.timestamp;
  if (!what.content_encoding.empty()) out["content_encoding"] = what.content_encoding;
  if (!what.correlation_id.empty()) out["correlation_id"] = what.correlation_id;
  if (!what.expiration.empty()) out["expiration"] = what.expiration;
  if (what.priority) out["priority"] = *what.priority;
  return out;
}

void show_field(const std::string& name, const json& value) {
  const auto text = value.is_string() ? value.get<std::string>() : value.dump();
  fmt::print("  {:<18} {}\n", name, escaped(text));
}

void show_message(const json& what) {
  fmt::print("route: {}\n",
             what["route"].is_null() ? "none matches" : escaped(what["route"].get<std::string>()));
  show_field("exchange", what["exchange"] == "" ? json("(the default exchange)") : what["exchange"]);
  show_field("routing_key", what["routing_key"]);
  if (!what["mandatory"].get<bool>()) show_field("mandatory", what["mandatory"]);
  for (const auto& [name, value] : what["properties"].items()) show_field(name, value);
  fmt::print("headers:\n");
  for (const auto& [name, value] : what["headers"].items()) show_field(name, value);
  if (!what["left_out"].empty()) fmt::print("left out, because RabbitMQ itself writes them:\n");
  for (const json& name : what["left_out"]) fmt::print("  {}\n", escaped(name.get<std::string>()));
  fmt::print("body:\n{}\n", what["body"].get<std::string>());
}

int route_command(const settings& from, const route_options& options) {
  const auto payload = parse_payload_type(options.payload_type);
  if (!payload)
    return refuse(fmt::format("--payload-type '{}' is not allowed; give jsonb, json, text or bytea",
                              options.payload_type));
  const bool wants_json = *payload == payload_type::jsonb || *payload == payload_type::json;
  if (wants_json && !json::accept(options.payload))
    return refuse("--payload is not JSON; give --payload-type text or bytea for others");
  const auto headers = headers_of(options.headers);
  if (!headers) return refuse(headers.error().message);
  for (const auto& one : from.warnings) say_error(one);

  const auto& by = from.relay.leader.stream.route;
  if (const auto why = misfit(by, *payload)) return refuse(*why);
  const auto headers_text = headers->dump(-1, ' ', false, json::error_handler_t::replace);
  event one;
  one.aggregate_type = options.aggregate_type;
  one.aggregate_id = options.aggregate_id;
  one.event_type = options.event_type;
  one.payload = options.payload;
  one.headers = headers_text;
  if (options.exchange) one.exchange = *options.exchange;
  if (options.routing_key) one.routing_key = *options.routing_key;
  one.seq = 1;
  one.created_at = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());

  const auto taken = resolve(one, by);
  const auto what = to_message(one, *payload, by, taken.get());
  const auto dead = [&](const error& why) {
    say_error(fmt::format("{}: such an event would be dead: {}",
                          taken ? fmt::format("route \"{}\"", taken->by->name) : "no route", why.message));
    return exit_failure;
  };
  if (!what) return dead(what.error());
  std::string frames;
  amqp::publish_encoder encoder(1, usual_frame_max, {from.relay.broker.max_message_size});
  if (const auto sent = encoder.append(*what, frames); !sent) return dead(sent.error());

  const json out{{"route", taken ? json(taken->by->name) : json()},
                 {"exchange", what->exchange},
                 {"routing_key", what->routing_key},
                 {"mandatory", what->mandatory},
                 {"properties", properties_of(*what)},
                 {"headers", headers_of(*what)},
                 {"left_out", left_out_of(*what)},
                 {"body", what->body}};
  if (options.json)
    fmt::print("{}\n", out.dump(2, ' ', false, json::error_handler_t::replace));
  else
    show_message(out);
  return exit_success;
}

}  // namespace

void add_route_command(CLI::App& app, command_set& to) {
  CLI::App* const route = app.add_subcommand("route", "show the route and the message of an event");
  const auto options = std::make_shared<route_options>();
  route->add_option("--event-type", options->event_type, "of the event")->required()->type_name("TYPE");
  route->add_option("--aggregate-type", options->aggregate_type, "of the event")->type_name("TYPE");
  route->add_option("--aggregate-id", options->aggregate_id, "of the event")->type_name("ID");
  route->add_option("--header", options->headers, "of the event; may be given again")
      ->type_name("NAME=VALUE");
  route->add_option("--payload", options->payload, "of the event [{}]")->type_name("TEXT");
  route
      ->add_option("--payload-type", options->payload_type,
                   "of the outbox: jsonb, json, text or bytea [jsonb]")
      ->type_name("TYPE");
  add_text(*route, "--exchange", options->exchange, "that the event itself names")->type_name("NAME");
  add_text(*route, "--routing-key", options->routing_key, "that the event itself names")->type_name("KEY");
  route->add_flag("--json", options->json, "print JSON");
  to.push_back(
      {route, purpose::health, [options](const settings& from) { return route_command(from, *options); }});
}

}  // namespace outboxd::app
