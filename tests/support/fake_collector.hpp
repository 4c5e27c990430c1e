// fake_collector: an OTLP/HTTP collector on a loopback port, which takes spans or does wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace outboxd::test {

class fake_collector {
 public:
  enum class way {
    takes,             // the spans
    takes_part,        // all but one of a request
    answers_500,       // which is for good
    answers_503,       // which asks for another try
    hangs_up,          // without an answer
    stays_silent,      // until the client gives up
    answers_for_ever,  // a body without an end
    talks_nonsense,    // no HTTP
  };

  explicit fake_collector(way how = way::takes);
  ~fake_collector();
  fake_collector(const fake_collector&) = delete;
  fake_collector& operator=(const fake_collector&) = delete;

  /// From the next connection on.
  void behave(way how) { how_ = how; }

  std::uint16_t port() const { return port_; }
  std::string url() const;
  /// Requests that came whole, however they were answered.
  int requests() const { return requests_; }
  /// The bodies of those that were taken.
  std::vector<nlohmann::json> taken() const;
  /// The spans in them.
  std::vector<nlohmann::json> spans() const;
  /// What was wrong with requests as such: method, path or content type.
  std::vector<std::string> complaints() const;

 private:
  void serve();
  void converse(int with);

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<way> how_;
  std::atomic<bool> stops_ = false;
  std::atomic<int> requests_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> taken_;  // guarded by mutex_, as the next one
  std::vector<std::string> complaints_;
  std::thread thread_;
};

}  // namespace outboxd::test
