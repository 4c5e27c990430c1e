// tcp_proxy: a loopback port in front of another one, which does to the bytes what bad networks do.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace outboxd::test {

enum class direction { to_server, to_client };

/// What happens to the bytes of one direction.
struct flow {
  enum class kind {
    pass,
    delay,  // each piece arrives `late` later, none is lost
    stall,  // nothing is taken any more, as when packets are lost and sent again; goes on after heal()
    drop,   // taken and thrown away, as by a host that is gone; such a connection is reset by heal()
    slice,  // one byte at a time
  };
  kind what = kind::pass;
  std::chrono::milliseconds late{0};
};

/// Which connections a command is for.
enum class reach { present, coming, both };

/// What becomes of new connections.
enum class welcome {
  forward,
  refuse,   // accepted and reset at once
  silence,  // accepted, and never a byte
};

/// Evidence that the faults happened.
struct proxy_counters {
  std::uint64_t accepted = 0;
  std::uint64_t bytes = 0;      // forwarded, both directions
  std::uint64_t cut = 0;        // connections closed on command
  std::uint64_t reset = 0;      // connections reset on command
  std::uint64_t abandoned = 0;  // reset on one side alone
  std::uint64_t refused = 0;    // new connections, by `welcome::refuse`
  std::uint64_t silenced = 0;   // new connections, by `welcome::silence`
  std::uint64_t delayed_bytes = 0;
  std::uint64_t dropped_bytes = 0;
  std::uint64_t sliced_bytes = 0;
  std::uint64_t stalled_pieces = 0;    // times that bytes were there and were not taken
  std::uint64_t closed_by_server = 0;  // connections that the server ended
  std::uint64_t open = 0;              // connections now
};

class proxy_worker;

/// Runs in a thread of its own. Calls may come from any thread, and have taken effect when they return.
class tcp_proxy {
 public:
  /// `target_port` on 127.0.0.1; need not listen yet.
  explicit tcp_proxy(std::uint16_t target_port);
  ~tcp_proxy();
  tcp_proxy(const tcp_proxy&) = delete;
  tcp_proxy& operator=(const tcp_proxy&) = delete;

  /// Where it listens on 127.0.0.1.
  std::uint16_t port() const;

  void set(direction which, flow how, reach whom = reach::both);
  void set(welcome how);
  /// Closes all present connections, both sides, in the orderly way.
  void cut();
  /// The same with RST.
  void reset();
  /// Resets the client's side of all present connections; the server is not told until heal().
  void abandon_server();
  /// Everything passes again. Connections that have lost something are reset.
  void heal();

  proxy_counters counters() const;

 private:
  std::unique_ptr<proxy_worker> worker_;
};

}  // namespace outboxd::test
