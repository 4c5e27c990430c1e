// link: the implementation of connection: its socket, buffers, timers and pending operations.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amqp/connection.hpp"
#include "amqp/dialer.hpp"
#include "amqp/session.hpp"

namespace outboxd::amqp {

// Every operation under way holds a shared_ptr to the link, which therefore outlives them all.
class link : public std::enable_shared_from_this<link> {
 public:
  link(boost::asio::any_io_executor executor, connection_settings settings);

  static boost::asio::awaitable<result<void>> open(std::shared_ptr<link> self);
  static boost::asio::awaitable<error> run(std::shared_ptr<link> self, handler* owner);
  static boost::asio::awaitable<void> close(std::shared_ptr<link> self, std::chrono::milliseconds limit);

  result<accepted> publish(token id, const message& message);
  result<void> update_secret(std::string_view secret);
  std::size_t unconfirmed() const { return session_ ? session_->unconfirmed() : 0; }
  std::vector<token> abandon() { return session_ ? session_->abandon() : std::vector<token>(); }
  void abort();
  const interruption& interrupted() const { return interrupted_; }
  const std::vector<std::string>& created() const { return created_; }
  std::optional<std::chrono::system_clock::time_point> certificate_expires() const {
    return certificate_expires_;
  }

 private:
  using clock = std::chrono::steady_clock;
  using error_code = boost::system::error_code;

  void begin(dialer::line line);
  void take_frames();
  void deliver();
  void read_failed(error_code ec);
  bool room_for(std::size_t bytes) const;
  void offer_room();
  void flush_soon();
  void flush();
  void written(error_code ec);
  void arm_heartbeat();
  void heartbeat_due();
  void end(std::string_view why);

  boost::asio::any_io_executor executor_;
  connection_settings settings_;
  std::string peer_;
  std::shared_ptr<dialer> dialer_;  // set while opening

  std::unique_ptr<transport> wire_;  // set once the connection is open
  frame_parser parser_{frame_max_untuned};
  std::optional<session> session_;
  std::optional<std::string> blocked_at_open_;
  std::vector<std::string> created_;  // exchanges that were created
  std::optional<std::chrono::system_clock::time_point> certificate_expires_;
  session::news news_;
  handler* owner_ = nullptr;  // set while run() is active

  std::string pending_;  // bytes for the next write
  std::string sending_;  // bytes of the write under way
  bool writing_ = false;
  bool flush_posted_ = false;
  std::size_t room_wanted_ = 0;  // bytes for which publish() returned full
  error_code write_error_;       // the reader reports this error

  std::chrono::seconds heartbeat_{0};
  boost::asio::steady_timer heartbeat_timer_;
  clock::time_point last_read_;
  clock::time_point last_write_;

  bool closing_ = false;
  boost::asio::steady_timer close_timer_;  // cancelled at the end
  std::optional<error> end_;
  interruption interrupted_;
};

}  // namespace outboxd::amqp
