#include "otlp/collector_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace outboxd::otlp {
namespace {

constexpr std::size_t longest_words = 200;

std::optional<std::int64_t> integer_in(std::string_view text) {
  std::int64_t out = 0;
  const auto* const end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, out);
  return failed == std::errc() && at == end ? std::optional(out) : std::nullopt;
}

// An int64 of protobuf in JSON: text or number.
std::int64_t integer_of(const nlohmann::json& value) {
  if (value.is_string()) return integer_in(value.get_ref<const std::string&>()).value_or(0);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::string text_of(const nlohmann::json& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_string()
             ? escaped(found->get<std::string>().substr(0, longest_words))
             : std::string();
}

// {"partialSuccess":{"rejectedSpans":"3","errorMessage":"..."}}
collector_answer partial(const std::string& body, std::size_t spans) {
  const auto said = nlohmann::json::parse(body, nullptr, false);
  if (!said.is_object() || !said.contains("partialSuccess") || !said["partialSuccess"].is_object()) return {};
  const auto& part = said["partialSuccess"];
  const auto rejected = part.contains("rejectedSpans") ? integer_of(part["rejectedSpans"]) : 0;
  collector_answer out;
  out.refused =
      static_cast<std::size_t>(std::clamp<std::int64_t>(rejected, 0, static_cast<std::int64_t>(spans)));
  if (out.refused > 0)
    out.words =
        fmt::format("it refused {} of {} spans: {}", out.refused, spans, text_of(part, "errorMessage"));
  return out;
}

}  // namespace

collector_answer judge(const http::answer& heard, std::size_t spans) {
  if (heard.status >= 200 && heard.status < 300) return partial(heard.body, spans);
  constexpr std::array retried{429, 502, 503, 504};
  collector_answer out{.what = collector_verdict::refused,
                       .words = fmt::format("it answers {}", heard.status)};
  // A Status, which has the words.
  const auto said = nlohmann::json::parse(heard.body, nullptr, false);
  if (const auto why = said.is_object() ? text_of(said, "message") : std::string(); !why.empty())
    out.words += ": " + why;
  if (std::find(retried.begin(), retried.end(), heard.status) == retried.end()) return out;
  out.what = collector_verdict::later;
  if (const auto wait = integer_in(heard.retry_after); wait && *wait >= 0)
    out.wait = std::chrono::seconds(*wait);
  return out;
}

}  // namespace outboxd::otlp
