#include "flow/lead/leader.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// The interval between checks for leaders that hang.
constexpr auto hang_check_interval = 500ms;

// The interval between checks that each shard has a row.
constexpr auto shard_check_interval = 5s;

// Most locks are held for a shorter time than this.
constexpr auto deferral_worth_saying = 1s;

}  // namespace

leader::leader(lanes& over, fair_share& share, const leader_limits& limits, observer tell,
               step_observers steps)
    : lanes_(over),
      share_(share),
      tell_(std::move(tell)),
      sweep_interval_(limits.sweep_interval),
      claim_timeout_(limits.claim_timeout),
      standby_interval_(limits.standby_interval),
      stream_(over, limits.stream, tell_, std::move(steps)),
      doorbell_(limits.doorbell),
      hearing_(tell_) {
  share.add(*this);
}

void leader::on_session(payload_type payload, clock::time_point now) {
  lead_.on_session();
  payload_ = payload;
  next_hang_check_ = next_shard_check_ = now;
}

void leader::on_lost(clock::time_point now) {
  hearing_.on_lost(now);
  lead_.on_lost();
  present_ = false;
  end_lead();
  script_ = serve();
}

void leader::end_lead() {
  const auto shard = std::exchange(shard_, std::nullopt);
  if (!is_loaded()) return;  // the leader had not begun to lead yet
  stream_.lost();
  hearing_.end();
  for (const auto what : {keeps_from::sleeping, keeps_from::writing, keeps_from::hearing})
    tell_(notice::kept{what, false});
  tell_(notice::gave_up{*shard});
}

leader_task leader::next(clock::time_point now) {
  now_ = now;
  return script_.next().value_or(task::end_session{});
}

// The leader's tasks on a session, from top to bottom. When the script resumes after a task, the task's
// answer has been reported.
script leader::serve() {
  while (!lead_.stopping()) {
    // Stands by.
    if (could_lead() != present_) co_yield task::show_presence{could_lead()};
    if (now_ >= next_hang_check_) {
      next_hang_check_ = now_ + std::min<std::chrono::milliseconds>(claim_timeout_ / 4, hang_check_interval);
      co_yield task::end_hanging_leaders{};
      co_yield task::look_for_lock_holders{};
      if (mends_shards()) co_yield task::mend_shards{};
      // If this relay leads a shard, its other leaders would not notice that another relay is gone.
      if (share_.led() > 0 && counts_relays()) co_yield task::count_relays{};
    }
    if (lanes_.any_up() && lead_.may_try(now_) && share_.may_lead(*this)) {
      const leader_task take = task::take_lead{share_.led_shards()};
      co_yield take;
    }
    if (!shard_) {
      co_yield task::wait{now_ + standby_interval_};
      continue;
    }

    // The leader has the lock. LISTEN takes effect when its transaction ends, so the check for requests and
    // the first read must start after LISTEN.
    if (hearing_.listens()) co_yield task::listen{};
    co_yield task::look_for_request{};
    if (lead_.has_lead()) {
      latest_question_ = now_;
      co_yield task::load{};
    }

    // Leads.
    while (lead_.has_lead() && !follow_leadership()) {
      if (std::exchange(wants_writes_, false)) co_yield task::allow_writes{};
      if (now_ >= next_sweep_) {
        begin_sweep();
        if (hearing_.misses_proof(now_)) co_yield task::listen{};
        if (hearing_.sends_proof(now_)) co_yield task::notify_self{};
        if (!std::exchange(read_told_usage_, false)) co_yield ask_queue_usage();
        if (could_lead() != present_) co_yield task::show_presence{could_lead()};
        if (mends_shards()) co_yield task::mend_shards{};
        if (counts_relays()) co_yield task::count_relays{};
        if (std::exchange(sleep_refused_, false)) co_yield task::end_former_sleeper{};
        co_yield task::look_for_lock_holders{};
        continue;
      }
      const auto what = next_while_leading();
      if (what) co_yield *what;
    }
    if (lead_.leaving()) co_return;

    // Gives up the lead.
    if (lead_.has_lead()) lead_.on_given_up(now_);
    co_yield task::release_lead{};
    co_yield task::stop_listening{};
    end_lead();
  }
}

// A relay that could lead holds PRESENT once. The leader never waits for PRESENT, because another session may
// hold that lock.
bool leader::could_lead() const {
  return share_.speaks(*this) && lanes_.any_up() && !lead_.stopping();
}

// A shard without a row would have no leader, and no relay would notice. If a shard that has a leader loses
// its row, the next leader needs the row.
bool leader::mends_shards() {
  if (now_ < next_shard_check_ || (shard_ && !share_.speaks(*this))) return false;
  next_shard_check_ = now_ + shard_check_interval;
  return true;
}

bool leader::counts_relays() const {
  return share_.shards() > 1 && share_.speaks(*this);
}

leader_task leader::ask_queue_usage() {
  latest_question_ = now_;
  return task::ask_queue_usage{};
}

void leader::begin_sweep() {
  next_sweep_ = now_ + sweep_interval_;
  stream_.sweep();
  if (hearing_.queue_fills()) stream_.ring_pauses();  // operators do not notify then
  tell_(notice::swept{});
  tell_doorbell(now_);
}

void leader::on_taken(std::optional<int> shard) {
  tell_(notice::kept{keeps_from::leading, !shard});
  if (!shard) return tell_(notice::stands_by{});
  shard_ = shard;
  lead_.on_taken();
}

void leader::on_loaded(loaded_shard what, clock::time_point now) {
  shards_ = what.shards;
  share_.on_shards(what.shards);
  next_sweep_ = now;
  has_read_all_ = wants_writes_ = read_told_usage_ = sleep_refused_ = false;
  lead_.on_loaded(now);
  stream_.start(std::move(what.from), payload_);
  stream_.on_server_time(latest_question_, what.server_time);
  doorbell_.start(now);
  doorbell_.set(doorbell::obstacle::no_lock_session, true, now);
  doorbell_.set(doorbell::obstacle::no_bell, !what.rings, now);
  hearing_.start(now);
  tell_if_it_hears(now);
  tell_(notice::leads{});
}

// Returns true if the lead ends: the leader has drained, or gives up while events are in flight.
bool leader::follow_leadership() {
  if (stream_.drained()) return true;
  lead_.on_broker(lanes_.any_up(), now_);
  switch (lead_.step(share_.has_too_many(*this, now_), stream_.meets_lock(), now_)) {
    case leadership::action::none:
      return false;
    case leadership::action::drain:
      drain(now_);
      return stream_.drained();  // if nothing is in flight, draining ends at once
    case leadership::action::go_on:
      has_read_all_ = false;
      stream_.go_on();
      tell_doorbell(now_);
      return false;
    case leadership::action::give_up:
      say_in_doubt(stream_.in_flight());
      say_in_doubt(stream_.unmarked());
      return true;
  }
  return false;
}

std::optional<leader_task> leader::next_while_leading() {
  if (hearing_.follows(word::due, now_)) stream_.ring_due();
  if (hearing_.follows(word::pause, now_)) stream_.ring_pauses();
  if (auto out = heed_flood()) return out;
  if (lead_.wants_look(now_)) return task::look_for_request{};
  if (lead_.wants_count(now_)) return task::count_relays{};
  if (now_ >= doorbell_.next_poll()) {
    doorbell_.on_poll();
    stream_.ring();
  }
  tell_if_it_hears(now_);
  if (const auto what = doorbell_.take_action(now_); what != doorbell::action::none)
    return task::use_sleep_lock{what};
  if (auto request = stream_.next()) {
    asked_ = {.reads = request->asks_one_of<read_request>(),
              .tells = request->reads_or_writes_events(),
              .writes = request->asks_one_of<record_request, mark_request>()};
    if (asked_.reads) doorbell_.on_read_sent();
    latest_question_ = now_;
    return task::round_trip{std::move(request)};
  }
  if (stream_.drained()) return std::nullopt;
  // The server ends a session that sends nothing for claim_timeout, because such a session seems to hang.
  if (now_ >= next_question()) return ask_queue_usage();
  return task::wait{std::min({stream_.next_at(), doorbell_.next_poll(), next_sweep_, hearing_.next(),
                              lead_.next(stream_.meets_lock()), next_question()})};
}

void leader::drain(clock::time_point now) {
  if (draining()) return;
  stream_.drain();
  tell_doorbell(now);
}

void leader::on_requester(const std::optional<std::string>& who, clock::time_point now) {
  if (!lead_.on_looked(who.has_value(), now)) return;
  if (is_loaded()) return tell_(notice::makes_way{*who});
  lead_.on_given_up(now);
}

void leader::on_counted(int relays, clock::time_point now) {
  lead_.on_counted(relays - (share_.is_present() ? 1 : 0), now);
  if (share_.speaks(*this)) share_.on_counted(relays);
}

void leader::on_answer(store_answer what, bool read_only, clock::time_point now) {
  const asked was = std::exchange(asked_, {});
  if (read_only) {
    // From now on nothing is read or sent. Events that were sent are still marked, because the next leader
    // would send unmarked ones again. Marks still work, because read-only is only the default for new
    // transactions.
    lead_.leave();
    drain(now);
    wants_writes_ = true;
  }
  const bool put_off = !what.deferral().empty();
  if (was.tells) watch_deferrals(what.deferral(), was.writes, now);
  const auto news = stream_.on_answer(std::move(what));
  if (news.complete) has_read_all_ = true;
  if (was.tells) tell_(notice::kept{keeps_from::writing, put_off || stream_.meets_lock()});
  if (news.queue_usage) {
    read_told_usage_ = true;
    on_queue_usage(news.queue_usage, now);
  }
  if (was.reads) doorbell_.on_read(news.found, news.complete, now, shards_ > 1 ? news.passed : 0);
}

// Deferrals end with the next successful write. A read alone does not end them, because deferred events wait
// for their retry in the meantime.
void leader::watch_deferrals(std::string_view reason, bool wrote, clock::time_point now) {
  if (!reason.empty()) {
    if (deferral_ == deferral::none) {
      deferral_ = deferral::unsaid;
      deferred_since_ = now;
    }
    if (deferral_ == deferral::said || now - deferred_since_ < deferral_worth_saying) return;
    deferral_ = deferral::said;
    tell_(notice::deferred{reason});
  } else if (wrote || stream_.events().size() == 0) {
    if (std::exchange(deferral_, deferral::none) == deferral::said) tell_(notice::deferral_over{});
  }
}

void leader::abandon() {
  say_in_doubt(stream_.in_flight());
  stream_.abandon();
}

void leader::say_in_doubt(std::vector<event_key> keys) {
  if (!keys.empty()) tell_(notice::in_doubt{std::move(keys)});
}

void leader::adopt(const leader_limits& changed, clock::time_point now) {
  stream_.read_at_most(changed.stream.read.batch, changed.stream.batch_bytes);
  stream_.retry_by(changed.stream.retry);
  stream_.give_up_after(changed.stream.give_up_after);
  stream_.route_by(changed.stream.route);
  doorbell_.poll_within(changed.doorbell.longest_poll);
  sweep_interval_ = changed.sweep_interval;
  standby_interval_ = changed.standby_interval;
  next_sweep_ = std::min(next_sweep_, now + sweep_interval_);
}

}  // namespace outboxd::flow
