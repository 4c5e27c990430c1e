// Fuzzes routes: any patterns, templates and headers. A pattern that covers another takes all that it takes;
// a template is refused in words or expands to the same each time; a message in any format has a body that
// the format allows, or an error that is the event's own.
#include "core/routing.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/to_message.hpp"
#include "input.hpp"

using namespace outboxd;
using fuzz::must;
using nlohmann::json;

namespace {

void check_globs(const std::string& wide, const std::string& narrow, const std::string& name) {
  must(glob(wide).covers(glob(wide)), "a pattern covers itself");
  if (glob(wide).covers(glob(narrow)) && glob(narrow).matches(name))
    must(glob(wide).matches(name), "what covers a pattern takes what that takes");
}

std::optional<text_template> template_of(const std::string& text) {
  auto parsed = text_template::parse(text);
  if (parsed) return std::move(*parsed);
  must(parsed.error().kind == fault::permanent && !parsed.error().message.empty(), "what is wrong is said");
  return std::nullopt;
}

void check_body(const message& what, message_format format) {
  if (format == message_format::envelope || format == message_format::cloudevents)
    must(json::accept(what.body), "the body is JSON");
  if (format == message_format::cloudevents)
    must(json::parse(what.body)["specversion"] == "1.0", "it is a CloudEvent");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const auto text = [&] { return std::string(in.text()); };
  const auto wide = text(), narrow = text(), name = text();
  check_globs(wide, narrow, name);

  const auto id = text(), headers = text(), key = text();
  event one;
  one.event_type = name;
  one.aggregate_type = narrow;
  one.aggregate_id = id;
  one.headers = headers;
  one.payload = R"({"a":1})";
  for (const auto format : {message_format::raw, message_format::envelope, message_format::cloudevents,
                            message_format::cloudevents_binary}) {
    route rule;
    rule.event_type = glob(wide);
    rule.header = header_condition{id, glob("*")};
    if (in.byte() % 2 == 0) rule.header.reset();
    rule.routing_key = template_of(key);
    rule.format = format;
    routing by;
    by.routes = {std::make_shared<const route>(std::move(rule))};
    const auto taken = resolve(one, by);
    must(taken == nullptr || glob(wide).matches(name), "what takes a route meets its conditions");
    const auto made = to_message(one, payload_type::jsonb, by, taken.get());
    if (made) {
      check_body(*made, taken ? format : message_format::raw);
    } else {
      must(made.error().kind == fault::permanent, "what an event lacks does not come by itself");
    }
  }
  return 0;
}
