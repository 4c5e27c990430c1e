#include "app/operate/portions.hpp"

#include <fmt/format.h>

#include <set>

#include "app/operate/words.hpp"

namespace outboxd::app {

outcome<portions> portions::begin(operator_session& session, change what, const change_order& given,
                                  const std::vector<change_value>& values) {
  const auto how = words_of(what);
  OUTBOXD_TRY(auto audit, session.begin_audit(how.audited, words_of_order(given), given.reason));
  portions out(session, how.from == event_set::unsent || what == change::edit_dead);
  out.call_ = fmt::format("SELECT {}{{0}}.{}($1::uuid[], audit => $2::bigint, seqs => $3::bigint[]",
                          out.tells_which_ ? "changed_id, changed_seq FROM " : "", how.function);
  out.parameters_ = {"", std::move(audit), ""};
  const auto add = [&](std::string_view name, const std::optional<std::string>& value) {
    if (!value) return;
    out.parameters_.push_back(*value);
    out.call_ += fmt::format(", {} => ${}::text", name, out.parameters_.size());
  };
  add("exchange", given.exchange);
  add("routing_key", given.routing_key);
  for (const change_value& one : values) {
    out.parameters_.push_back(one.value);
    out.call_ += fmt::format(", {} => {}", one.name,
                             fmt::format(fmt::runtime(one.expression), out.parameters_.size()));
  }
  out.call_ += ")";
  return out;
}

outcome<std::int64_t> portions::apply(std::span<const selected_event> events,
                                      std::vector<named_event>& into) {
  auto arrays = arrays_of(events);
  parameters_[0] = std::move(arrays.ids);
  parameters_[2] = std::move(arrays.seqs);
  OUTBOXD_TRY(const auto done, session_->execute(call_, parameters_));
  if (!tells_which_) return done.number_at(0, 0);
  std::set<selected_event> changed;
  for (int row = 0; row < done.size(); ++row)
    changed.insert(selected_from(done.at(row, 0), done.number_at(row, 1)));
  for (const auto& one : events) into.push_back({one, changed.contains(one)});
  return static_cast<std::int64_t>(changed.size());
}

}  // namespace outboxd::app
