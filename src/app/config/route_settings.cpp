#include "app/config/route_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/config/route_keys.hpp"
#include "app/config/units.hpp"
#include "core/broker_headers.hpp"
#include "core/standard_headers.hpp"

namespace outboxd::app {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_name = 255;  // bytes, an AMQP short string
constexpr std::size_t longest_route_name = 100;

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; });
}

// Reads the keys of one route.
class route_reader {
 public:
  route_reader(std::size_t number, setting_reader& errors) : number_(number), errors_(errors) {}

  void add(std::string_view name, const raw_value& value) { values_.emplace(name, &value); }

  std::shared_ptr<const route> read() {
    auto out = std::make_shared<route>();
    out->name = name();
    out->event_type = pattern("event_type");
    out->aggregate_type = pattern("aggregate_type");
    out->header = condition();
    out->exchange = exchange();
    out->routing_key = fitting("routing_key");
    out->content_type = fitting("content_type");
    out->content_encoding = fitting("content_encoding");
    out->correlation_id = fitting("correlation_id");
    out->headers = headers();
    out->priority = priority();
    out->expiration = expiration();
    out->persistent = flag("persistent", true);
    out->mandatory = flag("mandatory", true);
    out->deduplication_header = flag("deduplication_header", false);
    out->format = format();
    return out;
  }

 private:
  const raw_value* find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : found->second;
  }

  // Writes an error such as "route[2].exchange = '' (outboxd.toml:7) is empty".
  void fail(std::string_view name, std::string_view what) {
    const raw_value& given = *find(name);
    errors_.fail(fmt::format("{} = '{}' ({}) {}", route_key(number_, name), given.text, given.origin, what));
  }

  std::string name() {
    const raw_value* const given = find("name");
    if (given == nullptr) {
      errors_.fail(
          fmt::format("{} is missing; logs and metrics call the route by it", route_key(number_, "name")));
      return {};
    }
    if (given->text.empty() || given->text.size() > longest_route_name || has_control_characters(given->text))
      fail("name",
           fmt::format("is not a name of 1 to {} bytes without control characters", longest_route_name));
    return given->text;
  }

  std::optional<glob> pattern(std::string_view key) {
    const raw_value* const given = find(key);
    if (given == nullptr) return std::nullopt;
    if (given->text.empty()) fail(key, "is empty; leave it out, or write * for every name");
    return glob(given->text);
  }

  // Parses NAME or NAME=PATTERN.
  std::optional<header_condition> condition() {
    const raw_value* const given = find("header");
    if (given == nullptr) return std::nullopt;
    const auto equals = given->text.find('=');
    const auto name = given->text.substr(0, equals);
    if (name.empty()) fail("header", "has no name; write NAME, or NAME=PATTERN");
    if (equals == std::string::npos) return header_condition{name, std::nullopt};
    return header_condition{name, glob(given->text.substr(equals + 1))};
  }

  // "" is the default exchange, as in an event's row.
  std::optional<text_template> exchange() {
    const raw_value* const given = find("exchange");
    if (given == nullptr || !given->text.empty()) return fitting("exchange");
    return *text_template::parse(default_exchange);
  }

  std::optional<text_template> fitting(std::string_view key) {
    const raw_value* const given = find(key);
    if (given == nullptr) return std::nullopt;
    auto parsed = text_template::parse(given->text);
    if (!parsed) {
      fail(key, parsed.error().message);
      return std::nullopt;
    }
    if (const auto fixed = parsed->fixed_text(); fixed && fixed->size() > longest_name)
      fail(key, fmt::format("is longer than {} bytes", longest_name));
    return std::move(*parsed);
  }

  std::vector<route_header> headers() {
    const std::string prefix = std::string(route_headers) + ".";
    std::vector<route_header> out;
    for (const auto& [key, value] : values_) {
      if (!key.starts_with(prefix)) continue;
      route_header made{.fixed = {std::string(key.substr(prefix.size())), {}}};
      message_header& one = made.fixed;
      if (const auto wrong = why_not(one.name)) fail(key, *wrong);
      const auto parsed = nlohmann::json::parse(value->text, nullptr, false);
      if (parsed.is_boolean())
        one.value = parsed.get<bool>();
      else if (parsed.is_number_integer())
        one.value = parsed.get<std::int64_t>();
      else if (parsed.is_number())
        one.value = parsed.get<double>();
      else if (parsed.is_string())
        set_text(key, parsed.get<std::string>(), made);
      else
        fail(key, "is neither a text, a number, true nor false");
      out.push_back(std::move(made));
    }
    return out;
  }

  // Parses the text as a template, unless it is empty.
  void set_text(std::string_view key, const std::string& text, route_header& of) {
    if (text.empty()) {
      of.fixed.value = text;
      return;
    }
    auto parsed = text_template::parse(text);
    if (!parsed) return fail(key, parsed.error().message);
    if (auto fixed = parsed->fixed_text())
      of.fixed.value = std::move(*fixed);
    else
      of.made = std::move(*parsed);
  }

  static std::optional<std::string> why_not(std::string_view header) {
    if (header.empty() || header.size() > longest_name)
      return fmt::format("has a name that is not 1 to {} bytes long", longest_name);
    if (is_standard_header(header)) return "is a header that every message has";
    if (header == "CC" || header == "BCC")
      return "would make RabbitMQ send the message to other routing keys as well";
    if (is_broker_header(header)) return "is a header that RabbitMQ itself writes; take another name";
    return std::nullopt;
  }

  std::optional<std::uint8_t> priority() {
    const raw_value* const given = find("priority");
    if (given == nullptr) return std::nullopt;
    const auto number = parse_integer(given->text);
    if (!number || *number < 0 || *number > 255) {
      fail("priority", "is not a whole number from 0 to 255");
      return std::nullopt;
    }
    return static_cast<std::uint8_t>(*number);
  }

  // RabbitMQ stores the expiration in 32 bits.
  std::optional<std::chrono::milliseconds> expiration() {
    const raw_value* const given = find("expiration");
    if (given == nullptr) return std::nullopt;
    const auto time = parse_duration(given->text);
    if (!time || *time < 1ms || *time > std::chrono::days(49))
      fail("expiration", "is not a time from 1ms to 49d");
    return time;
  }

  bool flag(std::string_view key, bool otherwise) {
    const raw_value* const given = find(key);
    if (given == nullptr) return otherwise;
    if (given->text != "true" && given->text != "false") fail(key, "is neither true nor false");
    return given->text == "true";
  }

  message_format format() {
    constexpr std::array<std::pair<std::string_view, message_format>, 4> all{
        {{"raw", message_format::raw},
         {"envelope", message_format::envelope},
         {"cloudevents", message_format::cloudevents},
         {"cloudevents-binary", message_format::cloudevents_binary}}};
    const raw_value* const given = find("format");
    if (given == nullptr) return message_format::raw;
    for (const auto& [word, means] : all)
      if (given->text == word) return means;
    fail("format", "is none of raw, envelope, cloudevents and cloudevents-binary");
    return message_format::raw;
  }

  std::size_t number_;
  setting_reader& errors_;
  std::map<std::string_view, const raw_value*> values_;
};

}  // namespace

std::vector<std::shared_ptr<const route>> read_routes(const raw_settings& raw, setting_reader& from) {
  std::map<std::size_t, route_reader> readers;
  for (const auto& [key, value] : raw) {
    const auto parts = parse_route_key(key);
    if (!parts) continue;
    readers.try_emplace(parts->number, parts->number, from).first->second.add(parts->name, value);
  }
  std::vector<std::shared_ptr<const route>> out;
  for (auto& [number, one] : readers) {
    auto read = one.read();
    const bool twice =
        std::any_of(out.begin(), out.end(), [&](const auto& other) { return other->name == read->name; });
    if (twice && !from.failed())
      from.fail(fmt::format("{} = '{}' ({}) is also the name of an earlier route; give each its own",
                            route_key(number, "name"), read->name, raw.at(route_key(number, "name")).origin));
    out.push_back(std::move(read));
  }
  return out;
}

std::vector<std::string> route_warnings(const routing& of) {
  auto out = unreachable(of);
  for (const auto& one : of.routes)
    if (!one->persistent)
      out.push_back(fmt::format(
          "route \"{}\" is not persistent: RabbitMQ may lose its messages when it restarts", one->name));
  for (const auto& one : of.routes)
    if (!one->mandatory)
      out.push_back(fmt::format(
          "route \"{}\" is not mandatory: unroutable messages are lost, and count as published", one->name));
  return out;
}

std::string names_of(const routing& of) {
  std::string out;
  for (const auto& one : of.routes) out += (out.empty() ? "" : ", ") + one->name;
  return out.empty() ? "none" : out;
}

}  // namespace outboxd::app
