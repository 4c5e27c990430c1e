// policy_judge: what the management API's answers mean for events. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace outboxd::app::check {

// Members of an object; nothing if it is none, or the member is of another type.
std::optional<std::string> text_in(const nlohmann::json& of, const char* key);
const nlohmann::json& object_in(const nlohmann::json& of, const char* key);

// Somebody else's words or name on one line: "name", with what cannot be printed escaped.
std::string in_quotes(const std::string& text);

// The alternate exchange that gets what no queue is bound for.
struct alternate {
  std::string exchange;
  std::string policy;  // that gives it; empty: an argument of the exchange
};
// exchange: what GET /api/exchanges/VHOST/NAME says. definition: of its policy.
std::optional<alternate> alternate_of(const nlohmann::json& exchange, const nlohmann::json& definition);

// What becomes of a message that consumers give back again and again.
enum class fate {
  kept,           // handed out for ever; also of a queue that is no quorum queue
  dead_lettered,  // given to the dead letter exchange, if it is ever given up
  dropped,        // thrown away
  untold,         // the broker does not tell the queue's policy yet
};

struct queue_fate {
  fate what = fate::kept;
  bool quorum = false;
  std::int64_t limit = 0;  // deliveries that fail, before it is dropped
  std::string policy;      // the one that applies; empty: none
  // When it is full, it refuses a message and gives a copy to its dead letter exchange (reject-publish-dlx).
  bool copies_refused = false;

  bool operator==(const queue_fate&) const = default;
};

// queue: what GET /api/queues/VHOST/NAME says, of which it reads queue_columns.
inline constexpr auto queue_columns = "name,type,arguments,policy,effective_policy_definition,delivery_limit";
queue_fate judge_queue(const nlohmann::json& queue, int rabbitmq_major);

}  // namespace outboxd::app::check
