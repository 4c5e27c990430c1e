#include "app/check/broker_remedy.hpp"
#include "core/percent_encoding.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace outboxd::app::check {
namespace {

// A regular expression for this name alone.
std::string pattern_of(const std::string& name) {
  std::string out = "^";
  for (const char c : name) {
    if (std::string_view(R"(\.[]{}()*+?^$|)").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + "$";
}

// rabbitmqctl makes and deletes no exchange, and rabbitmqadmin takes other arguments since RabbitMQ 4. The
// API takes the same ones. curl asks for the password of ADMIN.
std::string ask_for_exchange(std::string_view method, const http::url& api, const std::string& vhost,
                             const std::string& exchange) {
  return fmt::format("curl -fsS -u ADMIN -X {} {}", method,
                     shell_word(fmt::format("{}/api/exchanges/{}/{}", api.display(), percent_encoded(vhost),
                                            percent_encoded(exchange))));
}

}  // namespace

std::string login_remedy(const std::string& words, const amqp::url& target) {
  const auto says = [&](std::string_view part) { return words.find(part) != std::string::npos; };
  const auto user = shell_word(target.user);
  const auto vhost = shell_word(target.vhost);
  if (says("limit")) return limit_remedy(words, target);
  if (says("answered 403"))
    return fmt::format(
        "rabbitmqctl authenticate_user {0}  # then amqp.url, or rabbitmqctl change_password {0}", user);
  if (says("answered 530") && says("not found"))
    return fmt::format("rabbitmqctl add_vhost {}  # or amqp.url", vhost);
  if (says("answered 530"))
    return fmt::format("rabbitmqctl set_permissions -p {} {} '^outbox$' '^outbox$' '^$'", vhost, user);
  if (says("certificate") || says("no TLS of version"))
    return fmt::format(
        "openssl s_client -connect {}:{} -showcerts < /dev/null  # the broker's; ours: openssl x509 -noout "
        "-text "
        "-in FILE",
        shell_word(target.host), target.port);
  if (says("TLS") || says("HTTP") || says("AMQP 0-9-1"))
    return fmt::format("rabbitmq-diagnostics listeners  # which port is amqp; {} is not", target.port);
  return fmt::format("rabbitmq-diagnostics check_port_listener {0}  # there; and here: nc -vz {1} {0}",
                     target.port, shell_word(target.host));
}

// rabbitmqctl replaces all three patterns.
std::string permission_remedy(const amqp::url& target, const std::string& exchange, bool declares) {
  const auto pattern = shell_word(pattern_of(exchange));
  return fmt::format(
      "rabbitmqctl set_permissions -p {} {} {} {} '^$'  # and what rabbitmqctl list_user_permissions {} "
      "shows now",
      shell_word(target.vhost), shell_word(target.user), declares ? pattern : "'^$'", pattern,
      shell_word(target.user));
}

// RabbitMQ says whose limit it is: of a user, a vhost, or a node; and of connections or channels.
std::string limit_remedy(const std::string& words, const amqp::url& target) {
  const auto says = [&](std::string_view part) { return words.find(part) != std::string::npos; };
  const auto user = shell_word(target.user);
  if (says("channels"))
    return says("on node") ? std::string("rabbitmq.conf: channel_max_per_node  # raise it")
                           : fmt::format(
                                 "rabbitmqctl clear_user_limits {} max-channels  # list_user_limits "
                                 "--user {} tells; a connection of a relay has one channel",
                                 user, user);
  if (says("on node") || says("node limit")) return "rabbitmq.conf: connection_max  # raise it";
  if (says("access to vhost"))
    return fmt::format("rabbitmqctl clear_vhost_limits -p {}  # list_vhost_limits tells",
                       shell_word(target.vhost));
  return fmt::format(
      "rabbitmqctl clear_user_limits {} max-connections  # or clear_vhost_limits -p {}; list_user_limits "
      "tells",
      user, shell_word(target.vhost));
}

std::string missing_exchange_remedy(const http::url& api, const std::string& vhost,
                                    const std::string& exchange) {
  return ask_for_exchange("PUT", api, vhost, exchange) +
         R"( -H content-type:application/json -d '{"type":"topic","durable":true}')";
}

std::string alternate_remedy(const http::url& api, const std::string& vhost, const std::string& exchange,
                             const std::string& policy) {
  if (policy.empty())
    return ask_for_exchange("DELETE", api, vhost, exchange) +
           "  # then declare and bind it anew, without the argument alternate-exchange";
  return fmt::format("rabbitmqctl clear_policy -p {} {}  # or set it without alternate-exchange",
                     shell_word(vhost), shell_word(policy));
}

// Of several policies only one applies to a queue.
std::string dead_letters_remedy(const std::string& vhost, const std::string& queue,
                                const std::string& policy) {
  if (policy.empty())
    return fmt::format(
        "rabbitmqctl set_policy -p {} --apply-to queues dead-letters {} "
        "'{{\"dead-letter-exchange\":\"NAME\"}}'  # an exchange with a queue bound to it",
        shell_word(vhost), shell_word(pattern_of(queue)));
  return fmt::format(
      "rabbitmqctl list_policies -p {}  # and add dead-letter-exchange to {} with rabbitmqctl set_policy",
      shell_word(vhost), shell_word(policy));
}

}  // namespace outboxd::app::check
