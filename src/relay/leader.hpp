// leader: one session that stands by until it has the lead of a shard, and then relays the shard's events.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flow/deferral.hpp"
#include "flow/doorbell.hpp"
#include "flow/flood.hpp"
#include "flow/hint.hpp"
#include "flow/lead.hpp"
#include "flow/listen_probe.hpp"
#include "flow/notify_queue.hpp"
#include "flow/stream.hpp"
#include "relay/culprit.hpp"
#include "relay/database_session.hpp"
#include "relay/figures.hpp"
#include "relay/link_observer.hpp"
#include "relay/reconnect_pause.hpp"
#include "relay/settings.hpp"
#include "relay/sleep_lock.hpp"
#include "relay/store_session.hpp"

namespace outboxd::relay {

class leader;

// Who decides which of a relay's leaders may lead.
class leader_host : public link_observer {
 public:
  // Whether this one may take the lead of another shard now, and which it may not.
  virtual bool may_lead(const leader& one) const = 0;
  virtual std::vector<std::int64_t> led_shards() const = 0;
  virtual void on_led(leader& one, const shard_view& what) = 0;
  virtual void on_gave_up(int shard) = 0;
  // So many relays could lead a shard: those of the outbox that have a broker.
  virtual void on_relays_counted(int relays) = 0;
  virtual bool has_too_many(const leader& one) const = 0;
  virtual bool counts_relays(const leader& one) const = 0;
  // Whether this relay is among those that are counted.
  virtual bool is_present() const = 0;
  // What the leader counts.
  virtual counts& so_far() = 0;
  // Who traces events, or null.
  virtual flow::step_observer* steps() = 0;
  virtual void on_failed(const event& which, const flow::destination& to,
                         const flow::failure_record& how) = 0;
  // PostgreSQL puts statements about events off for longer than a lock usually takes; and does them again.
  virtual void on_deferred(std::string_view reason) = 0;
  virtual void on_deferral_over() = 0;
  // Somebody's locks are in the way for long; once each.
  virtual void on_culprit(const std::string& words) = 0;
  // The outbox was migrated by the next version of this program, and this one works with it.
  virtual void on_newer_schema(std::int64_t version) = 0;
  // The server's queue of notifications has begun to fill, up to so much of it, or fills no longer.
  virtual void on_queue(bool fills, double usage) = 0;
  // For who asks for the lead.
  virtual void on_makes_way(const std::string& who) = 0;
  // Rows of shards were gone, and are made again.
  virtual void on_shards_mended(std::int64_t shards) = 0;
  // Other relays lead; once each time.
  virtual void on_stands_by() = 0;
  // The lead is given up without rest, and these were sent and are not marked.
  virtual void on_in_doubt(const std::vector<event_key>& keys) = 0;
  virtual void on_stuck(const event& which, const std::string& reason) = 0;
  // It is published, and somebody has changed its row since it was sent.
  virtual void on_changed_after_send(const event& which) = 0;
  // Other parts of the outbox are paused than before.
  virtual void on_pauses(const std::vector<flow::pause>& in_force) = 0;

 protected:
  ~leader_host() = default;
};

class leader {
 public:
  leader(const boost::asio::any_io_executor& on, const leader_settings& settings, flow::lanes& lanes,
         leader_host& host);

  // Connects, stands by, leads, reconnects, until stop().
  boost::asio::awaitable<void> run();

  // The settings that it was made with have changed: retries, and how often it sweeps and polls.
  void adopt();

  // Of the outbox, once a session has been open.
  std::optional<payload_type> payload() const { return payload_; }

  // Gives the lead up in order; run() then returns.
  void stop();
  // Waits no longer for confirms.
  void abandon();
  // Ends the session at once.
  void cut();

  std::optional<int> leads() const { return shard_; }
  bool hears() const { return probe_.hears(); }
  // Since when notifications have not arrived; nothing: they do, or it is not known yet.
  using system_time = std::chrono::system_clock::time_point;
  std::optional<system_time> deaf_since() const { return deaf_since_; }
  // While it leads: how full the server's queue of notifications is; and since when it fills.
  const flow::notify_queue& queue() const { return queue_; }
  std::optional<system_time> queue_fills_since() const { return queue_fills_since_; }
  bool may_make_way(std::chrono::steady_clock::time_point now) const { return lead_.may_make_way(now); }
  const flow::stream& events() const { return stream_; }
  const culprit_watch& culprits() const { return culprits_; }
  bool present() const { return present_; }
  bool asleep() const { return shard_ && doorbell_.now_in() == flow::doorbell::state::asleep; }
  // Its latest turn: whatever it waits for is bounded by a timeout.
  std::chrono::steady_clock::time_point latest_step() const { return latest_step_; }

 private:
  using clock = std::chrono::steady_clock;

  boost::asio::awaitable<result<void>> open(pg::connection& link);
  boost::asio::awaitable<error> serve(pg::connection& link);
  boost::asio::awaitable<result<bool>> stand_by(pg::connection& link);
  boost::asio::awaitable<result<bool>> take_lead(pg::connection& link);
  boost::asio::awaitable<result<bool>> keep_lead(pg::connection& link);
  boost::asio::awaitable<result<void>> lead(pg::connection& link);
  boost::asio::awaitable<result<void>> relay_events(pg::connection& link);
  boost::asio::awaitable<result<void>> give_up(pg::connection& link);
  boost::asio::awaitable<result<void>> heed_read_only(pg::connection& link);
  boost::asio::awaitable<result<void>> make_rounds(pg::connection& link);
  boost::asio::awaitable<result<void>> keep_session(pg::connection& link);
  boost::asio::awaitable<result<void>> prove_hearing(pg::connection& link);
  boost::asio::awaitable<result<bool>> notify_self(pg::connection& link);
  boost::asio::awaitable<result<void>> ask_who_holds_queue(pg::connection& link);
  boost::asio::awaitable<result<void>> ask_usage(pg::connection& link);
  boost::asio::awaitable<result<void>> heed_flood(pg::connection& link);
  boost::asio::awaitable<result<void>> listen(pg::connection& link);
  void heed_words(pg::connection& link) const;
  boost::asio::awaitable<result<void>> count_relays(pg::connection& link);
  boost::asio::awaitable<result<bool>> look_for_request(pg::connection& link);
  boost::asio::awaitable<result<void>> show_presence(pg::connection& link);
  boost::asio::awaitable<result<void>> name_culprits(pg::connection& link);
  boost::asio::awaitable<result<void>> mend_shards(pg::connection& link);
  boost::asio::awaitable<result<pg::rows>> ask(pg::connection& link, std::string sql);

  void count_published(std::size_t events, const std::string& route);
  void count(const flow::store_request& what, clock::time_point asked_at);
  void watch_deferrals(std::string_view reason, bool wrote);
  void say_in_doubt(flow::event_state which);
  void take_notifications(pg::connection& link);
  void follow_hints(clock::time_point now);
  void heed_usage(double usage);
  void act_on_doorbell();
  void on_sleep_lock(sleep_news news);
  bool draining() const { return stream_.now_in() == flow::stream::phase::draining; }
  void drain(clock::time_point now);
  // True: the lead is to be given up now.
  bool heed_lead(clock::time_point now);
  void tell_doorbell(clock::time_point now);
  void sweep(clock::time_point now);
  clock::time_point next_question() const { return latest_question_ + settings_.database.claim_timeout / 4; }
  std::string own_probe() const;

  boost::asio::any_io_executor executor_;
  const leader_settings& settings_;
  flow::lanes& lanes_;
  leader_host& host_;
  reconnect_pause pause_;
  flow::lead lead_;
  flow::stream stream_;
  flow::doorbell doorbell_;
  flow::listen_probe probe_{flow::probe_limits{}};
  flow::hint due_{std::chrono::milliseconds(100)};
  flow::hint pauses_{std::chrono::milliseconds(100)};
  flow::flood flood_;
  flow::notify_queue queue_;
  std::optional<system_time> queue_fills_since_;
  std::optional<system_time> deaf_since_;
  bool usage_told_ = false;  // since the latest sweep
  culprit_watch culprits_;
  std::shared_ptr<sleep_lock> sleep_lock_;  // while it leads
  pg::connection* current_ = nullptr;
  server_session session_;    // the latest one
  std::optional<int> shard_;  // that it leads
  shard_view view_;
  std::optional<payload_type> payload_;  // of the outbox, once a session has been open
  bool present_ = false;                 // holds PRESENT
  clock::time_point latest_step_ = clock::now();
  clock::time_point latest_question_{};  // of the loop to its session; others may be later
  clock::time_point next_sweep_{};
  clock::time_point next_hang_check_{};  // for relays that hang
  clock::time_point next_shard_check_{};
  flow::deferral deferral_{std::chrono::seconds(1)};
  bool sleep_refused_ = false;  // since the latest sweep
};

}  // namespace outboxd::relay
