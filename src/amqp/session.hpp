// session: an open channel in confirm mode, without a socket: converts messages to bytes, and the broker's
// frames to outcomes.
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

// basic.return consists of a method, a content header and a body, each in separate frames.
struct arriving_return {
  std::string reason;
  bool header = false;          // the content header has arrived
  std::uint64_t body_left = 0;  // bytes of the body that have yet to arrive
};

struct session_settings {
  std::uint16_t channel = 1;
  std::uint32_t frame_max = 0;                 // as negotiated, bytes
  std::vector<std::string> declare_exchanges;  // declared again when the channel is reopened
  message_limits limits;
};

class session {
 public:
  explicit session(session_settings settings);

  // False while a channel that the broker closed is being reopened; nothing may be published then.
  bool open() const { return !reopening_; }

  // Appends the message's frames. After an error (permanent, the event's own fault), nothing is appended.
  result<void> publish(token id, const message& message, std::string& out);

  // The results of frames received since the last clear().
  struct news {
    std::vector<outcome> outcomes;
    std::vector<std::optional<std::string>>
        blocked;  // in order; a reason if the connection was blocked, nullopt if it was unblocked
    // The broker closed the channel because of one of these messages; the channel is being reopened.
    std::vector<token> unknown;
    refusal refused;
    bool secret_updated = false;  // the broker confirmed update_secret()
    bool closed = false;          // the broker confirmed connection.close
    std::optional<std::string>
        fault;  // set with an error, if the broker's code means a fault (is_a_fault(), refusal.hpp)
    void clear();
  };

  // Processes one frame; answers that the protocol requires are appended to `out`. After an error
  // (transient), the connection is over: send `out`, then close the socket. `into` has the outcomes from
  // before the error.
  result<void> receive(const frame& f, news& into, std::string& out);

  // Sends the user's next password to the broker. The broker confirms it, or ends the connection. After an
  // error, nothing is appended.
  result<void> update_secret(std::string_view secret, std::string& out);

  // Requests an orderly close of the connection; publish nothing afterwards.
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
  int secrets_sent_ = 0;  // sent but not confirmed
  bool reopening_ = false;
  bool closing_ = false;
};

}  // namespace outboxd::amqp
