#include "app/check/policy_judge.hpp"

#include <algorithm>

namespace outboxd::app::check {
namespace {

constexpr int first_major_with_a_limit = 4;
constexpr std::int64_t limit_of_rabbitmq_4 = 20;

const nlohmann::json* member(const nlohmann::json& of, const char* key) {
  if (!of.is_object()) return nullptr;
  const auto found = of.find(key);
  return found != of.end() ? &*found : nullptr;
}

std::optional<std::int64_t> number_in(const nlohmann::json& of, const char* key) {
  const auto* found = member(of, key);
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

// Combined as in RabbitMQ: the lower of the argument and the policy; a negative value means no limit, and
// then the other value applies (rabbit_quorum_queue:resolve_delivery_limit). nullopt: no limit.
std::optional<std::int64_t> limit_of(const nlohmann::json& queue, const nlohmann::json& arguments,
                                     const nlohmann::json& policy, int major) {
  // RabbitMQ 4 reports the resulting limit: a number, or "unlimited".
  if (const auto told = number_in(queue, "delivery_limit")) return *told < 0 ? std::nullopt : told;
  if (text_in(queue, "delivery_limit")) return std::nullopt;
  const auto by_argument = number_in(arguments, "x-delivery-limit");
  const auto by_policy = number_in(policy, "delivery-limit");
  if (!by_argument && !by_policy)
    return major >= first_major_with_a_limit ? std::optional(limit_of_rabbitmq_4) : std::nullopt;
  const auto a = by_argument.value_or(*(by_policy ? by_policy : by_argument));
  const auto b = by_policy.value_or(a);
  const auto limit = std::min(a, b) < 0 ? std::max(a, b) : std::min(a, b);
  return limit < 0 ? std::nullopt : std::optional(limit);
}

}  // namespace

std::optional<std::string> text_in(const nlohmann::json& of, const char* key) {
  const auto* found = member(of, key);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

const nlohmann::json& object_in(const nlohmann::json& of, const char* key) {
  static const auto none = nlohmann::json::object();
  const auto* found = member(of, key);
  return found != nullptr && found->is_object() ? *found : none;
}

std::string in_quotes(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<alternate> alternate_of(const nlohmann::json& exchange, const nlohmann::json& definition) {
  constexpr auto name = "alternate-exchange";
  if (auto by_argument = text_in(object_in(exchange, "arguments"), name))
    return alternate{std::move(*by_argument), {}};
  if (auto by_policy = text_in(definition, name))
    return alternate{std::move(*by_policy), text_in(exchange, "policy").value_or("")};
  return std::nullopt;
}

queue_fate judge_queue(const nlohmann::json& queue, int rabbitmq_major) {
  const auto& arguments = object_in(queue, "arguments");
  const auto& policy = object_in(queue, "effective_policy_definition");
  const auto type = text_in(queue, "type");
  queue_fate out;
  out.copies_refused = text_in(arguments, "x-overflow").value_or(text_in(policy, "overflow").value_or("")) ==
                       "reject-publish-dlx";
  if (type.value_or(text_in(arguments, "x-queue-type").value_or("classic")) != "quorum") return out;
  out.quorum = true;
  out.policy = text_in(queue, "policy").value_or("");
  if (text_in(arguments, "x-dead-letter-exchange") || text_in(policy, "dead-letter-exchange")) {
    out.what = fate::dead_lettered;
    return out;
  }
  // Reported together with the queue's statistics, some seconds after the declaration or the start of the
  // broker.
  if (member(queue, "effective_policy_definition") == nullptr) {
    out.what = fate::untold;
    return out;
  }
  if (const auto limit = limit_of(queue, arguments, policy, rabbitmq_major)) {
    out.what = fate::dropped;
    out.limit = *limit;
  }
  return out;
}

}  // namespace outboxd::app::check
