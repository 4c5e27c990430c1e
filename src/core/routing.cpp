#include "core/routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/event_headers.hpp"

namespace outboxd {
namespace {

bool meets(const std::optional<glob>& condition, std::string_view name) {
  return !condition || condition->matches(name);
}

bool covers_glob(const std::optional<glob>& wide, const std::optional<glob>& narrow) {
  if (!wide) return true;
  return wide->covers(narrow.value_or(glob("*")));
}

bool covers_header(const std::optional<header_condition>& wide,
                   const std::optional<header_condition>& narrow) {
  if (!wide) return true;
  return narrow && narrow->name == wide->name && covers_glob(wide->value, narrow->value);
}

}  // namespace

bool route::matches(const event& one) const {
  if (!meets(event_type, one.event_type) || !meets(aggregate_type, one.aggregate_type)) return false;
  if (!header) return true;
  const auto value = find_header(one.headers, header->name);
  return value && meets(header->value, value->text);
}

bool route::covers(const route& later) const {
  return covers_glob(event_type, later.event_type) && covers_glob(aggregate_type, later.aggregate_type) &&
         covers_header(header, later.header);
}

std::shared_ptr<const routed> resolve(const event& one, const routing& by) {
  for (const auto& candidate : by.routes) {
    if (!candidate->matches(one)) continue;
    auto out = std::make_shared<routed>();
    out->by = candidate;
    const auto expand = [&](const std::optional<text_template>& from, std::string_view what,
                            std::string_view otherwise) {
      if (!from) return std::string(otherwise);
      auto text = from->expand(one);
      if (text) return std::move(*text);
      if (out->trouble.empty())
        out->trouble = fmt::format("the event {}, which {} of route \"{}\" needs", text.error().message, what,
                                   candidate->name);
      return std::string(otherwise);
    };
    out->exchange =
        one.exchange ? std::string(*one.exchange) : expand(candidate->exchange, "exchange", by.exchange);
    if (!one.exchange && candidate->exchange && out->exchange == default_exchange) out->exchange.clear();
    out->routing_key = one.routing_key ? std::string(*one.routing_key)
                                       : expand(candidate->routing_key, "routing_key", one.event_type);
    out->content_type = expand(candidate->content_type, "content_type", "");
    out->content_encoding = expand(candidate->content_encoding, "content_encoding", "");
    out->correlation_id = expand(candidate->correlation_id, "correlation_id", "");
    for (const route_header& header : candidate->headers)
      if (header.made)
        out->headers.push_back({header.fixed.name, expand(header.made, "header " + header.fixed.name, "")});
    return out;
  }
  return nullptr;
}

std::optional<std::string> misfit(const routing& of, payload_type payload) {
  if (payload == payload_type::jsonb || payload == payload_type::json) return std::nullopt;
  for (const auto& one : of.routes)
    if (one->format == message_format::envelope)
      return fmt::format(
          "route \"{}\" has the format envelope, which needs a payload of type jsonb or json, and the outbox "
          "has "
          "{}; take raw or cloudevents",
          one->name, payload == payload_type::text ? "text" : "bytea");
  return std::nullopt;
}

std::vector<std::string> fixed_exchanges(const routing& of) {
  std::vector<std::string> out;
  for (const auto& one : of.routes) {
    const auto name = one->exchange ? one->exchange->fixed_text() : std::nullopt;
    if (name && *name != default_exchange && std::find(out.begin(), out.end(), *name) == out.end())
      out.push_back(*name);
  }
  return out;
}

bool is_mandatory(const routing& of, std::string_view exchange) {
  if (exchange == of.exchange) return true;  // the destination of events without a route
  return std::any_of(of.routes.begin(), of.routes.end(), [&](const auto& one) {
    return one->mandatory && one->exchange && one->exchange->fixed_text() == exchange;
  });
}

std::vector<std::string> unreachable(const routing& of) {
  std::vector<std::string> out;
  for (std::size_t later = 0; later < of.routes.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (!of.routes[earlier]->covers(*of.routes[later])) continue;
      out.push_back(fmt::format("route \"{}\" is never taken: route \"{}\" before it takes all of its events",
                                of.routes[later]->name, of.routes[earlier]->name));
      break;
    }
  }
  return out;
}

}  // namespace outboxd
