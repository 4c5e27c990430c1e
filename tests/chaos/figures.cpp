// figures: the leader of the first shard samples the table every 15 s, so this waits for a sample.
#include "figures.hpp"

#include <fmt/format.h>

#include <cstring>

#include "support/eventually.hpp"
#include "support/http_client.hpp"
#include "support/metrics_text.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr auto sample_limit = 120s;

// Without the label of the run's own outbox, if the process relays others.
std::string metrics_of(relay& one) {
  auto text = http_client{one.http_port()}.get("/metrics").body;
  for (const auto& [label, without] : {std::pair{"{outbox=\"main\"}", ""}, {"{outbox=\"main\",", "{"}})
    for (auto at = text.find(label); at != std::string::npos; at = text.find(label, at))
      text.replace(at, std::strlen(label), without);
  return text;
}

bool tells(const std::string& text, double table_as_of) {
  return value_of(text, "outboxd_sample_timestamp_seconds") > table_as_of;
}

// The figures that must be equal.
std::vector<std::string> differences(database& session, const relay& one, const std::string& text) {
  std::vector<std::string> out;
  const auto compare = [&](const std::string& series, std::int64_t wanted) {
    const auto told = value_of(text, series);
    if (told != static_cast<double>(wanted))
      out.push_back(fmt::format("{} tells {} {}, and it is {}", one.name(), series, told, wanted));
  };
  for (const std::string status : {"pending", "waiting", "dead"})
    compare(
        fmt::format("outboxd_events{{status=\"{}\"}}", status),
        session.number("SELECT count(*) FROM outbox.event WHERE status = $1::outbox.event_status", {status}));
  for (const auto* none : {"outboxd_backlog_events", "outboxd_oldest_due_age_seconds",
                           "outboxd_unsettled_events", "outboxd_confirms_in_flight"})
    compare(none, 0);
  return out;
}

}  // namespace

std::vector<std::string> check_figures(surroundings& all, std::string& words) {
  std::vector<std::string> out;
  auto session = all.where.connect();
  const auto now = std::stod(session.value("SELECT extract(epoch FROM clock_timestamp())"));
  std::map<relay*, std::string> texts;
  try {
    eventually(
        "who leads the first shard has looked at the table",
        [&] {
          bool told = false;
          for (const auto& one : all.relays) {
            if (!one->running()) continue;
            const auto& text = texts[one.get()] = metrics_of(*one);
            told = told || tells(text, now);
          }
          return told;
        },
        sample_limit);
  } catch (const deadline_passed&) {
    out.emplace_back("no relay tells anything of the table");
  }
  double published = 0;
  for (const auto& [one, text] : texts) {
    published += value_of(text, "outboxd_events_published_total");
    if (!tells(text, now)) continue;
    const auto wrong = differences(session, *one, text);
    out.insert(out.end(), wrong.begin(), wrong.end());
  }
  // A mark whose reply was lost is not counted, and counts of relays' earlier lives are gone.
  const auto marked = session.number("SELECT count(*) FROM outbox.event WHERE status = 'published'");
  if (published > static_cast<double>(marked))
    out.push_back(
        fmt::format("the relays tell that they have published {} events, and {} are", published, marked));
  words += fmt::format("\nat /metrics the last lives count {} of {} published events", published, marked);
  return out;
}

}  // namespace outboxd::chaos
