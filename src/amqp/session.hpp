// session: one open channel in confirm mode, without a socket: messages to bytes, the broker's frames to
// outcomes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/channel_opening.hpp"
#include "amqp/codec.hpp"
#include "amqp/confirm_ledger.hpp"
#include "amqp/frame.hpp"
#include "amqp/publish_encoder.hpp"
#include "core/error.hpp"
#include "core/message.hpp"

namespace outboxd::amqp {

// basic.return is a method, a content header and a body, each in frames of its own.
struct arriving_return {
  std::string reason;
  bool header = false;          // it has come
  std::uint64_t body_left = 0;  // bytes
};

struct session_settings {
  std::uint16_t channel = 1;
  std::uint32_t frame_max = 0;                 // as negotiated, bytes
  std::vector<std::string> declare_exchanges;  // again when the channel is opened again
  message_limits limits;
};

class session {
 public:
  explicit session(session_settings settings);

  // False while the channel that the broker closed is being opened again: publish nothing.
  bool open() const { return !reopening_; }

  // Appends the message's frames. On error (permanent, the event's own fault) nothing is appended.
  result<void> publish(token id, const message& message, std::string& out);

  // What frames have brought since the last clear.
  struct news {
    std::vector<outcome> outcomes;
    std::vector<std::optional<std::string>>
        blocked;  // in order: the reason of a blocked, nothing for an unblocked
    // The broker closed the channel over one of these publishes; it is opened again.
    std::vector<token> unknown;
    refusal refused;
    bool secret_updated = false;  // the broker confirmed update_secret()
    bool closed = false;          // the broker confirmed our connection.close
    std::optional<std::string>
        fault;  // with an error: the broker gave a code for a fault (is_a_fault(), refusal.hpp)
    void clear();
  };

  // Takes one frame; answers that the protocol requires go to `out`. An error (transient) ends the
  // connection: send `out`, then drop the socket. `into` keeps the outcomes from before the error.
  result<void> receive(const frame& f, news& into, std::string& out);

  // Gives the broker the user's next password. It confirms it, or ends the connection. On error nothing is
  // appended.
  result<void> update_secret(std::string_view secret, std::string& out);

  // Asks the broker to end the connection; publish nothing after it.
  void close(std::string& out);

  std::size_t unconfirmed() const { return ledger_.open(); }
  std::vector<token> abandon() { return ledger_.close(); }

 private:
  result<void> on_method(const method& m, std::uint16_t channel, news& into, std::string& out);
  result<void> on_channel_method(const method& m, news& into, std::string& out);
  result<void> on_channel_closed(const amqp_channel_close_t& close, news& into, std::string& out);
  result<void> on_return_header(std::string_view payload);
  result<void> on_return_body(std::string_view payload);

  std::uint16_t channel_;
  codec codec_;
  publish_encoder encoder_;
  confirm_ledger ledger_;
  channel_opening opening_;
  std::optional<arriving_return> return_;
  int secrets_sent_ = 0;  // and not confirmed
  bool reopening_ = false;
  bool closing_ = false;
};

}  // namespace outboxd::amqp
