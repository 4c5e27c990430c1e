// leader_rounds: what a leader does now and then, beside its events: sweeps, who else is there, who is in the
// way, what is put off, and making way for others.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "relay/leader.hpp"

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;

// How often it looks whether each shard has a row.
constexpr auto shard_check_interval = 5s;

}  // namespace

void leader::sweep(clock::time_point now) {
  next_sweep_ = now + settings_.sweep_interval;
  stream_.sweep();
  if (queue_.fills()) stream_.ring_pauses();  // operators do not ring
  ++host_.so_far().sweeps;
  host_.so_far().last_sweep = std::chrono::system_clock::now();
  tell_doorbell(now);
}

boost::asio::awaitable<result<void>> leader::make_rounds(pg::connection& link) {
  const auto proved = co_await prove_hearing(link);
  if (!proved) co_return proved;
  if (!std::exchange(usage_told_, false)) {  // no read has brought it since the latest sweep
    const auto asked = co_await ask_usage(link);
    if (!asked) co_return asked;
    usage_told_ = false;
  }
  const auto shown = co_await show_presence(link);
  if (!shown) co_return shown;
  if (host_.counts_relays(*this)) {
    const auto mended = co_await mend_shards(link);
    if (!mended) co_return mended;
  }
  if (view_.shards > 1 && host_.counts_relays(*this)) {
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

// The server ends a session that asks nothing for claim_timeout: it passes for one that hangs.
boost::asio::awaitable<result<void>> leader::keep_session(pg::connection& link) {
  if (clock::now() < next_question()) co_return result<void>();
  co_return co_await ask_usage(link);
}

// Only whose user may lead counts: anybody can take the lock.
boost::asio::awaitable<result<void>> leader::count_relays(pg::connection& link) {
  const int own = host_.is_present() ? 1 : 0;
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
  lead_.on_counted(relays - own, clock::now());
  if (host_.counts_relays(*this)) host_.on_relays_counted(relays);
  co_return result<void>();
}

// True: the lead is to be given up.
boost::asio::awaitable<result<bool>> leader::look_for_request(pg::connection& link) {
  const auto who = co_await culprits_.requester(link, *shard_);
  if (!who) co_return tl::make_unexpected(who.error());
  const bool gives = lead_.on_looked(who->has_value(), clock::now());
  if (gives && lead_.now_in() == flow::lead::state::making_way) host_.on_makes_way(**who);
  co_return gives;
}

// What was just taken, if nobody asks for it. LISTEN is on its own: it takes effect with the end of its
// transaction, and the look for who asks, and the first read, have to begin after that.
boost::asio::awaitable<result<bool>> leader::keep_lead(pg::connection& link) {
  view_.shard = *shard_;
  heed_words(link);
  if (!flood_.lasts()) {
    const auto listens = co_await listen(link);
    if (!listens) co_return tl::make_unexpected(listens.error());
  }
  const auto gives = co_await look_for_request(link);
  if (!gives) co_return tl::make_unexpected(gives.error());
  if (!*gives) co_return true;
  const auto given = co_await give_up(link);
  if (!given) co_return tl::make_unexpected(given.error());
  co_return false;
}

// Who could lead holds PRESENT, once per relay. It is never waited for: somebody else may hold it.
boost::asio::awaitable<result<void>> leader::show_presence(pg::connection& link) {
  const bool able = lanes_.any_up() && !lead_.stopping();
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
  if (shard_ && queue_.is_half_full() && !culprits_.knows_queue_holder()) {
    const auto asked = co_await ask_who_holds_queue(link);
    if (!asked) co_return asked;
  }
  std::vector<event_key> unwritten;
  for (const auto state :
       {flow::event_state::confirmed, flow::event_state::waiting, flow::event_state::dying}) {
    const auto some = stream_.events_in(state);
    unwritten.insert(unwritten.end(), some.begin(), some.end());
  }
  const auto words = co_await culprits_.search(link, shard_.value_or(0), std::move(unwritten));
  if (!words) co_return tl::make_unexpected(words.error());
  for (const std::string& one : *words) host_.on_culprit(one);
  co_return result<void>();
}

// A shard without a row has no leader, and nobody would know. Where the row of a shard is gone that has a
// leader, the next leader needs it. A relay that may not mend goes on, as long as it finds any row.
boost::asio::awaitable<result<void>> leader::mend_shards(pg::connection& link) {
  if (clock::now() < next_shard_check_) co_return result<void>();
  next_shard_check_ = clock::now() + shard_check_interval;
  const auto found = co_await ask(
      link, fmt::format("SELECT count(*), coalesce(has_function_privilege(to_regprocedure(format("
                        "'%I.mend_shards()', {})), 'EXECUTE'), false) FROM {}.shard",
                        settings_.database.schema.literal(), settings_.database.schema.identifier()));
  if (!found && pg::is_lock_timeout(link.last_sqlstate())) co_return result<void>();
  if (!found) co_return tl::make_unexpected(found.error());
  if (found->at(0, 1) == "f" && found->at(0, 0) != "0") co_return result<void>();
  const auto made =
      co_await ask(link, fmt::format("SELECT {}.mend_shards()", settings_.database.schema.identifier()));
  // Whatever is refused: the rows that are there have their leaders, and check names what is wrong.
  if (!made && !link.lost() && found->at(0, 0) != "0") co_return result<void>();
  if (!made) co_return tl::make_unexpected(made.error());
  if (const auto shards = std::atoll(std::string(made->at(0, 0)).c_str()); shards > 0)
    host_.on_shards_mended(shards);
  co_return result<void>();
}

// Over it is when something is written again; what is deferred waits for its pauses while reads go on.
void leader::watch_deferrals(std::string_view reason, bool wrote) {
  if (!reason.empty()) {
    if (deferral_.on_put_off(clock::now())) host_.on_deferred(reason);
  } else if (wrote || stream_.events().size() == 0) {
    if (deferral_.on_done()) host_.on_deferral_over();
  }
}

void leader::drain(clock::time_point now) {
  if (draining()) return;
  stream_.drain();
  tell_doorbell(now);
}

bool leader::heed_lead(clock::time_point now) {
  if (stream_.drained()) return true;
  switch (lead_.step(host_.has_too_many(*this), stream_.meets_lock(), now)) {
    case flow::lead::action::none:
      return false;
    case flow::lead::action::drain:
      drain(now);
      return false;
    case flow::lead::action::lead_on:
      stream_.go_on();
      tell_doorbell(now);
      return false;
    case flow::lead::action::give_up:
      say_in_doubt(flow::event_state::offered);
      say_in_doubt(flow::event_state::confirmed);
      return true;
  }
  return false;
}

boost::asio::awaitable<result<void>> leader::give_up(pg::connection& link) {
  lead_.on_given_up(clock::now());
  const auto given =
      co_await ask(link, fmt::format("SELECT pg_advisory_unlock({}, {})",
                                     pg::lock_class(settings_.database.schema), *shard_ + pg::lead_key));
  if (!given) co_return tl::make_unexpected(given.error());
  const auto deaf = co_await ask(link, "UNLISTEN *");
  if (!deaf) co_return tl::make_unexpected(deaf.error());
  co_return result<void>();
}

}  // namespace outboxd::relay
