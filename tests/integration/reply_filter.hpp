// reply_filter: a proxy before PostgreSQL that swallows notifications, as a broken pooler does, sends more of
// them than anybody takes, or changes what the server answers.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "stage.hpp"

namespace outboxd::test {

class reply_filter {
 public:
  /// In front of the private PostgreSQL; lets everything pass at first.
  reply_filter();
  ~reply_filter();
  reply_filter(const reply_filter&) = delete;
  reply_filter& operator=(const reply_filter&) = delete;

  void swallow(bool notifications) { swallowing_ = notifications; }
  /// Sessions that listen get notifications from now on, as fast as they take them, and nothing else.
  void drown(bool listeners) { drowning_ = listeners; }
  /// In what comes back from now on; both are equally long. Before the first connection.
  void replace(std::string answer, std::string by) { replaced_ = {std::move(answer), std::move(by)}; }
  /// The stage's database through it.
  std::string url(const stage& on) const;

 private:
  void accept();
  void carry(int client);
  std::string replaced(std::string messages) const;

  int listener_;
  int port_ = 0;
  std::atomic<bool> swallowing_ = false;
  std::atomic<bool> drowning_ = false;
  std::atomic<bool> stopping_ = false;
  std::pair<std::string, std::string> replaced_;
  std::vector<std::thread> links_;  // touched by the acceptor alone until it has ended
  std::thread acceptor_;
};

}  // namespace outboxd::test
