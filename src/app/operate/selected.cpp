#include "app/operate/selected.hpp"

#include <fmt/format.h>

#include <array>

namespace outboxd::app {
namespace {

std::uint8_t digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  return static_cast<std::uint8_t>((c | 0x20) - 'a' + 10);
}

event_id id_from(std::string_view text) {
  event_id out;
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '-' || digits == 2 * out.bytes.size()) continue;
    auto& byte = out.bytes.at(digits++ / 2);
    byte = static_cast<std::uint8_t>(byte << 4U | digit_of(c));
  }
  return out;
}

}  // namespace

selected_event selected_from(std::string_view id, std::int64_t seq) {
  return {id_from(id), seq};
}

event_arrays arrays_of(std::span<const selected_event> events) {
  event_arrays out{"{", "{"};
  for (const auto& one : events) {
    const auto* comma = &one == events.data() ? "" : ",";
    out.ids += comma + to_string(one.id);
    out.seqs += comma + std::to_string(one.seq);
  }
  out.ids += "}";
  out.seqs += "}";
  return out;
}

outcome<std::int64_t> select_events(operator_session& session, const selectors& resolved, event_set from) {
  const auto which = condition_of(resolved, from);
  constexpr auto selected_sql =
      "DECLARE selected SCROLL CURSOR WITH HOLD FOR SELECT e.id, e.seq FROM {{0}}.event AS e"
      " WHERE {} ORDER BY e.seq";
  OUTBOXD_TRY(const auto selected, session.execute(fmt::format(selected_sql, which.sql), which.parameters));
  OUTBOXD_TRY(const auto counted, session.execute("MOVE FORWARD ALL IN selected"));
  OUTBOXD_TRY_VOID(session.execute("MOVE ABSOLUTE 0 IN selected"));
  return counted.affected();
}

outcome<std::vector<selected_event>> next_selected(operator_session& session, std::int64_t most) {
  OUTBOXD_TRY(const auto next, session.execute(fmt::format("FETCH {} FROM selected", most)));
  std::vector<selected_event> out;
  out.reserve(static_cast<std::size_t>(next.size()));
  for (int row = 0; row < next.size(); ++row)
    out.push_back(selected_from(next.at(row, 0), next.number_at(row, 1)));
  return out;
}

}  // namespace outboxd::app
