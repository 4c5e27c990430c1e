#include "app/config/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "amqp/url.hpp"
#include "amqp/url_password.hpp"
#include "app/config/console_setting.hpp"
#include "app/config/otlp_setting.hpp"
#include "app/config/outbox_files.hpp"
#include "app/config/password_setting.hpp"
#include "app/config/route_settings.hpp"
#include "app/config/secret_setting.hpp"
#include "app/config/setting_keys.hpp"
#include "app/config/setting_reader.hpp"
#include "app/config/tls_setting.hpp"
#include "app/config/units.hpp"
#include "core/text.hpp"
#include "pg/connection_string.hpp"

namespace outboxd::app {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr milliseconds longest_retry = std::chrono::days(30);
constexpr std::int64_t most_attempts = 10'000;

void read_database(setting_reader& from, settings& out) {
  const std::string key = "database.url";
  check_secret_file(from, key, out.warnings);
  const auto address = secret_of(from, key);
  const auto command = read_password_command(from, "database.password_command");
  out.relay.leader.database.url = {address, command, join_database_password};
  const auto url = address();
  if (!url) return fail_unreadable(from, key, url.error());
  if (const auto one = check_no_password(command && pg::has_password(*url), "database"); !one)
    return from.fail(fmt::format("{} ({}, {})", one.error().message, origin_of_secret(from, key),
                                 from.value("database.password_command").origin));
  if (const auto checked = pg::check_connection_string(*url); !checked)
    from.fail(fmt::format("{} ({}) {}", key, origin_of_secret(from, key), checked.error().message));
}

// Keeps empty parts: "a,,b" has three parts.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// Ignores empty parts, because a list generated from a template may end with a comma.
std::vector<std::string> parts_of(std::string_view text) {
  auto parts = split_list(text);
  std::erase(parts, "");
  return parts;
}

// Each URL of the list is a separate secret, which reads the list again every time.
void read_broker_urls(setting_reader& from, settings& out) {
  const std::string key = "amqp.url";
  check_secret_file(from, key, out.warnings);
  const auto all = secret_of(from, key);
  const auto origin = origin_of_secret(from, key);
  const auto command = read_password_command(from, "amqp.password_command");
  const auto text = all();
  if (!text) return fail_unreadable(from, key, text.error());
  const auto urls = parts_of(*text);
  if (urls.empty())
    return from.fail(fmt::format("{} ({}) is empty; give amqp://user:password@host:5672/vhost", key, origin));
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (const auto parsed = amqp::parse_url(urls[i]); !parsed)
      return from.fail(fmt::format("{} ({}): {}", key, origin, parsed.error().message));
    if (const auto one = check_no_password(command && amqp::has_password(urls[i]), "amqp"); !one)
      return from.fail(fmt::format("{} ({}, {})", one.error().message, origin,
                                   from.value("amqp.password_command").origin));
    const auto address = [all, i]() -> result<std::string> {
      auto now = all();
      if (!now) return now;
      const auto list = parts_of(*now);
      if (list.empty()) return permanent("amqp.url is empty");
      return list[i % list.size()];
    };
    out.relay.broker.urls.emplace_back(address, command, join_amqp_password);
  }
}

result<http::url> parse_management_url(std::string_view text) {
  constexpr std::uint16_t port_of_the_plugin = 15672;
  constexpr std::uint16_t tls_port_of_the_plugin = 15671;
  return http::parse_url(text, port_of_the_plugin, tls_port_of_the_plugin);
}

void read_management_url(setting_reader& from, settings& out) {
  const std::string key = "amqp.management_url";
  check_secret_file(from, key, out.warnings);
  auto now = secret_of(from, key);
  const auto text = now();
  if (!text) return fail_unreadable(from, key, text.error());
  if (text->empty()) return;
  if (const auto parsed = parse_management_url(*text); !parsed)
    return from.fail(fmt::format("{} ({}): {}", key, origin_of_secret(from, key), parsed.error().message));
  out.management_url = [now = std::move(now)] {
    return now().and_then([](const std::string& url) { return parse_management_url(url); });
  };
}

// Returns an empty name if there is no exchange.
std::string exchange_name(setting_reader& from, const std::string& key) {
  constexpr std::size_t longest = 255;  // bytes, an AMQP short string
  const std::string& name = from.value(key).text;
  if (name.size() > longest) from.refuse(key, "a name of at most 255 bytes");
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 127; }))
    from.refuse(key, "a name without control characters");
  if (name.starts_with("amq."))
    from.refuse(key, "a name that does not begin with amq., which is the broker's");
  return name;
}

void read_retry_schedule(setting_reader& from, settings& out) {
  const std::string key = "retry.schedule";
  for (const char* other : {"retry.base", "retry.cap", "retry.max_attempts"})
    if (from.has(other))
      return from.fail(fmt::format("{} ({}) and {} ({}) are both given; give the schedule or the other three",
                                   key, from.value(key).origin, other, from.value(other).origin));
  const auto parts = split_list(from.value(key).text);
  std::vector<milliseconds> delays;
  for (const std::string& part : parts) {
    const auto delay = parse_duration(trimmed(part));
    if (delay && *delay >= 1ms && *delay <= longest_retry) delays.push_back(*delay);
  }
  if (delays.size() != parts.size() || delays.size() > static_cast<std::size_t>(most_attempts))
    return from.refuse(
        key, fmt::format("a list of 1 to {} delays from 1ms to {}d, such as 1s,10s,1m", most_attempts,
                         std::chrono::floor<std::chrono::days>(longest_retry).count()));
  out.relay.leader.stream.retry = retry_policy::scheduled(std::move(delays));
}

void read_retry(setting_reader& from, settings& out) {
  out.relay.leader.stream.give_up_after =
      from.duration_or_never("retry.give_up_after", 1s, std::chrono::days(365), "1s to 365d");
  if (from.has("retry.schedule")) return read_retry_schedule(from, out);
  const auto base = from.duration("retry.base", 1ms, longest_retry, "1ms to 30d");
  const auto cap = from.duration("retry.cap", 1ms, longest_retry, "1ms to 30d");
  const auto attempts = from.integer("retry.max_attempts", 1, most_attempts);
  if (!from.failed() && cap < base)
    return from.fail(
        fmt::format("retry.cap = '{}' ({}) is below retry.base = '{}' ({}); give a cap of at least the base",
                    from.value("retry.cap").text, from.value("retry.cap").origin,
                    from.value("retry.base").text, from.value("retry.base").origin));
  out.relay.leader.stream.retry = retry_policy::exponential(base, cap, static_cast<int>(attempts));
}

void read_broker(setting_reader& from, settings& out) {
  auto& broker = out.relay.broker;
  auto& stream = out.relay.leader.stream;
  stream.route.exchange = outbox_exchange;
  stream.dead_letter_exchange = exchange_name(from, "dead_letter.exchange");
  if (from.yes("amqp.declare")) broker.declare_exchanges = {stream.route.exchange};
  broker.max_message_size =
      static_cast<std::size_t>(from.size("amqp.max_message_size", 1, 536'870'912, "1 to 512MiB"));
  broker.heartbeat =
      std::chrono::ceil<std::chrono::seconds>(from.duration("amqp.heartbeat", 1s, 1h, "1s to 1h"));
  out.relay.lane.confirm_timeout = from.duration("amqp.confirm_timeout", 100ms, 1h, "100ms to 1h");
}

void read_routing(setting_reader& from, settings& out) {
  auto& routing = out.relay.leader.stream.route;
  routing.routes = read_routes(out.raw, from);
  constexpr std::array<std::string_view, 3> prefixes{"cloudEvents_", "cloudEvents:", "ce-"};
  routing.cloudevents.header_prefix = prefixes.at(from.choice("cloudevents.header_prefix", prefixes));
  const std::string key = "cloudevents.source";
  routing.cloudevents.source = from.value(key).text;
  // The punctuation that RFC 3986 allows in a URI.
  constexpr std::string_view others = "-._~:/?#[]@!$&'()*+,;=%";
  const auto is_of_a_uri = [&](unsigned char c) {
    return c < 128 && (std::isalnum(c) != 0 || others.find(static_cast<char>(c)) != std::string_view::npos);
  };
  const auto& source = routing.cloudevents.source;
  if (source.empty() || !std::all_of(source.begin(), source.end(), is_of_a_uri))
    from.refuse(key, "a URI, or a reference to one, such as https://example.com/orders or /orders");
  for (auto& one : route_warnings(routing)) out.warnings.push_back(std::move(one));
}

constexpr int most_events = 10'000;

// Computes the default of relay.batch.
int events_for(std::int64_t batch_bytes) {
  constexpr std::int64_t bytes_for_each = 5'333;  // 1500 events for 8 MB
  return static_cast<int>(std::clamp<std::int64_t>(batch_bytes / bytes_for_each, 1, most_events));
}

void read_relay(setting_reader& from, settings& out) {
  auto& relay = out.relay;
  auto& leader = relay.leader;
  relay.lanes = static_cast<int>(from.integer("relay.lanes", 1, 64));
  relay.max_rate = from.integer("relay.max_rate", 0, 1'000'000);
  leader.stream.batch_bytes = from.size("relay.batch_bytes", 1, 1'073'741'824, "up to 1GiB");
  leader.stream.read.batch = from.value("relay.batch").text.empty()
                                 ? events_for(leader.stream.batch_bytes)
                                 : static_cast<int>(from.integer("relay.batch", 1, most_events));
  out.total_bytes = from.size("relay.total_bytes", 1, 1'099'511'627'776, "up to 1024GiB");
  leader.sweep_interval = from.duration("relay.sweep_interval", 10ms, 1h, "10ms to 1h");
  leader.doorbell.longest_poll = leader.sweep_interval;
  relay.shutdown_grace = from.duration("relay.shutdown_grace", 0ms, 1h, "0s to 1h");
  leader.database.claim_timeout = from.duration("relay.claim_timeout", 1s, 1h, "1s to 1h");
  if (!from.failed() && leader.database.claim_timeout <= leader.sweep_interval)
    from.fail(
        fmt::format("relay.claim_timeout = '{}' ({}) is not above relay.sweep_interval = '{}' ({}); "
                    "otherwise a leader would count as hanging before its next poll",
                    from.value("relay.claim_timeout").text, from.value("relay.claim_timeout").origin,
                    from.value("relay.sweep_interval").text, from.value("relay.sweep_interval").origin));
  leader.database.clock_tolerance = from.duration("relay.clock_tolerance", 0ms, 1min, "0s to 1m");
  leader.standby_interval = from.duration("relay.standby_interval", 10ms, 15min, "10ms to 15m");
  if (!from.failed() && leader.standby_interval > leader.database.claim_timeout / 4)
    from.fail(
        fmt::format("relay.standby_interval = '{}' ({}) is above a quarter of relay.claim_timeout = '{}' "
                    "({}); PostgreSQL ends the session of a standby that is silent for claim_timeout",
                    from.value("relay.standby_interval").text, from.value("relay.standby_interval").origin,
                    from.value("relay.claim_timeout").text, from.value("relay.claim_timeout").origin));
  leader.stream.lead_lasts = leader.database.claim_timeout * 3 / 4;
  constexpr std::array<std::string_view, 2> orders{"strict", "pipelined"};
  leader.stream.order = from.choice("relay.order", orders) == 0 ? order_mode::strict : order_mode::pipelined;
  constexpr std::array<std::string_view, 2> dead{"continue", "hold"};
  leader.stream.after_dead =
      from.choice("relay.after_dead", dead) == 0 ? flow::after_dead::go_on : flow::after_dead::hold;
}

void read_retention(setting_reader& from, settings& out) {
  constexpr milliseconds most = std::chrono::days(3650);
  constexpr std::array<std::string_view, 2> afters{"keep", "delete"};
  const bool at_once = parse_duration(from.value("retention.published").text) == 0ms;
  if (!at_once)
    out.relay.keep.published =
        from.duration_or_never("retention.published", 1min, most, "1m to 3650d, or 0s to delete at once");
  if (at_once || from.choice("relay.after_publish", afters) == 1)
    out.relay.leader.database.after_publish = store::after_publish::remove;
  out.relay.keep.processed = from.duration_or_never("retention.processed", 1min, most, "1m to 3650d");
}

void read_http(setting_reader& from, settings& out) {
  auto listen = http::parse_addresses(from.value("http.listen").text);
  if (listen)
    out.http.listen = std::move(*listen);
  else
    from.refuse("http.listen", listen.error().message);
  out.relay.samples_table = !out.http.listen.empty();
  auto hosts = http::allowed_hosts::parse(from.value("http.allowed_hosts").text);
  if (hosts)
    out.http.hosts = std::move(*hosts);
  else
    from.refuse("http.allowed_hosts", hosts.error().message);
  for (const auto& part : parts_of(from.value("http.ready_requires").text)) {
    const std::string name(trimmed(part));
    if (!is_outbox_name(name)) from.refuse("http.ready_requires", "a list of names of outboxes");
    out.http.ready_requires.push_back(name);
  }
}

void read_log(setting_reader& from, settings& out) {
  constexpr std::array<std::string_view, 6> levels{"trace", "debug", "info", "warn", "error", "off"};
  constexpr std::array<std::string_view, 2> formats{"text", "json"};
  out.log.level = levels.at(from.choice("log.level", levels));
  out.log.format = from.choice("log.format", formats) == 0 ? log_format::text : log_format::json;
}

// For example, "/etc/outboxd/outboxd.toml:12" is an origin in a file.
std::vector<std::string> sources_of(const raw_settings& raw) {
  std::vector<std::string> out;
  for (const auto& [key, value] : raw) {
    std::string_view from = value.origin;
    if (from.starts_with("flag "))
      from = "flags";
    else if (from.starts_with("environment "))
      from = "the environment";
    else
      from = from.substr(0, from.rfind(':'));
    if (std::find(out.begin(), out.end(), from) == out.end()) out.emplace_back(from);
  }
  return out;
}

}  // namespace

result<settings> read_settings(const raw_settings& raw, purpose what_for) {
  setting_reader from(raw);
  const auto schema = pg::schema_name::parse(from.value("outbox.schema").text);
  if (!schema)
    return permanent(fmt::format("{} ({})", schema.error().message, from.value("outbox.schema").origin));
  settings out{.outbox = {},
               .relay = {.leader = {.database = {.url = {}, .schema = *schema}, .stream = {}, .doorbell = {}},
                         .broker = {},
                         .lane = {}},
               .http = {},
               .console = {},
               .log = {},
               .management_url = {},
               .total_bytes = 0,
               .raw = raw,
               .sources = sources_of(raw),
               .warnings = {}};
  for (const auto& one : deprecated_settings)
    if (const std::string key(one.key); from.has(key))
      out.warnings.push_back(
          fmt::format("{} ({}) is deprecated: {}", key, from.value(key).origin, one.instead));
  read_log(from, out);
  read_http(from, out);
  if (what_for != purpose::health) read_database(from, out);
  if (what_for == purpose::relay) read_broker_urls(from, out);
  if (what_for == purpose::relay) read_broker_tls(from, out);
  if (what_for == purpose::relay) read_management_url(from, out);
  read_broker(from, out);
  read_routing(from, out);
  read_otlp(from, out);
  read_relay(from, out);
  read_retry(from, out);
  read_retention(from, out);
  read_console(from, what_for == purpose::console, out);
  if (from.failed()) return tl::make_unexpected(*from.failed());
  return out;
}

void limit_memory(relay::relay_settings& of, std::int64_t bytes) {
  auto& stream = of.leader.stream;
  stream.batch_bytes = std::clamp<std::int64_t>(bytes / stream.batches, 1, stream.batch_bytes);
  stream.read.batch = std::min(stream.read.batch, events_for(stream.batch_bytes));
}

}  // namespace outboxd::app
