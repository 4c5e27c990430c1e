// leader_hearing: what a leader hears on the channel, and whether it may sleep.
#include <algorithm>

#include "flow/lead/leader.hpp"

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// A proof of hearing that could not be sent is tried again after so long.
constexpr auto next_turn = 1s;

}  // namespace

// Nothing is done because of a word alone, and no look more often than it is worth.
void leader::hear(word what, int count, clock::time_point now) {
  if (state_ != state::taking && state_ != state::leading) return;
  switch (what) {
    case word::own_probe:
      if (flood_.lasts()) return;
      if (probe_.on_heard(now)) tell_(notice::hears_again{});
      return doorbell_.set(doorbell::obstacle::deaf, false, now);
    case word::due:
      return due_.hear();
    case word::pause:
      return pauses_.hear();
    case word::yield:
      return lead_.hear_request(now);
    case word::ring:
      tell_(notice::rung{count});
      if (doorbell_.on_notified(count, now)) stream_.ring();
      return;
  }
}

void leader::hear_sender(int process, int count, clock::time_point now) {
  if (state_ == state::taking || state_ == state::leading) flood_.add(process, count, now);
}

// PostgreSQL sends each notification to every leader. Many more than anybody needs are not listened to:
// polling, sweeps and a look each second find what they say. The sweep finds what was said meanwhile.
std::optional<leader_task> leader::heed_flood(clock::time_point now) {
  std::optional<leader_task> out;
  if (flood_.begins(now)) {
    doorbell_.set(doorbell::obstacle::deaf, true, now);
    out = task::stop_listening{};
  } else if (flood_.ends(now)) {
    probe_.begin(now);
    next_sweep_ = now;
    stream_.ring_due();
    stream_.ring_pauses();
    out = task::listen{};
  }
  if (flood_.lasts()) lead_.hear_request(now);
  tell_(notice::loudest{flood_.loudest(now)});
  return out;
}

void leader::on_notified_self(bool sent, clock::time_point now) {
  if (sent) return;
  probe_.on_unsent(now);
  next_sweep_ = std::min(next_sweep_, now + next_turn);
}

void leader::on_queue_usage(std::optional<double> usage, clock::time_point now) {
  if (usage && shard_) heed_usage(*usage, now);
}

// Awake it has writers be silent. So none of them fails when the queue is full in the end.
void leader::heed_usage(double usage, clock::time_point now) {
  const bool is_news = queue_.on_usage(usage);
  doorbell_.set(doorbell::obstacle::queue_fills, queue_.fills(), now);
  tell_(notice::kept{kept_from::ringing, queue_.fills()});
  if (is_news) tell_(notice::queue{queue_.fills(), usage});
}

void leader::tell_doorbell(clock::time_point now) {
  const bool reads = lanes_.any_up() && !stream_.is_paused() && !draining();
  doorbell_.set(doorbell::obstacle::no_reads, !reads, now);
}

std::optional<leader_task> leader::act_on_doorbell(clock::time_point now) {
  switch (doorbell_.take_action()) {
    case doorbell::action::none:
      break;
    case doorbell::action::ask:
      return task::ask_for_sleep{};
    case doorbell::action::unlock:
      return task::give_back_sleep{};
  }
  if (doorbell_.wants_contention_probe(now)) return task::probe_contention{};
  return std::nullopt;
}

void leader::on_sleep_lock(sleep_news news, clock::time_point now) {
  switch (news) {
    case sleep_news::up:
      return doorbell_.set(doorbell::obstacle::no_lock_session, false, now);
    case sleep_news::down:
      tell_(notice::kept{kept_from::sleeping, false});
      return doorbell_.set(doorbell::obstacle::no_lock_session, true, now);
    case sleep_news::granted:
      sleep_refused_ = false;
      tell_(notice::kept{kept_from::sleeping, false});
      return doorbell_.on_granted(now);
    case sleep_news::refused:
      sleep_refused_ = true;
      tell_(notice::kept{kept_from::sleeping, true});
      return doorbell_.on_refused(now);
    case sleep_news::contended:
      return doorbell_.on_contention(now);
  }
}

}  // namespace outboxd::flow
