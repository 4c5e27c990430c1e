// verdict: each invariant is one function.
#include "verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <regex>

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::size_t most_of_a_kind = 5;

/// Sentences of one kind; the first few are said, the others counted.
class findings {
 public:
  explicit findings(std::vector<std::string>& into) : into_{into} {}
  ~findings() {
    if (count_ > most_of_a_kind)
      into_.push_back(fmt::format("... and {} more like it", count_ - most_of_a_kind));
  }
  findings(const findings&) = delete;
  findings& operator=(const findings&) = delete;
  void add(std::string sentence) {
    if (++count_ <= most_of_a_kind) into_.push_back(std::move(sentence));
  }

 private:
  std::vector<std::string>& into_;
  std::size_t count_ = 0;
};

// 1, 2, 5, 6: the history's own checks, and what the writers know.
history_report check_history(const evidence& from, std::vector<std::string>& violations) {
  auto report = from.deliveries.check(from.table);
  if (!report.sound()) violations.push_back("history: " + report.words());
  std::unordered_set<std::string> rows;
  for (const auto& row : from.table) rows.insert(row.id);
  findings lost{violations};
  for (const auto& id : from.by_writers.committed)
    if (!rows.contains(id)) lost.add(fmt::format("event {} was committed and is not in the table", id));
  findings phantom{violations};
  for (const auto& id : from.by_writers.aborted) {
    if (rows.contains(id)) phantom.add(fmt::format("event {} was rolled back and is in the table", id));
    if (from.deliveries.delivered(id)) phantom.add(fmt::format("event {} was rolled back and delivered", id));
  }
  findings unfinished{violations};
  for (const auto& row : from.table)
    if (row.status != "published" && row.status != "dead")
      unfinished.add(fmt::format("event {} is {} at the end", row.id, row.status));
  return report;
}

// 3: a mark without a delivery, now or at any time.
void check_marks(const evidence& from, std::vector<std::string>& violations) {
  findings unheard{violations};
  for (const auto& row : from.table)
    if (row.status == "published" && !from.deliveries.delivered(row.id))
      unheard.add(fmt::format("event {} is published and was never delivered", row.id));
  for (const auto& id : from.seen.published)
    if (!from.deliveries.delivered(id))
      unheard.add(fmt::format("event {} was published for a while and was never delivered", id));
}

// 7: dead are exactly those made bad on purpose, each for its reason.
void check_dead(const evidence& from, std::vector<std::string>& violations) {
  findings wrong{violations};
  for (const auto& row : from.table) {
    const auto found = from.by_writers.bad.find(row.id);
    const auto kind = found == from.by_writers.bad.end() ? event_kind::good : found->second;
    const bool bad = kind != event_kind::good;
    const bool dead = row.status == "dead";
    if (bad && from.deliveries.delivered(row.id))
      wrong.add(fmt::format("event {} ({}) was delivered", row.id, name_of(kind)));
    if (dead != bad)
      wrong.add(fmt::format("event {} ({}) is {}{}", row.id, name_of(kind), row.status,
                            dead ? ": " + from.last_errors.at(row.id) : ""));
    else if (dead && !explains(kind, from.last_errors.at(row.id)))
      wrong.add(fmt::format("event {} ({}) is dead for another reason: {}", row.id, name_of(kind),
                            from.last_errors.at(row.id)));
  }
}

// Each dead event was published to the exchange for them, or its reason says why not; and nobody else was.
void check_letters(const evidence& from, std::vector<std::string>& violations) {
  if (!from.letters) return;
  findings wrong{violations};
  for (const auto& row : from.table) {
    const bool written = from.letters->contains(row.id);
    if (row.status == "dead" && !written &&
        from.last_errors.at(row.id).find("dead letter") == std::string::npos)
      wrong.add(fmt::format("event {} is dead and there is no letter", row.id));
    if (row.status != "dead" && written)
      wrong.add(fmt::format("event {} is {} and has a letter", row.id, row.status));
  }
}

bool may_repeat(const injection& one) {
  switch (one.plan.what) {
    case fault::notifications_forged:
    case fault::notifications_lost:
    case fault::snapshot_held:
      return false;
    case fault::relay_killed:
    case fault::relay_frozen:
    case fault::relay_stopped:
    case fault::backends_terminated:
    case fault::postgres_restarted:
    case fault::postgres_crashed:
    case fault::read_only:
    case fault::table_locked:
    case fault::database_password:
    case fault::alarm:
    case fault::broker_killed:
    case fault::broker_restarted:
    case fault::broker_app_stopped:
    case fault::broker_frozen:
    case fault::connections_closed:
    case fault::queue_full:
    case fault::queue_unbound:
    case fault::exchange_deleted:
    case fault::permission_revoked:
    case fault::broker_password:
    case fault::link_delayed:
    case fault::link_cut:
    case fault::link_reset:
    case fault::link_stalled:
    case fault::link_half_open:
    case fault::link_dropped:
    case fault::link_sliced:
    case fault::link_refused:
    case fault::link_silent:
    case fault::link_abandoned:
      return true;
  }
  return true;
}

// 4: each fault may repeat what its relays had in flight at its begin, and again each time that a relay comes back and
// tries while it lasts: not more often than once in a second on average, for the pauses grow. The crash of a server also
// loses what it had not written yet, marks of PostgreSQL and acknowledgements of RabbitMQ: of about a second.
std::size_t allowed_duplicates(const evidence& from, std::size_t relays) {
  std::size_t rounds = 0;
  for (const auto& one : from.faults) {
    if (!may_repeat(one)) continue;
    const bool of_one = one.plan.whom.what == target::kind::relay || one.plan.whom.what == target::kind::link;
    const auto lasted = std::chrono::duration_cast<std::chrono::seconds>(one.ended - one.began);
    rounds += (2 + static_cast<std::size_t>(lasted.count())) * (of_one ? 1 : relays);
  }
  // Each one closes a channel with others in flight, and is sent alone afterwards; that count may be lost with a crash.
  const auto closes_channels =
      std::count_if(from.by_writers.bad.begin(), from.by_writers.bad.end(),
                    [](const auto& one) { return one.second == event_kind::missing_exchange; });
  rounds += 2 * static_cast<std::size_t>(closes_channels);
  return rounds * from.in_flight;
}

// 9: what was claimed went one of these ways; said by every relay that stopped in the orderly way.
std::size_t check_totals(const std::vector<std::string>& lines, std::vector<std::string>& violations) {
  static const std::regex pair{R"((\w+)=(\d+))"};
  std::size_t found = 0;
  for (const auto& line : lines) {
    const auto at = line.find("totals: ");
    if (at == std::string::npos) continue;
    ++found;
    const auto text = line.substr(at);
    std::size_t claimed = 0;
    std::size_t sum = 0;
    for (auto one = std::sregex_iterator(text.begin(), text.end(), pair); one != std::sregex_iterator{};
         ++one) {
      const auto count = std::stoul((*one)[2]);
      ((*one)[1] == "claimed" ? claimed : sum) += count;
    }
    if (claimed != sum) violations.push_back(fmt::format("claimed is not the sum of the others: {}", text));
  }
  return found;
}

// 12: payloads, header values and passwords carry the canary.
void check_logs(surroundings& all, std::vector<std::string>& violations) {
  findings leaks{violations};
  for (const auto& one : all.relays) {
    for (const auto& file : one->log_files()) {
      std::ifstream log{file};
      for (std::string line; std::getline(log, line);)
        if (line.find(canary) != std::string::npos)
          leaks.add(fmt::format("{} has a secret: {}", file.string(), line));
    }
  }
}

/// The longest time within a minute in which good events could not be routed: they must not have used up their retries.
std::chrono::milliseconds longest_unroutable(const std::vector<injection>& faults) {
  std::chrono::milliseconds longest{0};
  for (const auto& first : faults) {
    std::chrono::milliseconds sum{0};
    for (const auto& one : faults)
      if (one.began >= first.began && one.began < first.began + 60s) sum += one.unroutable;
    longest = std::max(longest, sum);
  }
  return longest;
}

// 13.
void check_evidence(const evidence& from, std::vector<std::string>& doubts) {
  std::size_t missed = 0;
  for (const auto& one : from.faults) {
    if (one.result == outcome::missed) ++missed;
    if (one.result == outcome::nothing || one.result == outcome::failed)
      doubts.push_back(fmt::format("{}: {}: {}", one.plan.words(), name_of(one.result), one.evidence));
  }
  if (missed * 2 > from.faults.size())
    doubts.push_back(fmt::format("{} of {} faults met nothing to disturb", missed, from.faults.size()));
}

std::string median_of(std::vector<std::chrono::microseconds> times) {
  if (times.empty()) return "-";
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return fmt::format("{:.2f} ms", static_cast<double>(middle->count()) / 1000);
}

// 11, as a figure: commits while nothing was wrong, and while a broker or a relay was.
std::string commit_times(const evidence& from) {
  std::vector<std::chrono::microseconds> calm;
  std::vector<std::chrono::microseconds> troubled;
  for (const auto& one : from.by_writers.commits) {
    const auto during = [&](target::kind which) {
      return std::any_of(from.faults.begin(), from.faults.end(), [&](const injection& fault) {
        return fault.plan.whom.what == which && fault.began <= one.began && one.began <= fault.ended;
      });
    };
    if (during(target::kind::postgres)) continue;
    (during(target::kind::rabbitmq) || during(target::kind::relay) ? troubled : calm).push_back(one.took);
  }
  return fmt::format("commit median {} in calm ({}), {} while broker or relay were disturbed ({})",
                     median_of(calm), calm.size(), median_of(troubled), troubled.size());
}

}  // namespace

verdict judge(const evidence& from, surroundings& all) {
  verdict out;
  out.violations = from.violations;
  out.violations.insert(out.violations.end(), from.seen.violations.begin(), from.seen.violations.end());
  const auto report = check_history(from, out.violations);
  check_marks(from, out.violations);
  check_dead(from, out.violations);
  check_letters(from, out.violations);
  const auto allowed = allowed_duplicates(from, all.relays.size());
  if (report.duplicates > allowed)
    out.violations.push_back(
        fmt::format("{} duplicates, more than the {} that the faults explain", report.duplicates, allowed));
  std::size_t totals = 0;
  for (const auto& one : all.relays) totals += check_totals(one->all_lines(), out.violations);
  check_logs(all, out.violations);
  check_evidence(from, out.doubts);
  if (const auto unroutable = longest_unroutable(from.faults); unroutable > from.retries_last)
    out.doubts.push_back(fmt::format(
        "the queue was unbound for {} ms, longer than the retries last: good events may be dead for that",
        unroutable.count()));

  const auto happened = std::count_if(from.faults.begin(), from.faults.end(),
                                      [](const injection& one) { return one.result == outcome::happened; });
  int lives = 0;
  for (const auto& one : all.relays) lives += one->lives();
  out.summary = fmt::format(
      "{} committed, {} delivered, {} dead, {} duplicates (allowed {}), {} redelivered by the broker\n"
      "{} transactions, {} of them interrupted, {} commits with an unknown outcome\n"
      "{} of {} faults happened, {} lives of {} relays, {} totals checked\n{}",
      report.committed, report.delivered, report.dead, report.duplicates, allowed, report.redelivered,
      from.by_writers.transactions, from.by_writers.interrupted, from.by_writers.unknown.size(), happened,
      from.faults.size(), lives, all.relays.size(), totals, commit_times(from));
  return out;
}

}  // namespace outboxd::chaos
