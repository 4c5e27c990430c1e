// proxy_worker: the thread of a tcp_proxy, around poll(). The connections belong to it; commands are run by
// it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "support/proxied_connection.hpp"
#include "support/tcp_proxy.hpp"

namespace outboxd::test {

class proxy_worker {
 public:
  explicit proxy_worker(std::uint16_t target_port);
  ~proxy_worker();
  proxy_worker(const proxy_worker&) = delete;
  proxy_worker& operator=(const proxy_worker&) = delete;

  std::uint16_t port() const { return port_; }

  /// Runs `command` in the thread and waits for it.
  void call(std::function<void()> command);

  // All below: in the thread only.
  std::list<proxied_connection> connections;
  std::array<flow, 2> flows;
  welcome door = welcome::forward;
  proxy_counters count;

  void forget_over() {
    connections.remove_if([](const proxied_connection& one) { return one.over; });
    count.open = connections.size();
  }

 private:
  void run();
  void run_commands();
  void accept_all();
  void connect(proxied_connection& one);
  void finish_connect(proxied_connection& one);
  void read(proxied_connection& one, direction which);
  void write(proxied_connection& one, direction which);
  void side_died(proxied_connection& one, direction from_there);
  int timeout(std::chrono::steady_clock::time_point now) const;

  std::uint16_t target_;
  std::uint16_t port_ = 0;
  socket_handle listener_;
  socket_handle wake_;
  bool stopping_ = false;
  std::mutex mutex_;
  std::vector<std::packaged_task<void()>> commands_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace outboxd::test
