// routing: the routes of the settings, and which of them an event takes: the first that matches.
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

// What the body of a message is.
enum class message_format : std::uint8_t {
  raw,                 // the payload as stored
  envelope,            // a JSON object with the event's fields, the payload as `data`
  cloudevents,         // CloudEvents 1.0, structured mode: JSON
  cloudevents_binary,  // CloudEvents 1.0, binary mode: the payload as stored, attributes as headers
};

// What RabbitMQ's management API calls the exchange without a name.
inline constexpr std::string_view default_exchange = "amq.default";

struct header_condition {
  std::string name;
  std::optional<glob> value;  // none: the header has to be there
};

// A header of a route. A text may have placeholders; then it is made for each event.
struct route_header {
  message_header fixed;
  std::optional<text_template> made{};
};

// Conditions that are not given are met. What is not given of a message is as without a route.
struct route {
  std::string name;
  std::optional<glob> event_type;
  std::optional<glob> aggregate_type;
  std::optional<header_condition> header;

  std::optional<text_template> exchange;  // amq.default: the exchange without a name
  std::optional<text_template> routing_key;
  std::optional<text_template> content_type;
  std::optional<text_template> content_encoding;
  std::optional<text_template> correlation_id;
  std::vector<route_header> headers;  // unless the row has one of the same name
  std::optional<std::uint8_t> priority;
  std::optional<std::chrono::milliseconds> expiration;
  bool persistent = true;
  bool mandatory = true;              // if not, unroutable messages are lost, and count as published
  bool deduplication_header = false;  // x-deduplication-header: the event's id
  message_format format = message_format::raw;

  bool matches(const event& one) const;
  // True: no event that `later` matches gets past this one.
  bool covers(const route& later) const;
};

struct cloudevents_settings {
  std::string source = "urn:outboxd";          // a URI reference
  std::string header_prefix = "cloudEvents_";  // of binary mode
};

// Where an event goes if neither its row nor a route names an exchange.
inline constexpr std::string_view outbox_exchange = "outbox";

struct routing {
  std::string exchange{outbox_exchange};
  std::vector<std::shared_ptr<const route>> routes{};
  cloudevents_settings cloudevents{};
};

// What its route makes of an event; kept with the event, whatever becomes of the routes.
struct routed {
  std::shared_ptr<const route> by;
  std::string exchange;
  std::string routing_key;
  std::string content_type;             // empty: that of the payload
  std::string content_encoding;         // empty: none
  std::string correlation_id;           // empty: none
  std::vector<message_header> headers;  // those that are made for each event
  std::string trouble;                  // why the event cannot take its route, or empty
};

// Null: no route matches.
std::shared_ptr<const routed> resolve(const event& one, const routing& by);

// Why a format cannot carry payloads of this type, for the start; or nothing.
std::optional<std::string> misfit(const routing& of, payload_type payload);

// The exchanges that routes name without placeholders, but for the default one; each once.
std::vector<std::string> fixed_exchanges(const routing& of);

// Whether some message for this exchange, as routes and no row name it, is to come back if no queue takes it.
bool is_mandatory(const routing& of, std::string_view exchange);

// Routes that no event reaches, in words that name them.
std::vector<std::string> unreachable(const routing& of);

}  // namespace outboxd
