#include "parts/beside.hpp"

#include "parts/turns.hpp"

namespace outboxd::bench {
namespace {

drained drain_once(const setup& on, stage& where, const std::vector<std::string>& relay_flags,
                   const filling& fill, measure what) {
  if (what == measure::cold)
    where.connect().exec("UPDATE outbox.shard SET seq = NULL, seen = NULL, unsettled = '{}'");
  return fill_and_drain(on, where, fill, relay_flags);
}

}  // namespace

double drain_beside(const setup& on, report& out, stage& bare, const std::string& bare_name, stage& crowded,
                    const std::string& crowded_name, const beside_options& how, measure what) {
  auto crowded_flags = how.relay_flags;
  crowded_flags.insert(crowded_flags.end(), how.crowded_flags.begin(), how.crowded_flags.end());
  turns both({bare_name, [&] { return drain_once(on, bare, how.relay_flags, how.fill, what); }},
             {crowded_name, [&] { return drain_once(on, crowded, crowded_flags, how.fill, what); }},
             what == measure::cold ? &drained::from_start : &drained::events_per_second);
  both.run(out, how.rounds);
  both.tell(out);
  return both.compare(out, what == measure::cold ? "cold" : "");
}

}  // namespace outboxd::bench
