// progress: prints one line per second while the shop is open; on a terminal, the line is overwritten.
#pragma once

#include "shop/tally.hpp"

namespace outboxd::shop {

class progress {
 public:
  progress();
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void show(steady_clock::duration since_start, const counts& now);

 private:
  bool terminal_;
  bool open_line_ = false;
};

}  // namespace outboxd::shop
