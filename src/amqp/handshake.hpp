// handshake: from the first byte to a channel in confirm mode, as a state machine over bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/channel_opening.hpp"
#include "amqp/codec.hpp"
#include "amqp/frame.hpp"
#include "amqp/greeting.hpp"
#include "amqp/url.hpp"
#include "core/error.hpp"

namespace outboxd::amqp {

inline constexpr std::uint16_t publish_channel = 1;

struct handshake_settings {
  url target;
  std::string connection_name;                 // shown by the broker's tools
  std::chrono::seconds heartbeat{10};          // 0: what the broker proposes
  std::uint32_t frame_max = frame_max_own;     // bytes, the most that we take
  std::vector<std::string> declare_exchanges;  // durable, of type topic
  login_by login = login_by::plain;
};

// What connection.tune and tune-ok agreed on.
struct tuning {
  std::uint16_t channel_max = 0;
  std::uint32_t frame_max = 0;
  std::chrono::seconds heartbeat{0};  // 0: none
};

// The rules of connection.tune (AMQP 0-9-1 section 1.4.2.5/6; heartbeat:
// https://www.rabbitmq.com/docs/heartbeats): the lower of both sides; 0 means no limit, and for the heartbeat
// the other side's. Permanent error when the broker's frame_max is below frame_min_size.
result<tuning> negotiate(const tuning& broker, const handshake_settings& ours);

// Driver: send output() and clear it, read into the parser, receive(), until it says true or fails. After a
// failure send output() once more if it is not empty: the broker wants its close-ok.
class handshake {
 public:
  explicit handshake(handshake_settings settings);

  // Bytes to send.
  std::string& output() { return output_; }

  // Takes every whole frame. True: the channel is open, bytes behind the last answer stay in the parser. An
  // error is permanent where only an operator can help (password, vhost, privilege, not an AMQP 0-9-1 port),
  // else transient.
  result<bool> receive(frame_parser& in);

  // The error for a connection that ended in mid-handshake; `how` says how.
  error interrupted(std::string_view how) const;

  const tuning& tuned() const { return tuned_; }
  const identity& broker() const { return broker_; }
  // Why the broker blocks publishers right now, if it does
  // (https://www.rabbitmq.com/docs/connection-blocked).
  const std::optional<std::string>& blocked() const { return blocked_; }
  // Exchanges that were not there before: nothing is bound to them yet.
  const std::vector<std::string>& created() const { return channel_.created(); }

 private:
  // What is awaited from the broker.
  enum class step {
    start,    // connection.start
    tune,     // connection.tune
    open,     // connection.open-ok
    channel,  // an answer to what channel_opening has asked
    done,     // nothing more
  };

  result<void> on_frame(const frame& f, frame_parser& in);
  result<void> on_method(const method& m, frame_parser& in);
  result<void> on_answer(const method& m, frame_parser& in);
  result<void> on_tune(const amqp_connection_tune_t& tune, frame_parser& in);
  result<void> on_close(std::uint16_t code, std::string_view text);
  result<void> send(amqp_method_number_t id, const void* fields, std::uint16_t channel);
  std::string_view awaited() const;
  error at(const error& what) const;

  handshake_settings settings_;
  step step_ = step::start;
  bool framed_ = false;  // a whole frame has come: this is AMQP
  std::string output_;
  codec codec_;
  channel_opening channel_;
  tuning tuned_;
  identity broker_;
  std::optional<std::string> blocked_;
};

}  // namespace outboxd::amqp
