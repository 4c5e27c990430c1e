#include "verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace outboxd::cluster {

verdict judge(const std::vector<written>& by_writers, const std::vector<test::committed_event>& rows,
              const test::history& deliveries, const std::optional<failover>& change) {
  verdict out;
  std::unordered_set<std::string> known;
  for (const auto& row : rows) known.insert(row.id);
  std::size_t torn = 0;
  std::size_t lost = 0;      // the new primary must have them
  std::size_t conjured = 0;  // it cannot have them
  for (const auto& one : by_writers) {
    const auto there = static_cast<std::size_t>(
        std::count_if(one.ids.begin(), one.ids.end(), [&](const auto& id) { return known.contains(id); }));
    if (there != 0 && there != one.ids.size()) ++torn;
    const bool on_old = change && one.port == change->old_port;
    if (there == 0 && on_old)
      out.known_to_consumers += static_cast<std::size_t>(std::count_if(
          one.ids.begin(), one.ids.end(), [&](const auto& id) { return deliveries.delivered(id); }));
    if (there == 0 && one.acknowledged) {
      // Nobody knows where a commit ended whose server was gone a moment later.
      const bool may_be_missing =
          on_old && !change->synchronous && (!one.before || *one.before > change->standby_got_to);
      if (may_be_missing)
        out.missing += one.ids.size();
      else
        lost += one.ids.size();
    }
    if (there != 0 && on_old && one.after && *one.after >= change->standby_got_to) conjured += there;
  }
  if (torn > 0) out.wrong.push_back(fmt::format("{} transactions are there in part", torn));
  if (lost > 0) out.wrong.push_back(fmt::format("{} events were committed and are not in the table", lost));
  if (conjured > 0)
    out.wrong.push_back(fmt::format("{} events are in the table of a server that never got them", conjured));
  if (change && change->held_back && out.missing == 0)
    out.wrong.emplace_back("the standby was held back, and nothing is missing: this proves nothing");

  auto report = deliveries.check(rows);
  out.duplicates = report.duplicates;
  // Delivered by a primary that is gone, and never copied.
  const auto phantom = report.phantom - std::min(report.phantom, out.known_to_consumers);
  if (report.lost + report.out_of_order + report.mismatches + report.dead + phantom > 0)
    out.wrong.push_back(report.words());
  return out;
}

}  // namespace outboxd::cluster
