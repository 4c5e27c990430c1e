// What the page may ask for, and the same on the command line.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "console/wanted.hpp"

namespace outboxd::console::console_wanted_test {
namespace {

using nlohmann::json;

constexpr auto id = "6f1c1f1e-2f0c-4b1e-9d55-0a1b2c3d4e5f";

std::string command_of(const json& given, const std::optional<std::string>& reason = std::nullopt) {
  const auto found = read_wanted(given);
  REQUIRE_MESSAGE(found, found.error().message);
  auto out = *found;
  out.reason = reason;
  return app::command_line_of(out);
}

std::string refusal_of(const json& given) {
  const auto found = read_wanted(given);
  return found ? std::string() : found.error().message;
}

}  // namespace

TEST_CASE("an action is the same on the command line") {
  CHECK(command_of({{"what", "retry"}, {"code", {"returned"}}, {"event_type", {"a b"}}}) ==
        "outboxd events retry --event-type 'a b' --error-code returned");
  CHECK(command_of({{"what", "discard"}, {"all", true}}, "it's over") ==
        "outboxd events discard --all --reason 'it'\\''s over' --yes");
  CHECK(command_of(
            {{"what", "replay"}, {"since", "2h"}, {"exchange", ""}, {"routing_key", "q"}, {"rate", 5}}) ==
        "outboxd events replay --since 2h --rate 5 --to-exchange '' --to-routing-key q --yes");
  CHECK(command_of({{"what", "cancel"}, {"id", {id}}}) == fmt::format("outboxd events cancel --id {}", id));
  CHECK(command_of({{"what", "postpone"}, {"aggregate", {"order/42"}}, {"to", "2h"}}) ==
        "outboxd events postpone --aggregate order/42 --to 2h --yes");
  CHECK(command_of({{"what", "edit"},
                    {"event_type", {"a"}},
                    {"retry", true},
                    {"set_routing_key", "b"},
                    {"set_payload", "secret"},
                    {"set_headers", "{}"}}) ==
        "outboxd events edit --event-type a --set-payload payload --set-headers headers.json "
        "--set-routing-key b --retry --yes");
  CHECK(command_of({{"what", "edit"}, {"id", {id}}, {"set_exchange", ""}, {"by_route", false}}) ==
        fmt::format("outboxd events edit --id {} --set-exchange ''", id));
  CHECK(command_of({{"what", "pause"}, {"event_type", {"a"}}, {"aggregate_type", {"b"}}, {"until", "1h"}}) ==
        "outboxd pause --event-type a --aggregate-type b --until 1h");
  CHECK(command_of({{"what", "pause"}, {"exchange", {""}}, {"routing_key", {"a.*"}}}) ==
        "outboxd pause --exchange '' --routing-key 'a.*'");
  CHECK(command_of({{"what", "resume"}, {"all", true}}, "ticket 7") ==
        "outboxd resume --all --reason 'ticket 7'");
}

TEST_CASE("what is no action is refused, and the words name what is wrong") {
  CHECK(refusal_of(json::array()).find("what is retry") != std::string::npos);
  CHECK(refusal_of({{"what", 1}}).find("what is retry") != std::string::npos);
  CHECK(refusal_of({{"what", "prune"}, {"all", true}}).find("what is retry") != std::string::npos);
  CHECK(refusal_of({{"what", "edit"}, {"set_exchange", "x"}}).find("needs a selector") != std::string::npos);
  CHECK(refusal_of({{"what", "edit"}, {"all", true}, {"set_payload", 1}}) == "set_payload is a text");
  CHECK(refusal_of({{"what", "edit"}, {"all", true}, {"payload_file", "/etc/passwd"}}) ==
        "payload_file is not known here");
  CHECK(refusal_of({{"what", "retry"}, {"all", true}, {"set_exchange", "x"}}) ==
        "set_exchange is not known here");
  CHECK(refusal_of({{"what", "retry"}}).find("needs a selector") != std::string::npos);
  CHECK(refusal_of({{"what", "retry"}, {"all", "yes"}}) == "all is true or false");
  CHECK(refusal_of({{"what", "retry"}, {"id", {id, 1}}}) == "id is a list of up to 1000 texts");
  CHECK(refusal_of({{"what", "retry"}, {"id", json(std::vector<std::string>(1001, id))}}) ==
        "id is a list of up to 1000 texts");
  CHECK(refusal_of({{"what", "retry"}, {"all", true}, {"since", 1}}) == "since is a text");
  CHECK(refusal_of({{"what", "retry"}, {"all", true}, {"until", nullptr}}) == "until is a text");
  const std::string cut("a\0b", 3);
  CHECK(refusal_of({{"what", "replay"}, {"all", true}, {"exchange", cut}}) == "exchange is a text");
  CHECK(refusal_of({{"what", "retry"}, {"event_type", {cut}}}) == "event_type is a list of up to 1000 texts");
  CHECK(refusal_of({{"what", "retry"}, {"all", true}, {"rate", 5}}) == "rate is not known here");
  for (const json& rate : {json(0), json(-1), json(1.5), json("5"), json(1'000'001)})
    CHECK(refusal_of({{"what", "replay"}, {"all", true}, {"rate", rate}}) ==
          "rate is 1 to 1000000 events a second");
  CHECK(refusal_of({{"what", "pause"}, {"all", true}, {"id", {id}}}) == "id is not known here");
  CHECK(refusal_of({{"what", "pause"}, {"all", true}, {"event_type", {"a"}}})
            .find("excludes other selectors") != std::string::npos);
  CHECK(refusal_of({{"what", "resume"}, {"all", true}, {"until", "1h"}}) == "until is not known here");
  CHECK(refusal_of({{"what", "replay"}, {"all", true}, {"exchange", std::string(256, 'x')}})
            .find("256 bytes") != std::string::npos);
}

}  // namespace outboxd::console::console_wanted_test
