#include "app/check/broker_remedy.hpp"
#include "app/check/remedy.hpp"
#include "core/percent_encoding.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

namespace outboxd::app::check {
namespace {

// A regular expression that matches only these names. Permissions call the default exchange amq.default.
std::string pattern_of(const std::vector<std::string>& names) {
  std::vector<std::string> escaped;
  for (const auto& name : names) {
    std::string& out = escaped.emplace_back();
    for (const char c : name.empty() ? "amq.default" : name) {
      if (std::string_view(R"(\.[]{}()*+?^$|)").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  const auto all = fmt::format("{}", fmt::join(escaped, "|"));
  return names.size() > 1 ? "^(" + all + ")$" : "^" + all + "$";
}

// rabbitmqctl cannot create or delete exchanges, and rabbitmqadmin has different arguments since RabbitMQ 4.
// The HTTP API has not changed. curl asks for the password of ADMIN.
std::string ask_for_exchange(std::string_view method, const http::url& api, const std::string& vhost,
                             const std::string& exchange) {
  return fmt::format("curl -fsS -u ADMIN -X {} {}", method,
                     shell_word(fmt::format("{}/api/exchanges/{}/{}", api.display(), percent_encoded(vhost),
                                            percent_encoded(exchange))));
}

constexpr auto look_at_ports = "rabbitmq-diagnostics listeners  # which port is amqp; {port} is not";
constexpr auto look_at_certificates =
    "openssl s_client -connect {host}:{port} -showcerts < /dev/null  # the broker's; ours: openssl x509 "
    "-noout -text -in FILE";
constexpr auto raise_connection_max = "rabbitmq.conf: connection_max  # raise it";

// RabbitMQ says whether the limit is per user, vhost or node, and whether it counts connections or channels.
constexpr std::array broker_refusals{
    known_refusal{{"limit", "channels", "on node"}, "rabbitmq.conf: channel_max_per_node  # raise it"},
    known_refusal{
        {"limit", "channels"},
        "rabbitmqctl clear_user_limits {user} max-channels  # list_user_limits --user {user} tells; "
        "a connection of a relay has one channel"},
    known_refusal{{"limit", "on node"}, raise_connection_max},
    known_refusal{{"node limit"}, raise_connection_max},
    known_refusal{{"limit", "access to vhost"},
                  "rabbitmqctl clear_vhost_limits -p {vhost}  # list_vhost_limits tells"},
    known_refusal{{"limit"},
                  "rabbitmqctl clear_user_limits {user} max-connections  # or clear_vhost_limits -p {vhost}; "
                  "list_user_limits tells"},
    known_refusal{
        {"answered 403"},
        "rabbitmqctl authenticate_user {user}  # then amqp.url, or rabbitmqctl change_password {user}"},
    known_refusal{{"answered 530", "not found"}, "rabbitmqctl add_vhost {vhost}  # or amqp.url"},
    known_refusal{{"answered 530"},
                  "rabbitmqctl set_permissions -p {vhost} {user} '^outbox$' '^outbox$' '^$'"},
    known_refusal{{"certificate"}, look_at_certificates},
    known_refusal{{"no TLS of version"}, look_at_certificates},
    known_refusal{{"TLS"}, look_at_ports},
    known_refusal{{"HTTP"}, look_at_ports},
    known_refusal{{"AMQP 0-9-1"}, look_at_ports},
    known_refusal{{},
                  "rabbitmq-diagnostics check_port_listener {port}  # there; and here: nc -vz {host} {port}"},
};

}  // namespace

std::string login_remedy(const std::string& words, const amqp::url& target) {
  return remedy_of(words, broker_refusals, fmt::arg("user", shell_word(target.user)),
                   fmt::arg("vhost", shell_word(target.vhost)), fmt::arg("host", shell_word(target.host)),
                   fmt::arg("port", target.port));
}

std::string permission_remedy(const amqp::url& target, const std::vector<std::string>& writes,
                              const std::vector<std::string>& declares) {
  return fmt::format(
      "rabbitmqctl set_permissions -p {} {} {} {} '^$'  # and what rabbitmqctl list_user_permissions {} "
      "shows now",
      shell_word(target.vhost), shell_word(target.user), shell_word(pattern_of(declares)),
      shell_word(pattern_of(writes)), shell_word(target.user));
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

// Only one of several matching policies applies to a queue.
std::string dead_letters_remedy(const std::string& vhost, const std::string& queue,
                                const std::string& policy) {
  if (policy.empty())
    return fmt::format(
        "rabbitmqctl set_policy -p {} --apply-to queues dead-letters {} "
        "'{{\"dead-letter-exchange\":\"NAME\"}}'  # an exchange with a queue bound to it",
        shell_word(vhost), shell_word(pattern_of({queue})));
  return fmt::format(
      "rabbitmqctl list_policies -p {}  # and add dead-letter-exchange to {} with rabbitmqctl set_policy",
      shell_word(vhost), shell_word(policy));
}

}  // namespace outboxd::app::check
