// lead_watch: observes the advisory locks of the outbox, and knows which faults excuse a violation.
#include "lead_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Key 2 of the locks is the shard; docs/design.md describes the higher keys.
constexpr auto holders =
    "SELECT l.objid, a.application_name, a.pid FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid < 64 AND l.granted AND a.usename = $1"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";

// How long a fault has after-effects, such as the pauses between attempts to connect.
constexpr auto aftermath = 12s;

// The time from the start of a relay until it is a standby.
constexpr auto start_up = 3s;

// The promise is a quarter of a second; a busy machine takes several times as long.
constexpr auto longest_gap = 3s;
// A frozen relay loses the lead at most this long after claim_timeout.
constexpr auto time_limit = 1s;
// A takeover needs fewer server replies than this; our own queries show how long one takes at that time.
constexpr int turns = 20;
constexpr auto grain = 10ms;

milliseconds span(clock::duration of) {
  return std::chrono::duration_cast<milliseconds>(of);
}

bool harmless(fault what) {
  return what == fault::notifications_forged || what == fault::notifications_lost ||
         what == fault::snapshot_held || what == fault::xids_burnt || what == fault::notify_queue_full ||
         what == fault::sequence_set_back || what == fault::rows_corrected || what == fault::rows_put_off ||
         what == fault::standby_gone;
}

}  // namespace

lead_watch::lead_watch(const surroundings& all, const lead_rules& rules, const injector& faults)
    : all_{all},
      rules_{rules},
      faults_{faults},
      leads_(static_cast<std::size_t>(rules.shards)),
      lives_(all.relays.size()) {
  look_away();
  thread_ = std::thread{[this] { run(); }};
}

lead_watch::~lead_watch() {
  if (thread_.joinable()) finish();
}

lead_sightings lead_watch::finish() {
  stopping_ = true;
  thread_.join();
  return seen_;
}

void lead_watch::run() {
  std::optional<test::database> session;
  while (!stopping_) {
    try {
      if (!session)
        session.emplace(test::database{all_.where.database_url() + "?application_name=chaos_lead_watch"});
      look(*session);
    } catch (const test::database_error&) {
      look_away();
      if (!session || PQstatus(session->handle()) != CONNECTION_OK) session.reset();
    }
    std::this_thread::sleep_for(grain);
  }
}

// Forgets the former leaders, because the time until a shard is led again depends on the server.
void lead_watch::look_away() {
  looked_ = clock::now();
  for (auto& one : leads_) {
    one.held = looked_;
    one.slowest_round = {};
    one.session.clear();
  }
}

void lead_watch::look(test::database& session) {
  const auto rows = session.exec(holders, {all_.where.user()});
  const auto now = clock::now();
  const auto round = now - std::exchange(looked_, now);
  look_at_relays(now, round);
  std::map<int, std::pair<std::string, std::string>> held;
  for (const auto& row : rows) held[std::stoi(*row[0])] = {*row[1], *row[2]};
  for (int shard = 0; shard < rules_.shards; ++shard) {
    auto& one = leads_[static_cast<std::size_t>(shard)];
    const auto found = held.find(shard);
    if (found == held.end()) {
      one.slowest_round = std::max(one.slowest_round, round);
      judge_gap(one, shard, now);
      continue;
    }
    const auto& [name, pid] = found->second;
    if (const auto who = name + ' ' + pid; one.session != who) change_hands(one, who, now);
    one.held = now;
    one.slowest_round = {};
    one.said_gap = false;
    judge_holder(one, shard, name, now);
  }
}

void lead_watch::change_hands(lead& of, const std::string& to, moment now) {
  if (!of.session.empty()) {
    ++seen_.changes;
    auto& times = one_is_well(of.held, now, {}) ? seen_.times.calm : seen_.times.disturbed;
    times.push_back(span(now - of.held));
  }
  of.session = to;
  of.said_hang = false;
}

void lead_watch::look_at_relays(moment now, moment::duration round) {
  for (std::size_t i = 0; i < all_.relays.size(); ++i) {
    auto& one = *all_.relays[i];
    auto& its = lives_[i];
    if (one.lives() != its.number || !one.running()) its = {.number = one.lives(), .since = now};
    if (!one.frozen())
      its.frozen_since = {}, its.slowest_round = {};
    else if (its.frozen_since == moment{})
      its.frozen_since = now;
    else
      its.slowest_round = std::max(its.slowest_round, round);
  }
}

void lead_watch::judge_gap(lead& of, int shard, moment now) {
  if (!one_is_well(of.held, now, {})) return;
  seen_.longest_gap = std::max(seen_.longest_gap, span(now - of.held));
  if (now - of.held < longest_gap + turns * of.slowest_round || std::exchange(of.said_gap, true)) return;
  seen_.delays.push_back(fmt::format("nobody leads shard {} for {} ms, and a relay was well", shard,
                                     span(now - of.held).count()));
}

void lead_watch::judge_holder(lead& of, int shard, const std::string& name, moment now) {
  for (std::size_t i = 0; i < all_.relays.size(); ++i) {
    const auto since = lives_[i].frozen_since;
    if (all_.relays[i]->name() != name || since == moment{} || !one_is_well(since, now, name)) continue;
    seen_.longest_hang = std::max(seen_.longest_hang, span(now - since));
    // PostgreSQL ends an idle session; another relay, which checks twice a second, ends a session that
    // stopped in the middle of a message.
    const auto allowed = rules_.claim_timeout + time_limit + turns * lives_[i].slowest_round;
    if (now - since < allowed || std::exchange(of.said_hang, true)) continue;
    seen_.delays.push_back(fmt::format("{} is frozen for {} ms and leads shard {} still", name,
                                       span(now - since).count(), shard));
  }
}

bool lead_watch::well(const relay& whom, moment from, moment to) const {
  const auto disturbs = [&](const planned& one) {
    switch (one.whom.what) {
      case target::kind::relay:
      case target::kind::guest:
      case target::kind::link:
        return one.whom.relay == whom.number();
      case target::kind::leader:
        return false;  // the lives of the relays show which one was affected
      case target::kind::postgres:
      case target::kind::rabbitmq:
      case target::kind::neighbour:
      case target::kind::hand:
        return !harmless(one.what);
    }
    return true;
  };
  const auto& its = lives_[static_cast<std::size_t>(whom.number() - 1)];
  return its.since + start_up < from && !faults_.at_work(disturbs, from - aftermath, to);
}

bool lead_watch::one_is_well(moment from, moment to, const std::string& but) const {
  return std::any_of(all_.relays.begin(), all_.relays.end(),
                     [&](const auto& one) { return one->name() != but && well(*one, from, to); });
}

}  // namespace outboxd::chaos
