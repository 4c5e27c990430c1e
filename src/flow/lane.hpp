// lane: one AMQP connection of the pool, as the flow sees it: what waits for it, and what is in flight on it.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flow/broker.hpp"
#include "flow/refusals.hpp"
#include "flow/unsettled.hpp"
#include "flow/write_queue.hpp"

namespace outboxd::flow {

// Whose events lanes carry: a stream.
class shipper {
 public:
  // Whether it still has what it needs to send: else nothing is, until lanes::pump().
  virtual bool may_send() const { return true; }
  // The message to send now; it is used at once. An error is its own: it cannot become a message.
  virtual result<message> letter_of(slot which) = 0;
  // Where that message goes. Valid until the next change of the shipper.
  virtual destination target_of(slot which) const = 0;
  virtual void on_sent(slot which) = 0;
  virtual void on_outcome(slot which, const outcome& what) = 0;
  // It cannot be encoded, and nothing was sent.
  virtual void on_unencodable(slot which, std::string reason) = 0;
  // Sent, and its channel or connection ended before its confirm. alone: nothing else was in flight there. The
  // connection had been there since up_since.
  virtual void on_interrupted(slot which, const interruption& why, bool alone,
                              clock::time_point up_since) = 0;
  // Others on this lane are confirmed, this one is not: nobody waits for it any longer.
  virtual void on_overdue(slot which) = 0;
  // Not sent: it has to be offered again.
  virtual void on_unsent(slot which) = 0;
  // A lane has come up or gone down, or given back what it had, after all of the above.
  virtual void on_lanes_changed() = 0;
  // A destination works again: what waits because of it may go.
  virtual void on_destination_up() = 0;
  // Outcomes have come: there may be something to write, and room to read.
  virtual void on_progress() = 0;

 protected:
  ~shipper() = default;
};

struct lane_limits {
  std::chrono::milliseconds confirm_timeout{10'000};
};

class lane final : public broker_listener {
 public:
  enum class state {
    down,      // no connection
    open,      // sends
    renewing,  // sends nothing more: when nothing is in flight, its connection is given up for a new one
    blocked,   // connected, but the broker takes nothing for now
  };

  // A parcel travels alone if the broker may close the channel or the connection over it: then nobody else is
  // in doubt.
  struct parcel {
    shipper* whose = nullptr;  // null: nobody waits for its outcome any more
    slot which = no_slot;
    bool alone = false;
  };

  class owner {
   public:
    virtual clock::time_point now() const = 0;
    virtual void on_lane_changed() = 0;   // up or down
    virtual void on_lane_progress() = 0;  // outcomes have come
    virtual void on_acknowledged(clock::duration after_sent) = 0;

   protected:
    ~owner() = default;
  };

  lane(broker& to, owner& of, const lane_limits& limits) : broker_(to), owner_(of), limits_(limits) {}

  // Also for what is in flight.
  void adopt(const lane_limits& limits) { limits_ = limits; }

  void offer(parcel one);
  // Sends what may be sent now. Call it after offers.
  void pump();
  // Sends one message; false if there is none, or it may not be sent now.
  bool send_next();
  // Those of this shipper that are not sent yet are lost to it.
  void withdraw(shipper& whose);
  // The same without a word, and nobody waits for the outcomes of those that are sent.
  void forget(const shipper& whose);

  state now_in() const { return state_; }
  std::size_t in_flight() const { return in_flight_; }
  // When the oldest message without an outcome was sent. The time while the broker took nothing does not
  // count.
  std::optional<clock::time_point> oldest_in_flight() const {
    return window_.empty() ? std::nullopt : std::optional(window_.front().at);
  }
  std::size_t waiting() const { return waiting_.size() + alone_.size(); }

  // When check() wants to be called: a confirm, or room for another publish, is overdue then.
  std::optional<clock::time_point> deadline() const;
  void check();

  void on_broker_up() override;
  void on_outcomes(std::span<const outcome> outcomes) override;
  void on_channel_closed(std::span<const token> unknown, std::string_view reason) override;
  void on_writable() override { owner_.on_lane_progress(); }
  void on_blocked(bool blocked) override;
  void on_broker_down(const interruption& why) override;

 private:
  struct sent {
    parcel what;
    clock::time_point at;
    bool open = true;                              // no outcome yet
    std::optional<clock::time_point> overtaken{};  // one that was sent after it has an outcome since then
  };

  std::optional<parcel> next() const;
  void take(const parcel& one);
  void note_refusal(const parcel& what, verdict said);
  void renew_if_refused();
  void give_back(const interruption& why, bool alone);
  sent* find(token name);
  void close(sent& one);
  void overtake(token by);
  clock::time_point late_at(const sent& one) const;
  clock::duration patience() const;

  broker& broker_;
  owner& owner_;
  lane_limits limits_;
  state state_ = state::down;
  std::deque<parcel> waiting_;
  std::deque<parcel> alone_;     // what waits to travel alone
  std::size_t others_left_ = 0;  // of waiting_, that go before the next of alone_
  std::deque<sent> window_;      // from the oldest without an outcome on; tokens number it
  token first_ = 1;              // of the window
  token overtaken_to_ = 1;       // all before it are overtaken
  std::size_t in_flight_ = 0;
  clock::time_point latest_outcome_{};
  clock::time_point up_since_{};
  refusals refusals_;
  int silent_ends_ = 0;  // connections in a row that were dropped for their silence
  clock::time_point renewing_until_{};
  std::optional<clock::time_point> full_since_;
};

}  // namespace outboxd::flow
