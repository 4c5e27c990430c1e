// routing: the configured routes; an event takes the first that matches.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/event.hpp"
#include "core/glob.hpp"
#include "core/message.hpp"
#include "core/text_template.hpp"

namespace outboxd {

// The format of a message's body.
enum class message_format : std::uint8_t {
  raw,                 // the payload as stored
  envelope,            // a JSON object with the event's fields, the payload as `data`
  cloudevents,         // CloudEvents 1.0, structured mode: a JSON object
  cloudevents_binary,  // CloudEvents 1.0, binary mode: the payload as stored, attributes as headers
};

// RabbitMQ's management API gives this name to the default exchange.
inline constexpr std::string_view default_exchange = "amq.default";

struct header_condition {
  std::string name;
  std::optional<glob> value;  // nullopt: the header only has to exist
};

// A header that a route adds; if its text has placeholders, it is expanded for each event.
struct route_header {
  message_header fixed;
  std::optional<text_template> made{};
};

// A condition that is not set matches every event. A message property that is not set is the same as without
// a route.
struct route {
  std::string name;
  std::optional<glob> event_type;
  std::optional<glob> aggregate_type;
  std::optional<header_condition> header;

  std::optional<text_template> exchange;  // amq.default: the default exchange
  std::optional<text_template> routing_key;
  std::optional<text_template> content_type;
  std::optional<text_template> content_encoding;
  std::optional<text_template> correlation_id;
  std::vector<route_header> headers;  // not added if the row has a header of the same name
  std::optional<std::uint8_t> priority;
  std::optional<std::chrono::milliseconds> expiration;
  bool persistent = true;
  bool mandatory = true;              // if false, unroutable messages are lost but count as published
  bool deduplication_header = false;  // adds x-deduplication-header with the event's id
  message_format format = message_format::raw;

  bool matches(const event& one) const;
  // True if this route matches every event that `later` matches.
  bool covers(const route& later) const;
};

struct cloudevents_settings {
  std::string source = "urn:outboxd";          // a URI reference
  std::string header_prefix = "cloudEvents_";  // for binary mode
};

// The exchange of an event if neither its row nor a route names one.
inline constexpr std::string_view outbox_exchange = "outbox";

struct routing {
  std::string exchange{outbox_exchange};
  std::vector<std::shared_ptr<const route>> routes{};
  cloudevents_settings cloudevents{};
  bool spans = false;  // a message of a sampled trace names the event's span in its header traceparent
};

// A route applied to an event; kept with the event even if the routes change.
struct routed {
  std::shared_ptr<const route> by;
  std::string exchange;
  std::string routing_key;
  std::string content_type;             // empty: the payload's content type
  std::string content_encoding;         // empty: none
  std::string correlation_id;           // empty: none
  std::vector<message_header> headers;  // those with placeholders, expanded
  std::string trouble;                  // why the route cannot be applied to the event, or empty
};

// Null if no route matches.
std::shared_ptr<const routed> resolve(const event& one, const routing& by);

// Checked at startup: why a route's format cannot carry payloads of this type; nullopt if it can.
std::optional<std::string> misfit(const routing& of, payload_type payload);

// The exchanges that routes name without placeholders, each once, without the default exchange.
std::vector<std::string> fixed_exchanges(const routing& of);

// True if the settings route any messages to this exchange as mandatory; exchanges named by rows do not
// count.
bool is_mandatory(const routing& of, std::string_view exchange);

// Describes each route that no event can reach.
std::vector<std::string> unreachable(const routing& of);

}  // namespace outboxd
