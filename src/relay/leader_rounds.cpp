// leader_rounds: what a leader does now and then, beside its events: sweeps, proofs, who else is there, who
// is in the way, what is put off, and making way for others.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "pg/sqlstate.hpp"
#include "relay/leader.hpp"

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;

// A proof of hearing that could not be sent is tried again after so long.
constexpr auto next_turn = 1s;

// A statement that PostgreSQL puts off for so long is worth a line.
constexpr auto worth_saying = 1s;

// A leader without a broker for so long makes way for a relay that has one.
constexpr auto without_broker = 1s;

// What is locked, or in flight to a silent queue, may take minutes: who makes way for others goes on after so
// long without rest, and tries again later. For confirms each try has twice the time: they come, or are overdue.
constexpr auto first_drain = 1s;
constexpr int most_doublings = 6;
constexpr auto between_drains = 5s;

constexpr auto after_giving_up = 1s;

}  // namespace

void leader::sweep(clock::time_point now) {
  next_sweep_ = now + settings_.sweep_interval;
  stream_.sweep();
  ++host_.so_far().sweeps;
  host_.so_far().last_sweep = std::chrono::system_clock::now();
  if (lanes_.any_up()) broker_gone_since_ = now;
  tell_doorbell(now);
}

boost::asio::awaitable<result<void>> leader::make_rounds(pg::connection& link) {
  const auto proved = co_await prove_hearing(link);
  if (!proved) co_return proved;
  const auto shown = co_await show_presence(link);
  if (!shown) co_return shown;
  // Nothing is read while everything is paused: the session would pass for one that hangs.
  if (stream_.is_paused()) {
    const auto alive = co_await ask(link, "SELECT 1");
    if (!alive) co_return tl::make_unexpected(alive.error());
  }
  const bool alone = view_.shards == 1;
  if (alone ? !lanes_.any_up() : host_.counts_relays(*this) || !lanes_.any_up()) {
    const auto counted = co_await count_relays(link);
    if (!counted) co_return counted;
  }
  if (std::exchange(sleep_refused_, false)) {
    const int own = sleep_lock_ ? sleep_lock_->process() : 0;
    const auto ended = co_await end_former_sleeper(link, settings_.database, *shard_, own);
    if (!ended) co_return ended;
  }
  co_return co_await name_culprits(link);
}

boost::asio::awaitable<result<void>> leader::prove_hearing(pg::connection& link) {
  const auto now = clock::now();
  if (probe_.late(now)) {
    if (probe_.on_deaf(now))
      host_.on_deaf("notifications do not arrive; events leave by polling, and LISTEN is tried again");
    doorbell_.set(flow::doorbell::obstacle::deaf, true, now);
    const auto listens = co_await ask(link, fmt::format("LISTEN {}", settings_.database.schema.identifier()));
    if (!listens) co_return tl::make_unexpected(listens.error());
  }
  if (probe_.due(now)) {
    probe_.on_sent(now);
    const auto sent = co_await ask(
        link, fmt::format("SELECT pg_notify({}, '{}')", settings_.database.schema.literal(), own_probe()));
    if (!sent && !pg::is_lock_timeout(link.last_sqlstate())) co_return tl::make_unexpected(sent.error());
    // All of the server's commits that notify take turns by one lock: where they are slow, the turn did not
    // come in time.
    if (!sent) {
      probe_.on_unsent(now);
      next_sweep_ = std::min(next_sweep_, now + next_turn);
    }
  }
  co_return result<void>();
}

// Only whose user may lead counts: anybody can take the lock.
boost::asio::awaitable<result<void>> leader::count_relays(pg::connection& link) {
  const auto counted = co_await ask(
      link,
      fmt::format(
          "SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
          " WHERE l.locktype = 'advisory' AND l.classid = {} AND l.objid = {} AND l.granted"
          " AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())"
          " AND has_table_privilege(a.usesysid, format('%I.shard', {}), 'UPDATE')",
          pg::lock_class(settings_.database.schema), pg::present_key, settings_.database.schema.literal()));
  if (!counted) co_return tl::make_unexpected(counted.error());
  const int relays = std::atoi(std::string(counted->at(0, 0)).c_str());
  others_present_ = relays - (present_ ? 1 : 0);
  if (host_.counts_relays(*this)) host_.on_relays_counted(relays);
  co_return result<void>();
}

// Who could lead holds PRESENT, once per relay. It is never waited for: somebody else may hold it.
boost::asio::awaitable<result<void>> leader::show_presence(pg::connection& link) {
  const bool able = lanes_.any_up() && !stopping_;
  if (!host_.counts_relays(*this) || able == present_) co_return result<void>();
  const auto shown = co_await ask(
      link, fmt::format("SELECT pg_{}_shared({}, {})", able ? "try_advisory_lock" : "advisory_unlock",
                        pg::lock_class(settings_.database.schema), pg::present_key));
  if (!shown) co_return tl::make_unexpected(shown.error());
  present_ = able && shown->at(0, 0) == "t";
  co_return result<void>();
}

boost::asio::awaitable<result<void>> leader::name_culprits(pg::connection& link) {
  if (!culprits_.due(clock::now())) co_return result<void>();
  std::vector<event_id> unwritten;
  for (const auto state :
       {flow::event_state::confirmed, flow::event_state::waiting, flow::event_state::dying}) {
    const auto some = stream_.events_in(state);
    unwritten.insert(unwritten.end(), some.begin(), some.end());
  }
  const auto words = co_await culprits_.look(link, shard_.value_or(0), std::move(unwritten));
  if (!words) co_return tl::make_unexpected(words.error());
  for (const std::string& one : *words) host_.on_culprit(one);
  co_return result<void>();
}

// Over it is when something is written again; what is deferred waits for its pauses while reads go on.
void leader::watch_deferrals(std::string_view reason, bool wrote) {
  const auto now = clock::now();
  if (reason.empty()) {
    if (!wrote && stream_.events().size() > 0) return;
    deferred_since_.reset();
    if (std::exchange(said_deferred_, false)) host_.on_deferral_over();
    return;
  }
  if (!deferred_since_) deferred_since_ = now;
  if (said_deferred_ || now - *deferred_since_ < worth_saying) return;
  said_deferred_ = true;
  host_.on_deferred(reason);
}

bool leader::must_give_up(clock::time_point now) const {
  if (stopping_ || yields_) return true;
  if (!may_make_way(now)) return false;
  if (host_.has_too_many(*this)) return true;
  return !lanes_.any_up() && now - broker_gone_since_ >= without_broker && others_present_ > 0;
}

void leader::drain(clock::time_point now) {
  if (draining()) return;
  drains_since_ = now;
  stream_.drain();
  tell_doorbell(now);
}

leader::clock::time_point leader::goes_on_at() const {
  if (!draining() || stopping_ || read_only_) return clock::time_point::max();
  const int doublings = stream_.meets_lock() ? 0 : std::min(failed_drains_, most_doublings);
  return drains_since_ + first_drain * (1 << doublings);
}

// Whoever wants it asks again.
void leader::go_on(clock::time_point now) {
  yields_ = false;
  ++failed_drains_;
  next_drain_ = now + between_drains;
  stream_.go_on();
  tell_doorbell(now);
}

void leader::tell_doorbell(clock::time_point now) {
  const bool reads = lanes_.any_up() && !stream_.is_paused() && !draining();
  doorbell_.set(flow::doorbell::obstacle::no_reads, !reads, now);
}

boost::asio::awaitable<result<void>> leader::give_up(pg::connection& link) {
  next_try_ = clock::now() + after_giving_up;  // others want it
  const auto given =
      co_await ask(link, fmt::format("SELECT pg_advisory_unlock({}, {})",
                                     pg::lock_class(settings_.database.schema), *shard_ + pg::lead_key));
  if (!given) co_return tl::make_unexpected(given.error());
  const auto deaf = co_await ask(link, "UNLISTEN *");
  if (!deaf) co_return tl::make_unexpected(deaf.error());
  co_return result<void>();
}

}  // namespace outboxd::relay
