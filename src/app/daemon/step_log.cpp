#include "app/daemon/step_log.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/trace_parent.hpp"

namespace outboxd::app {
namespace {

struct step_words {
  std::string_view happened;   // the step as a phrase in a sentence
  std::string_view operation;  // messaging.operation.name
};

step_words words_of_step(flow::step what) {
  switch (what) {
    case flow::step::read:
      return {"read", "read"};
    case flow::step::sent:
      return {"sent", "send"};
    case flow::step::letter_sent:
      return {"sent as a dead letter", "send"};
    case flow::step::acked:
      return {"acked", "ack"};
    case flow::step::returned:
      return {"returned", "return"};
    case flow::step::nacked:
      return {"nacked", "nack"};
    case flow::step::interrupted:
      return {"interrupted", "interrupt"};
    case flow::step::parked:
      return {"parked", "park"};
    case flow::step::marked:
      return {"marked", "mark"};
  }
  return {};
}

log_fields fields_with(const event& of, const flow::destination& to, std::string_view operation,
                       const std::optional<std::string>& trace) {
  log_fields out{
      {"messaging.system", "rabbitmq"},
      {"messaging.operation.name", std::string(operation)},
      {"messaging.message.id", to_string(of.id)},
      {"messaging.destination.name", destination_name(to)},
  };
  if (operation == "send") out.push_back({"messaging.operation.type", "send"});
  if (!to.routing_key.empty())
    out.push_back({"messaging.rabbitmq.destination.routing_key", std::string(to.routing_key)});
  out.push_back({"outboxd.seq", of.seq});
  out.push_back({"outboxd.aggregate_type", std::string(of.aggregate_type)});
  out.push_back({"outboxd.aggregate_id", std::string(of.aggregate_id)});
  if (trace) out.push_back({"trace_id", *trace});
  return out;
}

}  // namespace

std::string destination_name(const flow::destination& to) {
  if (to.exchange.empty() && to.routing_key.empty()) return "amq.default";
  if (to.exchange.empty()) return std::string(to.routing_key);
  if (to.routing_key.empty()) return std::string(to.exchange);
  return fmt::format("{}:{}", to.exchange, to.routing_key);
}

log_fields fields_of(const event& of, const flow::destination& to, std::string_view operation) {
  return fields_with(of, to, operation, trace_id_of_headers(of.headers));
}

void step_log::on_step(const flow::step_taken& what) {
  const auto words = words_of_step(what.what);
  const event& of = what.of;
  const auto trace = trace_id_of_headers(of.headers);
  auto fields = fields_with(of, what.to, words.operation, trace);
  if (what.lane != flow::no_lane) fields.push_back({"outboxd.lane", std::int64_t{what.lane}});
  // Values chosen by users come last, so that they cannot imitate other fields.
  const auto message = fmt::format(
      "event {} {}: seq={}{}{} aggregate={}/{} exchange={} routing_key={}", to_string(of.id), words.happened,
      of.seq, what.lane != flow::no_lane ? fmt::format(" lane={}", what.lane) : std::string(),
      trace ? " trace_id=" + *trace : std::string(), escaped(of.aggregate_type), escaped(of.aggregate_id),
      escaped(what.to.exchange), escaped(what.to.routing_key));
  log_->say(spdlog::level::debug, message, fields);
}

}  // namespace outboxd::app
