// policy_checks: information from RabbitMQ's management API about the exchanges and their queues: alternate
// exchanges for unroutable messages, and queues that drop messages.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "amqp/url.hpp"
#include "app/check/broker_remedy.hpp"
#include "app/check/checks.hpp"
#include "app/check/management_api.hpp"
#include "app/check/policy_judge.hpp"
#include "core/percent_encoding.hpp"
#include "core/text.hpp"

namespace outboxd::app::check {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto api_timeout = 10s;
constexpr std::size_t most_queues = 100;  // examined per exchange
constexpr std::size_t most_names = 3;     // names of queues per line

using answer = tl::expected<json, finding>;

struct broker_api {
  const management_api& api;
  std::string vhost;
  int major;  // of RabbitMQ's version

  answer ask(const char* what, const std::string& name, const std::string& more = "") const {
    return api.get(fmt::format("/api/{}/{}/{}{}", what, percent_encoded(vhost), percent_encoded(name), more));
  }
};

tl::expected<int, finding> major_of(const management_api& api) {
  OUTBOXD_TRY(const auto said, api.get("/api/overview?columns=rabbitmq_version"));
  const auto version = text_in(said, "rabbitmq_version");
  int major = 0;
  if (version) std::from_chars(version->data(), version->data() + version->size(), major);
  if (major > 0) return major;
  return tl::make_unexpected(warning(
      fmt::format("{} does not answer as RabbitMQ's management API does", api.where().display()),
      "rabbitmq-plugins enable rabbitmq_management  # on the broker; or correct amqp.management_url"));
}

finding check_alternate(const broker_api& at, const std::string& name, const json& exchange) {
  json definition = object_in(exchange, "effective_policy_definition");
  const auto policy = text_in(exchange, "policy").value_or("");
  if (definition.empty() && !policy.empty()) {
    auto said = at.ask("policies", policy);
    if (!said)
      return not_checked(
          fmt::format("has policy {}, which cannot be read: {}", in_quotes(policy), said.error().words));
    definition = object_in(*said, "definition");
  }
  const auto found = alternate_of(exchange, definition);
  if (!found) return ok("no alternate exchange: unroutable messages are returned");
  return warning(fmt::format("has the alternate exchange {} ({}): unroutable messages go there and are not "
                             "returned, so an event with a wrong routing key counts as published",
                             in_quotes(found->exchange),
                             found->policy.empty() ? "an argument" : "policy " + in_quotes(found->policy)),
                 alternate_remedy(at.api.where(), at.vhost, name, found->policy));
}

// Names of the queues that are bound directly to the exchange.
tl::expected<std::set<std::string>, finding> queues_of(const broker_api& at, const std::string& exchange) {
  OUTBOXD_TRY(const auto said,
              at.ask("exchanges", exchange, "/bindings/source?columns=destination,destination_type"));
  std::set<std::string> out;
  if (said.is_array())
    for (const json& one : said)
      if (text_in(one, "destination_type") == "queue")
        if (auto name = text_in(one, "destination")) out.insert(std::move(*name));
  return out;
}

struct lossy_queue {
  std::string name;
  queue_fate fate;
};

finding of_lossy(const broker_api& at, const std::vector<lossy_queue>& queues) {
  std::string list;
  for (std::size_t i = 0; i < std::min(queues.size(), most_names); ++i)
    list += fmt::format("{}{} after {}", i == 0 ? "" : ", ", in_quotes(queues[i].name), queues[i].fate.limit);
  if (queues.size() > most_names) list += fmt::format(", and {} more", queues.size() - most_names);
  return warning(fmt::format("quorum queues bound to it drop a message that is redelivered too often, "
                             "because they have a delivery limit and no dead-letter exchange: {}",
                             list),
                 dead_letters_remedy(at.vhost, queues.front().name, queues.front().fate.policy));
}

finding check_queues(const broker_api& at, const std::string& exchange) {
  const auto names = queues_of(at, exchange);
  if (!names) return names.error();
  std::vector<lossy_queue> lossy;
  std::vector<std::string> untold;
  std::vector<std::string> copying;
  std::size_t seen = 0;
  std::size_t quorum = 0;
  for (const std::string& name : *names) {
    if (seen == most_queues) break;
    const auto queue = at.ask("queues", name, fmt::format("?columns={}", queue_columns));
    if (!queue) return queue.error();
    if (queue->is_null()) continue;  // deleted meanwhile
    ++seen;
    auto fate = judge_queue(*queue, at.major);
    if (fate.quorum) ++quorum;
    if (fate.copies_refused) copying.push_back(name);
    if (fate.what == fate::untold) untold.push_back(name);
    if (fate.what == fate::dropped) lossy.push_back({name, std::move(fate)});
  }
  if (!lossy.empty()) return of_lossy(at, lossy);
  if (!copying.empty())
    return warning(
        fmt::format(
            "while queue {} is full, its dead-letter exchange gets a copy of an event each time that the "
            "queue refuses it (reject-publish-dlx), and the relay retries until the queue accepts it",
            in_quotes(copying.front())),
        fmt::format("x-overflow = reject-publish  # for queue {}, or overflow in its policy",
                    shell_word(copying.front())));
  if (!untold.empty())
    return not_checked(
        fmt::format("RabbitMQ does not show the policy of queue {} yet; run check again in ten seconds",
                    in_quotes(untold.front())));
  return ok(fmt::format(
      "{} queues bound to it{}, {} of them quorum queues, none of which drops redelivered messages",
      names->size(), seen < names->size() ? fmt::format(" ({} looked at)", seen) : std::string(), quorum));
}

findings check_bindings_of(const broker_api& at, const std::string& name) {
  const auto exchange =
      at.ask("exchanges", name, "?columns=name,arguments,policy,effective_policy_definition");
  if (!exchange) return {exchange.error()};
  if (exchange->is_null())
    return {not_checked(fmt::format("does not exist in vhost {}", in_quotes(at.vhost)))};
  return {check_alternate(at, name, *exchange), check_queues(at, name)};
}

}  // namespace

findings check_policies(const settings& from, const std::vector<std::string>& exchanges) {
  if (!from.management_url)
    return {
        not_checked("alternate exchanges and delivery limits of quorum queues: only RabbitMQ's management "
                    "API shows them, and amqp.management_url is not set; see rabbitmqctl list_policies")};
  const auto where = from.management_url();
  const auto text = from.relay.broker.urls.front().read_blocking();
  const auto broker = text ? amqp::parse_url(*text) : tl::make_unexpected(text.error());
  if (!where)
    return {warning(where.error().message, "correct amqp.management_url, or the file that contains it")};
  if (!broker) return {not_checked(broker.error().message)};
  const management_api api(*where, {broker->user, broker->password}, from.relay.broker.tls, api_timeout);
  const auto major = major_of(api);
  if (!major) return {major.error()};
  findings out;
  for (const std::string& name : exchanges)
    for (finding& one : check_bindings_of({api, broker->vhost, *major}, name)) {
      one.words = fmt::format("{}: {}", in_quotes(name), one.words);
      out.push_back(std::move(one));
    }
  return out;
}

}  // namespace outboxd::app::check
