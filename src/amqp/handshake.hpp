// handshake: a state machine that opens a connection and a channel in confirm mode, without a socket.
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
  std::chrono::seconds heartbeat{10};          // 0: use the broker's proposal
  std::uint32_t frame_max = frame_max_own;     // bytes; the largest that outboxd accepts
  std::vector<std::string> declare_exchanges;  // durable, of type topic
  login_by login = login_by::plain;
};

// The values agreed on by connection.tune and tune-ok.
struct tuning {
  std::uint16_t channel_max = 0;
  std::uint32_t frame_max = 0;
  std::chrono::seconds heartbeat{0};  // 0: no heartbeat
};

// The rules of connection.tune (AMQP 0-9-1 section 1.4.2.5/6; heartbeat:
// https://www.rabbitmq.com/docs/heartbeats): the lower value of both sides; 0 means no limit, or, for the
// heartbeat, the other side's value. A permanent error if the broker's frame_max is below frame_min_size.
result<tuning> negotiate(const tuning& broker, const handshake_settings& ours);

// The driver sends output() and clears it, reads into the parser, and calls receive(), until receive()
// returns true or fails. After a failure, the driver sends output() once more unless it is empty, because the
// broker expects a close-ok.
class handshake {
 public:
  explicit handshake(handshake_settings settings);

  // Bytes to send.
  std::string& output() { return output_; }

  // Processes all complete frames. Returns true when the channel is open; bytes after the last answer stay in
  // the parser. An error is permanent if only an operator can help (password, vhost, permission, not an AMQP
  // 0-9-1 port), otherwise transient.
  result<bool> receive(frame_parser& in);

  // The error for a connection that ended during the handshake; `how` describes its end.
  error interrupted(std::string_view how) const;

  const tuning& tuned() const { return tuned_; }
  const identity& broker() const { return broker_; }
  // Why the broker blocks publishers at present, if it does
  // (https://www.rabbitmq.com/docs/connection-blocked).
  const std::optional<std::string>& blocked() const { return blocked_; }
  // Exchanges that did not exist before; no queue is bound to them yet.
  const std::vector<std::string>& created() const { return channel_.created(); }

 private:
  // The method expected from the broker.
  enum class step {
    start,    // connection.start
    tune,     // connection.tune
    open,     // connection.open-ok
    channel,  // an answer to channel_opening
    done,     // no method
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
  bool framed_ = false;  // a complete frame has arrived, so the peer speaks AMQP
  std::string output_;
  codec codec_;
  channel_opening channel_;
  tuning tuned_;
  identity broker_;
  std::optional<std::string> blocked_;
};

}  // namespace outboxd::amqp
