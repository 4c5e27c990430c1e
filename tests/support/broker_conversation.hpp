// broker_conversation: a broker's side of one AMQP connection, as a script plays it: blocking, byte by byte
// if need be.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "unit/amqp_wire.hpp"

namespace outboxd::test {

/// The other side is gone, or this one hung up: the script is over, as it should be.
struct hung_up : std::runtime_error {
  hung_up() : std::runtime_error{"hung up"} {}
};

/// What a broker answers, in this order, until a publisher may publish.
enum class shake_step { greeting, tune, open, channel, confirm, look, declare, done };

struct shake_options {
  std::uint64_t frame_max = 131072;
  std::uint64_t heartbeat = 60;
};

/// The bytes of one answer.
std::string answer_of(shake_step step, const shake_options& options = {});

/// Used by one thread, except for interrupt(). Whatever reads or writes throws hung_up when the connection
/// ends.
class broker_conversation {
 public:
  /// Told of a publish (its message id) just before its ack is sent.
  using ack_listener = std::function<void(const std::string& message_id)>;

  broker_conversation(int socket, ack_listener on_ack);
  ~broker_conversation();
  broker_conversation(const broker_conversation&) = delete;
  broker_conversation& operator=(const broker_conversation&) = delete;

  /// From now on at most so many bytes are sent; the one that is too much cuts the connection.
  void cut_after(std::size_t bytes, bool reset);
  /// Every byte in a packet of its own.
  void send_slowly() { piece_ = 1; }

  void send(std::string_view bytes);
  /// The client's next frame that is no heartbeat.
  wire::seen read();
  /// The client's next bytes, as many as a heartbeat has.
  std::string await_heartbeat();

  /// Answers everything before `step`, and reads the request that `step` would answer.
  void shake_hands(shake_step until = shake_step::done, const shake_options& options = {});

  /// The message id of the next publish. A close is answered, and ends the script.
  std::string next_publish();
  void ack(std::uint64_t tag, bool multiple = false);
  /// Acknowledges every publish, one by one, until the client goes.
  [[noreturn]] void serve();

  /// Takes everything and says nothing but heartbeats, until the client goes.
  [[noreturn]] void only_heartbeats();
  /// Takes nothing any more, until the client goes.
  [[noreturn]] void stop_reading();
  /// With a FIN, or with a RST.
  [[noreturn]] void hang_up(bool reset = false);

  /// The end of the script.
  void close();
  /// From another thread: makes every call of the script's thread throw.
  void interrupt();

 private:
  std::string read_bytes(std::size_t count);
  void read_request(shake_step of);
  void await_end(short also, const std::function<void(short)>& each);

  std::mutex mutex_;  // so that interrupt() meets no closed socket
  int socket_;
  ack_listener on_ack_;
  std::vector<std::string> publishes_;    // message ids, by tag from 1
  std::uint64_t settled_ = 0;             // all up to this tag are told
  std::size_t piece_ = SIZE_MAX;          // bytes to send at once
  std::optional<std::size_t> allowance_;  // bytes until the cut
  bool reset_ = false;
};

}  // namespace outboxd::test
