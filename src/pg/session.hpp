// session: the libpq object, its socket on the reactor, and the pipeline under way. Private to connection.
#pragma once

#include <libpq-fe.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pg/connection.hpp"
#include "pg/resolve.hpp"

namespace outboxd::pg {

struct connection::session : std::enable_shared_from_this<session> {
  explicit session(const asio::any_io_executor& on) : executor(on), changed(on) {}
  ~session() { end(); }

  // Makes one attempt, which has to end by the deadline and to reach the machine by `reached_by`. The error
  // contains only the server's text. writable: only a server that accepts writes is suitable, unless the
  // string says otherwise.
  asio::awaitable<result<void>> connect(const std::string& text, const endpoint& to, bool writable,
                                        std::chrono::steady_clock::time_point reached_by,
                                        std::chrono::steady_clock::time_point deadline);
  void begin(const pipeline& steps);

  // Ends the connection for this reason, unless it has ended already.
  void fail(error why);
  void end();

  asio::any_io_executor executor;
  asio::steady_timer changed;  // cancelled when the state has changed
  std::optional<error> lost;
  payloads notified;
  senders notified_by;
  std::vector<std::string> heeded;  // accepted payloads; empty: all
  bool interrupted = false;

  std::size_t outstanding = 0;  // unanswered segments of the pipeline under way
  std::vector<segment> segments;
  std::function<std::string(std::string_view words)> denial_query;
  std::string last_sqlstate;  // of the last execute()
  int queue_holder = 0;       // see connection::take_queue_holder
  bool busy() const { return outstanding > 0; }

  std::string server() const;
  bool turned_read_only() const { return !greeted_read_only_ && says_read_only(); }
  int backend_pid() const { return PQbackendPID(conn_); }
  bool encrypted() const { return PQsslInUse(conn_) != 0; }
  std::string sslmode() const;

 private:
  bool says_read_only() const;
  void give_up(unsigned attempt);
  bool start(const std::string& text, const endpoint& to, bool writable);
  void watch_socket();
  void release_socket();
  void await_readable();
  void await_writable();
  void on_readable();
  void flush();
  void read_notifications();
  void read_results();
  void take(PGresult* one);
  static void on_notice(void* self, const PGresult* notice);

  PGconn* conn_ = nullptr;
  std::optional<asio::posix::stream_descriptor> socket_;
  unsigned attempt_ = 0;                 // number of the attempt; timers of earlier attempts are ignored
  bool late_ = false;                    // the deadline of this attempt has passed
  bool greeted_read_only_ = false;       // read-only at connection start, and not changed since
  bool writing_ = false;                 // a wait for the socket to become writable is pending
  std::size_t notified_unanswered_ = 0;  // notifications since the last request or answer
  std::string last_fatal_;               // the server's last error message
};

}  // namespace outboxd::pg
