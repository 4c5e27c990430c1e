// leader_doorbell: what a leader hears on the channel, and whether it may sleep.
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

}  // namespace

std::string leader::own_probe() const {
  return fmt::format("probe {}", current_ != nullptr ? current_->backend_pid() : 0);
}

// Anybody can say anything on the channel, so nothing is done because of a word alone: it has us look sooner
// at what is in the table or in the locks, and each of them no more often than it is worth.
void leader::take_notifications(pg::connection& link) {
  const auto now = clock::now();
  for (const auto& [sender, count] : link.take_senders()) flood_.add(sender, count, now);
  const auto probe = own_probe();
  for (const auto& [payload, count] : link.take_notifications()) {
    if (payload == probe && !flood_.lasts()) {
      deaf_since_.reset();
      if (probe_.on_heard(now)) host_.on_hearing_again();
      doorbell_.set(flow::doorbell::obstacle::deaf, false, now);
    } else if (payload == "due") {
      due_.hear();
    } else if (payload == "pause") {
      pauses_.hear();
    } else if (payload == "yield") {
      lead_.hear_request(now);
    } else if (payload == "ring") {
      host_.so_far().notifications += static_cast<std::uint64_t>(count);
      if (doorbell_.on_notified(count, now)) stream_.ring();
    }
  }
}

void leader::follow_hints(clock::time_point now) {
  if (due_.take(now)) stream_.ring_due();
  if (pauses_.take(now)) stream_.ring_pauses();
}

// PostgreSQL sends each notification to every leader. Many more than anybody needs are not listened to:
// polling, sweeps and a look each second find what they say. The sweep finds what was said meanwhile.
boost::asio::awaitable<result<void>> leader::heed_flood(pg::connection& link) {
  const auto now = clock::now();
  if (flood_.begins(now)) {
    const auto deaf = co_await ask(link, "UNLISTEN *");
    if (!deaf) co_return tl::make_unexpected(deaf.error());
    doorbell_.set(flow::doorbell::obstacle::deaf, true, now);
  } else if (flood_.ends(now)) {
    const auto listens = co_await listen(link);
    if (!listens) co_return listens;
    probe_.begin(now);
    next_sweep_ = now;
    stream_.ring_due();
    stream_.ring_pauses();
  }
  if (flood_.lasts()) lead_.hear_request(now);
  culprits_.set_loudest(flood_.loudest(now), now);
  co_return result<void>();
}

// Whoever listens first in a database reads through the queue, which may be long, or may be refused. Events
// leave without: nothing arrives, the proof of hearing is missed, and it is tried again.
boost::asio::awaitable<result<void>> leader::listen(pg::connection& link) {
  const auto listens = co_await ask(link, fmt::format("LISTEN {}", settings_.database.schema.identifier()));
  if (!listens && link.lost()) co_return tl::make_unexpected(listens.error());
  co_return result<void>();
}

void leader::heed_words(pg::connection& link) const {
  link.heed_only({own_probe(), "due", "pause", "yield", "ring"});
}

boost::asio::awaitable<result<void>> leader::prove_hearing(pg::connection& link) {
  const auto now = clock::now();
  if (flood_.lasts()) co_return result<void>();
  if (probe_.late(now)) {
    if (probe_.on_deaf(now)) {
      deaf_since_ = std::chrono::system_clock::now();
      host_.on_deaf("notifications do not arrive; events leave by polling, and LISTEN is tried again");
    }
    doorbell_.set(flow::doorbell::obstacle::deaf, true, now);
    const auto listens = co_await listen(link);
    if (!listens) co_return listens;
  }
  if (probe_.due(now) && !queue_.fills()) {
    probe_.on_sent(now);
    const auto sent = co_await notify_self(link);
    if (!sent) co_return tl::make_unexpected(sent.error());
    if (!*sent) {
      probe_.on_unsent(now);
      next_sweep_ = std::min(next_sweep_, now + next_turn);
    }
  }
  co_return result<void>();
}

// False: not now. All of the server's commits that notify take turns by one lock, and where they are slow the
// turn did not come in time; or there is no room in the queue, or in another table of the server. No refusal
// is worth a session.
boost::asio::awaitable<result<bool>> leader::notify_self(pg::connection& link) {
  const auto sent = co_await ask(
      link, fmt::format("SELECT pg_notify({}, '{}')", settings_.database.schema.literal(), own_probe()));
  if (sent) co_return true;
  if (link.lost()) co_return tl::make_unexpected(sent.error());
  if (pg::is_queue_full(link.last_sqlstate())) heed_usage(1.0);
  co_return false;
}

// The server tells it to whoever notifies, and to one session in five seconds.
boost::asio::awaitable<result<void>> leader::ask_who_holds_queue(pg::connection& link) {
  const auto told = co_await notify_self(link);
  if (!told) co_return tl::make_unexpected(told.error());
  if (const int process = link.take_queue_holder(); process != 0) culprits_.set_queue_holder(process);
  co_return result<void>();
}

boost::asio::awaitable<result<void>> leader::ask_usage(pg::connection& link) {
  const auto told = co_await ask(link, "SELECT pg_notification_queue_usage()");
  if (!told && link.lost()) co_return tl::make_unexpected(told.error());
  if (!told) co_return result<void>();
  heed_usage(std::strtod(std::string(told->at(0, 0)).c_str(), nullptr));
  co_return result<void>();
}

// Awake it has writers be silent. So none of them fails when the queue is full in the end.
void leader::heed_usage(double usage) {
  const auto now = clock::now();
  usage_told_ = true;
  const bool is_news = queue_.on_usage(usage);
  doorbell_.set(flow::doorbell::obstacle::queue_fills, queue_.fills(), now);
  culprits_.set(kept_from::ringing, queue_.fills(), now);
  if (!is_news) return;
  culprits_.set_queue_holder(0);
  queue_fills_since_ = queue_.fills() ? std::optional(std::chrono::system_clock::now()) : std::nullopt;
  host_.on_queue(queue_.fills(), usage);
}

void leader::tell_doorbell(clock::time_point now) {
  const bool reads = lanes_.any_up() && !stream_.is_paused() && !draining();
  doorbell_.set(flow::doorbell::obstacle::no_reads, !reads, now);
}

void leader::act_on_doorbell() {
  if (!sleep_lock_) return;
  switch (doorbell_.take_action()) {
    case flow::doorbell::action::none:
      break;
    case flow::doorbell::action::ask:
      return sleep_lock_->ask();
    case flow::doorbell::action::unlock:
      return sleep_lock_->unlock();
  }
  if (doorbell_.wants_contention_probe(clock::now())) sleep_lock_->probe();
}

void leader::on_sleep_lock(sleep_news news) {
  const auto now = clock::now();
  switch (news) {
    case sleep_news::up:
      doorbell_.set(flow::doorbell::obstacle::no_lock_session, false, now);
      break;
    case sleep_news::down:
      culprits_.set(kept_from::sleeping, false, now);
      doorbell_.set(flow::doorbell::obstacle::no_lock_session, true, now);
      break;
    case sleep_news::granted:
      sleep_refused_ = false;
      culprits_.set(kept_from::sleeping, false, now);
      doorbell_.on_granted(now);
      break;
    case sleep_news::refused:
      sleep_refused_ = true;
      culprits_.set(kept_from::sleeping, true, now);
      doorbell_.on_refused(now);
      break;
    case sleep_news::contended:
      doorbell_.on_contention(now);
      break;
  }
  if (current_ != nullptr) current_->interrupt();
}

}  // namespace outboxd::relay
