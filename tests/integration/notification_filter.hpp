// notification_filter: a proxy before PostgreSQL that swallows notifications, as a broken pooler does.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "stage.hpp"

namespace outboxd::test {

class notification_filter {
 public:
  /// In front of the private PostgreSQL; lets everything pass at first.
  notification_filter();
  ~notification_filter();
  notification_filter(const notification_filter&) = delete;
  notification_filter& operator=(const notification_filter&) = delete;

  void swallow(bool notifications) { swallowing_ = notifications; }
  /// The stage's database through it.
  std::string url(const stage& on) const;

 private:
  void accept();
  void carry(int client);

  int listener_;
  int port_ = 0;
  std::atomic<bool> swallowing_ = false;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> links_;  // touched by the acceptor alone until it has ended
  std::thread acceptor_;
};

}  // namespace outboxd::test
