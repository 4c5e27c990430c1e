// verdict: each invariant is one function.
#include "verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "bounds.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::size_t most_of_a_kind = 5;

/// Messages of one kind; the first few are printed, the others counted.
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

const poison* odd_row(const evidence& from, const std::string& id) {
  const auto found = from.by_writers.odd.find(id);
  return found == from.by_writers.odd.end() ? nullptr : found->second;
}

reason reason_of(const evidence& from, const std::string& id) {
  const auto found = from.reasons.find(id);
  return found == from.reasons.end() ? reason{} : found->second;
}

// Scheduled for `infinity`: it is neither lost nor late.
bool may_wait(const evidence& from, const committed_event& row) {
  const auto* odd = odd_row(from, row.id);
  return odd != nullptr && odd->status == "waiting" && row.status == "waiting";
}

// 1, 2, 5, 6: the history's own checks, compared with the writers' records.
history_report check_history(const evidence& from, std::vector<std::string>& violations) {
  auto due = from.table;
  std::erase_if(due, [&](const committed_event& row) { return may_wait(from, row); });
  auto report = from.deliveries.check(
      due, {.unordered = scheduled_type, .unordered_seqs = from.unordered_seqs, .changed = from.changed});
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
    if (row.status != "published" && row.status != "dead" && !may_wait(from, row))
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

// 7: exactly the events that are bad on purpose are dead, each with the right reason.
void check_dead(const evidence& from, std::vector<std::string>& violations) {
  findings wrong{violations};
  for (const auto& row : from.table) {
    if (odd_row(from, row.id) != nullptr) continue;
    const auto found = from.by_writers.bad.find(row.id);
    const auto made = found == from.by_writers.bad.end() ? event_kind::good : found->second;
    const bool bad = made != event_kind::good;
    const bool dead = row.status == "dead";
    if (bad && from.deliveries.delivered(row.id))
      wrong.add(fmt::format("event {} ({}) was delivered", row.id, name_of(made)));
    if (dead != bad)
      wrong.add(fmt::format("event {} ({}) is {}{}", row.id, name_of(made), row.status,
                            dead ? ": " + from.reasons.at(row.id).error : ""));
    else if (dead && !explains(made, from.reasons.at(row.id).error))
      wrong.add(fmt::format("event {} ({}) is dead for another reason: {}", row.id, name_of(made),
                            from.reasons.at(row.id).error));
  }
}

// 7, for the odd rows: dead with the right reason, waiting or delivered, as the table says. Every run has
// some.
std::string check_odd_rows(const evidence& from, verdict& out) {
  findings wrong{out.violations};
  const bool outage = std::any_of(from.faults.begin(), from.faults.end(),
                                  [](const injection& one) { return one.unroutable.count() > 0; });
  std::unordered_set<const poison*> kinds;
  std::map<std::string, std::size_t> ends;
  for (const auto& row : from.table) {
    const auto* odd = odd_row(from, row.id);
    if (odd == nullptr) continue;
    kinds.insert(odd);
    ++ends[row.status];
    auto found = wrong_end(*odd, row, reason_of(from, row.id), from.deliveries.delivered(row.id), outage);
    if (found) wrong.add(std::move(*found));
  }
  if (kinds.empty()) out.doubts.emplace_back("no odd row was committed");
  return fmt::format("odd rows of {} kinds: {} delivered, {} dead, {} waiting", kinds.size(),
                     ends["published"], ends["dead"], ends["waiting"]);
}

// Each dead event was published to the dead letter exchange, or its reason says why not; no other event was.
void check_letters(const evidence& from, std::vector<std::string>& violations) {
  if (!from.letters) return;
  findings wrong{violations};
  for (const auto& row : from.table) {
    if (const auto* odd = odd_row(from, row.id); odd != nullptr && is_born_dead(*odd)) continue;
    const bool written = from.letters->contains(row.id);
    if (row.status == "dead" && !written &&
        from.reasons.at(row.id).error.find("dead-letter message") == std::string::npos)
      wrong.add(fmt::format("event {} is dead and there is no letter", row.id));
    if (row.status != "dead" && written)
      wrong.add(fmt::format("event {} is {} and has a letter", row.id, row.status));
  }
}

struct totals {
  std::size_t relays = 0;  // lives of relays that reported totals
  std::size_t published = 0;
};

// 9: the totals that each relay reports on a clean stop, without those of side outboxes. They do not exceed
// the number of deliveries; without faults, when no life is missing, they match the table.
totals check_totals(const evidence& from, surroundings& all, std::vector<std::string>& violations) {
  static const std::regex words{R"(  (main: )?stopped; (\d+) events published)"};
  totals sum;
  for (const auto& one : all.relays) {
    for (const auto& line : one->all_lines()) {
      std::smatch found;
      if (!std::regex_search(line, found, words)) continue;
      ++sum.relays;
      sum.published += std::stoul(found[2]);
    }
  }
  if (sum.published > from.deliveries.deliveries())
    violations.push_back(
        fmt::format("the relays say that they have published {} events, and {} were delivered", sum.published,
                    from.deliveries.deliveries()));
  const auto published = static_cast<std::size_t>(
      std::count_if(from.table.begin(), from.table.end(),
                    [](const committed_event& row) { return row.status == "published"; }));
  if (from.faults.empty() && sum.published != published)
    violations.push_back(
        fmt::format("the relays say that they have published {} events, and the table says {}", sum.published,
                    published));
  return sum;
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

// 13.
void check_evidence(const evidence& from, std::vector<std::string>& doubts) {
  std::size_t missed = 0;
  for (const auto& one : from.faults) {
    // Possibly no event was affected while it lasted.
    const bool late = one.result == outcome::nothing && from.any_pace;
    if (one.result == outcome::missed || late) ++missed;
    if ((one.result == outcome::nothing && !late) || one.result == outcome::failed)
      doubts.push_back(fmt::format("{}: {}: {}", one.plan.words(), name_of(one.result), one.evidence));
  }
  if (missed * 2 > from.faults.size())
    doubts.push_back(fmt::format("{} of {} faults met nothing to disturb", missed, from.faults.size()));
}

}  // namespace

verdict judge(const evidence& from, surroundings& all) {
  verdict out;
  out.violations = from.violations;
  out.violations.insert(out.violations.end(), from.seen.violations.begin(), from.seen.violations.end());
  auto& late = from.any_pace ? out.delays : out.violations;
  late.insert(late.end(), from.seen.delays.begin(), from.seen.delays.end());
  const auto report = check_history(from, out.violations);
  check_marks(from, out.violations);
  check_dead(from, out.violations);
  const auto odd = check_odd_rows(from, out);
  check_letters(from, out.violations);
  const auto allowed = allowed_duplicates(from);
  if (report.duplicates > allowed)
    out.violations.push_back(
        fmt::format("{} duplicates, more than the {} that the faults explain", report.duplicates, allowed));
  const auto said = check_totals(from, all, out.violations);
  check_logs(all, out.violations);
  check_evidence(from, out.doubts);
  if (const auto unroutable = longest_unroutable(from.faults); unroutable > from.given_up_after)
    (from.any_pace ? out.delays : out.doubts)
        .push_back(fmt::format("the queue was unbound for {} ms, longer than retry.give_up_after: good "
                               "events may be dead for that",
                               unroutable.count()));

  const auto happened = std::count_if(from.faults.begin(), from.faults.end(),
                                      [](const injection& one) { return one.result == outcome::happened; });
  int lives = 0;
  for (const auto& one : all.relays) lives += one->lives();
  out.summary = fmt::format(
      "{} committed, {} delivered, {} dead, {} duplicates (allowed {}), {} redelivered by the broker\n{}\n"
      "{} transactions, {} of them interrupted, {} commits with an unknown outcome\n"
      "{} of {} faults happened, {} lives of {} relays, {} of them said what they had published: {} "
      "events\n{}",
      report.committed, report.delivered, report.dead, report.duplicates, allowed, report.redelivered, odd,
      from.by_writers.transactions, from.by_writers.interrupted, from.by_writers.unknown.size(), happened,
      from.faults.size(), lives, all.relays.size(), said.relays, said.published, commit_times(from));
  return out;
}

}  // namespace outboxd::chaos
