// broker_checks: for each RabbitMQ in amqp.url: the login, the negotiated limits, the exchanges, and the
// permission to publish to them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <memory>
#include <variant>

#include "amqp/inquiry.hpp"
#include "app/check/broker_remedy.hpp"
#include "app/check/checks.hpp"
#include "core/text.hpp"

namespace outboxd::app::check {
namespace {

constexpr int most_connections = 8;  // opened at the same time for the check

// One broker, and the reactor on which its requests run.
struct subject {
  const settings& from;
  boost::asio::io_context& io;
  const amqp::url& target;

  result<amqp::dialer::line> dial() const {
    amqp::handshake_settings how{
        target, "outboxd check",        from.relay.broker.heartbeat, amqp::frame_max_own,
        {},     from.relay.broker.login};
    auto dialer = std::make_shared<amqp::dialer>(io.get_executor(), std::move(how),
                                                 from.relay.broker.connect_timeout, from.relay.broker.tls);
    return wait_for(io, amqp::dialer::run(std::move(dialer)));
  }
  void hang_up(amqp::inquiry& line) const {
    const auto close = [&]() -> boost::asio::awaitable<bool> {
      co_await line.close();
      co_return true;
    };
    wait_for(io, close());
  }
};

// An exchange that receives events, and whether the relay declares it.
struct place {
  std::string exchange;
  bool declared;
};

std::vector<place> places_of(const settings& from) {
  const auto& stream = from.relay.leader.stream;
  std::vector<place> out{{stream.route.exchange, !from.relay.broker.declare_exchanges.empty()}};
  if (!stream.dead_letter_exchange.empty() && stream.dead_letter_exchange != stream.route.exchange)
    out.push_back({stream.dead_letter_exchange, false});
  for (const std::string& one : fixed_exchanges(stream.route)) {
    const auto is_same = [&](const place& other) { return other.exchange == one; };
    if (std::none_of(out.begin(), out.end(), is_same)) out.push_back({one, false});
  }
  return out;
}

finding check_certificate(std::chrono::system_clock::time_point expires, const std::string& words) {
  constexpr auto soon = std::chrono::days(14);
  const auto left = expires - std::chrono::system_clock::now();
  const auto days = std::chrono::floor<std::chrono::days>(left).count();
  if (left < soon)
    return warning(fmt::format("{}; the client certificate expires in {} days", words, days),
                   "openssl x509 -noout -dates -in CERTIFICATE  # amqp.tls.certificate_file; renew it");
  return ok(fmt::format("{}; the client certificate is valid for {} days", words, days));
}

finding check_transport(const subject& at, amqp::inquiry& line) {
  const auto& target = at.target;
  const auto verify = at.from.relay.broker.tls.verify;
  const bool here = target.host == "localhost" || target.host == "::1" || target.host.starts_with("127.");
  if (target.tls) {
    const std::string protocol(line.protocol());
    if (verify == amqp::verification::none)
      return warning(protocol + ", but the certificate is not verified: the broker may be anybody",
                     "amqp.tls.verify = \"full\"");
    if (verify == amqp::verification::ca)
      return warning(protocol + ", but any host with a certificate of that CA may be the broker",
                     "amqp.tls.verify = \"full\"");
    const auto words = protocol + ", and the broker's certificate is verified";
    return line.certificate_expires() ? check_certificate(*line.certificate_expires(), words) : ok(words);
  }
  if (here) return ok("no TLS, and none needed: the broker is on this machine");
  return warning(fmt::format("no TLS to {}: the network can read events, and the password", target.host),
                 "amqp.url = \"amqps://...\"  # the broker's TLS port, usually 5671");
}

finding check_tuning(const subject&, amqp::inquiry& line) {
  const auto& tuned = line.tuned();
  const auto words =
      fmt::format("frame_max {} bytes, heartbeat {} s", tuned.frame_max, tuned.heartbeat.count());
  if (tuned.heartbeat.count() == 0)
    return warning(words + ": a broker that hangs is not noticed", "rabbitmq.conf: heartbeat = 60");
  return ok(words);
}

std::string permissions_for(const subject& at) {
  std::vector<std::string> writes;
  std::vector<std::string> declares;
  for (const place& one : places_of(at.from)) {
    writes.push_back(one.exchange);
    if (one.declared) declares.push_back(one.exchange);
  }
  return permission_remedy(at.target, writes, declares);
}

finding check_declared(const subject& at, amqp::inquiry& line, const place& where, bool exists) {
  const auto same =
      wait_for(at.io, exists ? line.same_as_declared(where.exchange) : line.may_declare(where.exchange));
  if (!same) return not_checked(same.error().message);
  if (same->code == AMQP_ACCESS_REFUSED)
    return failure(fmt::format("{}, and the relay could not declare it: {}",
                               exists ? "is there" : "does not exist", same->words),
                   exists ? "amqp.declare = false  # it is there already" : permissions_for(at));
  if (!exists) return ok("does not exist yet; the relay will declare it");
  if (same->code == 0) return ok("a durable topic exchange");
  return failure(
      same->words,
      fmt::format("amqp.declare = false  # to use it as it is; or delete exchange {} and let the relay "
                  "declare it",
                  where.exchange));
}

// Exchange types that accept a message without routing it to a queue at once, although it is not lost:
// RabbitMQ returns it if it was published as mandatory.
bool defers(std::string_view type) {
  return type == "x-delayed-message" || type == "x-message-deduplication";
}

// The usual address, unless one is set.
http::url management_of(const subject& at) {
  if (at.from.management_url)
    if (auto set = at.from.management_url()) return *std::move(set);
  http::url usual;
  usual.host = at.target.host;
  usual.port = 15672;
  return usual;
}

// "inequivalent arg 'type' for exchange 'x' in vhost '/': received 'topic' but current is 'fanout'"
std::string_view type_in(std::string_view words) {
  constexpr std::string_view before = "current is '";
  const auto at = words.find(before);
  if (words.find("arg 'type'") == words.npos || at == words.npos) return {};
  auto rest = words.substr(at + before.size());
  rest.remove_prefix(
      std::min(rest.find_first_not_of('\''), rest.size()));  // quoted once more if it contains a dash
  return rest.substr(0, rest.find('\''));
}

// The exchange exists, and the relay does not have to declare it. A declaration that cannot succeed reveals
// its type.
finding check_type(const subject& at, amqp::inquiry& line, const place& where) {
  constexpr auto untold = "exists; its type is not known";
  if (line.broker().product != "RabbitMQ") return ok(untold);
  const auto said = wait_for(at.io, line.may_declare(where.exchange));
  const auto type = said ? type_in(said->words) : std::string_view();
  if (type.empty()) return ok(said && said->code == AMQP_PRECONDITION_FAILED ? "a topic exchange" : untold);
  if (!defers(type)) return ok(fmt::format("exists; its type is {}", type));
  if (!is_mandatory(at.from.relay.leader.stream.route, where.exchange))
    return ok(fmt::format("exists; its type is {}, and the routes to it are not mandatory", type));
  return warning(fmt::format("its type is {}: RabbitMQ returns each message as unroutable, although it may "
                             "deliver it later; events are sent repeatedly, and are dead in the end",
                             type),
                 "mandatory = false  # in the [[route]] to it; see docs/messages.md");
}

finding check_exchange(const subject& at, amqp::inquiry& line, const place& where) {
  const auto there = wait_for(at.io, line.exchange_exists(where.exchange));
  if (!there) return not_checked(there.error().message);
  const bool exists = there->code == 0;
  if (!exists && there->code != AMQP_NOT_FOUND) return failure(there->words, "rabbitmqctl list_exchanges");
  if (where.declared && (exists || line.broker().product == "RabbitMQ"))
    return check_declared(at, line, where, exists);
  if (exists) return check_type(at, line, where);
  if (where.declared) return not_checked("does not exist; the relay will try to declare it");
  return failure("does not exist, and the relay does not declare it",
                 missing_exchange_remedy(management_of(at), at.target.vhost, where.exchange));
}

finding check_permission(const subject& at, amqp::inquiry& line, const place& where) {
  constexpr auto how_it_shows =
      "a missing permission to publish would show as 403 ACCESS_REFUSED in the relay's log, and events would "
      "wait";
  if (line.broker().product != "RabbitMQ") return not_checked(how_it_shows);
  const auto said = wait_for(at.io, line.may_publish(where.exchange));
  if (!said) return not_checked(fmt::format("{}; {}", said.error().message, how_it_shows));
  switch (said->code) {
    case AMQP_PRECONDITION_FAILED:  // as intended, see inquiry
    case AMQP_NOT_FOUND:            // checked after the permission
      return ok("the user may publish there");
    case AMQP_ACCESS_REFUSED:
      return failure(said->words, permissions_for(at));
    default:
      return not_checked(fmt::format("{} {}; {}", said->code, said->words, how_it_shows));
  }
}

finding check_alarm(const subject&, amqp::inquiry& line) {
  if (!line.blocked()) return ok("the broker accepts messages");
  return warning(fmt::format("the broker accepts no messages at the moment: {}", *line.blocked()),
                 "rabbitmq-diagnostics alarms");
}

finding check_lanes(const subject& at, amqp::inquiry&) {
  const int wanted = std::min(at.from.relay.lanes, most_connections);
  std::deque<amqp::inquiry> more;  // a deque, because its elements do not move
  std::optional<error> refused;
  while (!refused && static_cast<int>(more.size()) + 1 < wanted) {
    auto line = at.dial();
    if (line)
      more.emplace_back(std::move(*line));
    else
      refused = line.error();
  }
  const auto got = more.size() + 1;
  for (amqp::inquiry& one : more) at.hang_up(one);
  if (refused)
    return warning(fmt::format("{} of {} connections (relay.lanes): {}", got, wanted, refused->message),
                   login_remedy(refused->message, at.target));
  return ok(fmt::format("{} at once, as relay.lanes requires{}", got,
                        at.from.relay.lanes > wanted ? ", the most that check tries" : ""));
}

finding check_message_size(const subject& at, amqp::inquiry& line) {
  const auto& from = at.from;
  const auto& broker = line.broker();
  constexpr std::size_t of_rabbitmq_4 = std::size_t{16} * 1024 * 1024;
  const auto most = from.relay.broker.max_message_size;
  auto words = fmt::format(
      "events up to {} bytes (amqp.max_message_size), read {} bytes at a time (relay.batch_bytes)", most,
      from.relay.leader.stream.batch_bytes);
  int major = 0;
  std::from_chars(broker.version.data(), broker.version.data() + broker.version.size(), major);
  if (broker.product == "RabbitMQ" && major >= 4 && most > of_rabbitmq_4)
    words += "; RabbitMQ 4 refuses what is above 16 MiB unless its own max_message_size is raised";
  return ok(words);
}

// Alarms of the connection, or of each exchange.
using question = std::variant<finding (*)(const subject&, amqp::inquiry&),
                              finding (*)(const subject&, amqp::inquiry&, const place&)>;

constexpr std::array<std::pair<const char*, question>, 7> after_login{
    {{"broker.tls", check_transport},
     {"broker.tuning", check_tuning},
     {"broker.exchange", check_exchange},
     {"broker.permission", check_permission},
     {"broker.alarm", check_alarm},
     {"broker.connections", check_lanes},
     {"broker.message_size", check_message_size}}};

findings put(const question& how, const subject& at, amqp::inquiry& line) {
  if (how.index() == 0) return {std::get<0>(how)(at, line)};
  findings out;
  for (const place& where : places_of(at.from)) {
    out.push_back(std::get<1>(how)(at, line, where));
    out.back().words = fmt::format("\"{}\": {}", where.exchange, out.back().words);
  }
  return out;
}

void check_one(const subject& at, findings& out) {
  auto dialled = at.dial();
  if (!dialled) {
    out.push_back(named("broker.login",
                        failure(dialled.error().message, login_remedy(dialled.error().message, at.target))));
    for (const auto& [name, how] : after_login)
      out.push_back(named(name, not_checked("no login to " + at.target.display())));
    return;
  }
  amqp::inquiry line(std::move(*dialled));
  out.push_back(named("broker.login", ok(fmt::format("{}, {} {}", at.target.display(), line.broker().product,
                                                     line.broker().version))));
  for (const auto& [name, how] : after_login)
    for (finding& one : put(how, at, line)) out.push_back(named(name, std::move(one)));
  at.hang_up(line);
}

}  // namespace

findings check_broker(const settings& from) {
  boost::asio::io_context io(1);
  findings out;
  bool any = false;  // a relay tries the next URL of the list, so one is enough
  for (const relay::secret& one : from.relay.broker.urls) {
    const auto text = one.read_blocking();
    const auto target = text ? amqp::parse_url(*text) : tl::make_unexpected(text.error());
    if (!target) {
      out.push_back(named("broker.login",
                          failure(target.error().message, "correct amqp.url, or the file that contains it")));
      continue;
    }
    const auto first = out.size();
    check_one({from, io, *target}, out);
    any = any || out.at(first).how == verdict::ok;
  }
  if (any)
    for (finding& one : out)
      if (one.name == "broker.login" && one.how == verdict::failure) one.how = verdict::warning;
  std::vector<std::string> exchanges;
  for (const place& one : places_of(from)) exchanges.push_back(one.exchange);
  for (finding& one : check_policies(from, exchanges))
    out.push_back(named("broker.policies", std::move(one)));
  return out;
}

}  // namespace outboxd::app::check
