// span_sender: sends spans to a collector, one request at a time, on the reactor. A collector that fails
// costs no more than the spans.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "http/question.hpp"
#include "http/url.hpp"
#include "otlp/collector_answer.hpp"
#include "otlp/span_queue.hpp"

namespace outboxd::otlp {

struct span_counts {
  std::uint64_t sent = 0;
  std::uint64_t no_room = 0;  // in the queue
  std::uint64_t refused = 0;  // by the collector
  std::uint64_t unsent = 0;   // no try has reached the collector, or there was no time at the stop
};

struct sender_limits {
  std::chrono::milliseconds gather{1'000};  // from the first span to the request, unless that is full before
  std::chrono::milliseconds answer{10'000};
  std::chrono::milliseconds first_pause{1'000};  // after a failure; doubles with each
  std::chrono::milliseconds longest_pause{30'000};
  int tries = 5;                          // of a request
  std::chrono::milliseconds last{1'000};  // what a stop may take
};

// What there is to tell people: a trouble once, until it is over.
struct sender_observer {
  std::function<void(const std::string&)> on_trouble;
  std::function<void(const std::string&)> on_recovery;
};

// For one thread.
class span_sender {
 public:
  span_sender(boost::asio::io_context& io, http::url collector, sender_observer tell, queue_limits queue = {},
              sender_limits limits = {});
  ~span_sender();
  span_sender(const span_sender&) = delete;
  span_sender& operator=(const span_sender&) = delete;

  void add(const span_context& at, const published_event& of);

  // Sends the queued spans if the latest request succeeded. `then` is called within limits.last; clean:
  // nothing keeps the reactor busy any more. Do not call add() afterwards.
  void stop(std::function<void(bool clean)> then);

  const span_counts& counts() const { return counts_; }

 private:
  enum class state {
    idle,       // no spans
    gathering,  // waits for more
    sending,    // a request is under way
    pausing,    // until the next try
    stopped,
  };

  void send();
  void heard(const boost::system::error_code& failed);
  void take(const collector_answer& said);
  void failed(const std::string& why, std::optional<std::chrono::seconds> wait);
  void go_on();
  void wait(state in, std::chrono::milliseconds time, void (span_sender::*then)());
  void on_silence();
  void abandon();
  void finish();
  void trouble(const std::string& why);
  bool looks_up() const;

  boost::asio::io_context& io_;
  http::url collector_;
  sender_observer tell_;
  sender_limits limits_;
  span_queue queue_;
  span_counts counts_;
  std::shared_ptr<http::tls_client> tls_;  // null: plain HTTP
  // A look-up of the collector's name must not delay those of other servers, which wait for each other on one
  // reactor.
  boost::asio::thread_pool lookups_{1};
  state now_ = state::idle;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer last_timer_;
  std::optional<span_queue::request> request_;  // that is under way, or tried again
  std::shared_ptr<const std::string> body_;     // its
  std::shared_ptr<http::question> question_;
  std::weak_ptr<http::question> latest_;
  int tries_ = 0;  // of the request, that failed
  std::chrono::milliseconds pause_;
  bool in_trouble_ = false;
  std::minstd_rand chance_{std::random_device()()};
  std::function<void(bool)> then_;  // a stop is under way
};

}  // namespace outboxd::otlp
