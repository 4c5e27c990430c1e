// policy_judge: evaluates the management API's responses for their effect on events. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace outboxd::app::check {

// Members of an object; nullopt if the value is not an object, or the member has another type.
std::optional<std::string> text_in(const nlohmann::json& of, const char* key);
const nlohmann::json& object_in(const nlohmann::json& of, const char* key);

// A foreign text or name on one line: in quotes, with unprintable characters escaped.
std::string in_quotes(const std::string& text);

// The alternate exchange that receives unroutable messages.
struct alternate {
  std::string exchange;
  std::string policy;  // the policy that sets it; empty: an argument of the exchange
};
// exchange: the response of GET /api/exchanges/VHOST/NAME. definition: that of its policy.
std::optional<alternate> alternate_of(const nlohmann::json& exchange, const nlohmann::json& definition);

// What happens to a message that consumers requeue repeatedly.
enum class fate {
  kept,           // redelivered forever; also for a queue that is not a quorum queue
  dead_lettered,  // sent to the dead letter exchange once the limit is reached, if there is a limit
  dropped,        // discarded
  untold,         // the broker does not report the queue's policy yet
};

struct queue_fate {
  fate what = fate::kept;
  bool quorum = false;
  std::int64_t limit = 0;  // failed deliveries before the message is dropped
  std::string policy;      // the policy that applies; empty: none
  // A full queue rejects the message and sends a copy to its dead letter exchange (reject-publish-dlx).
  bool copies_refused = false;

  bool operator==(const queue_fate&) const = default;
};

// queue: the response of GET /api/queues/VHOST/NAME, of which only queue_columns are read.
inline constexpr auto queue_columns = "name,type,arguments,policy,effective_policy_definition,delivery_limit";
queue_fate judge_queue(const nlohmann::json& queue, int rabbitmq_major);

}  // namespace outboxd::app::check
