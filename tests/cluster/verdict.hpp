// verdict: what was committed against what is in the table and what was delivered, also when a standby has
// taken over that never got everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "paced_writers.hpp"
#include "support/history.hpp"

namespace outboxd::cluster {

struct failover {
  int old_port = 0;                 // of the primary that is gone
  bool synchronous = false;         // no commit was acknowledged before the standby had it
  bool held_back = false;           // the standby got nothing any more for a while
  std::int64_t standby_got_to = 0;  // a position in the old primary's log
};

struct verdict {
  std::vector<std::string> wrong;
  std::size_t duplicates = 0;
  std::size_t missing = 0;             // events of acknowledged commits that the standby never got
  std::size_t known_to_consumers = 0;  // of these, delivered
};

verdict judge(const std::vector<written>& by_writers, const std::vector<test::committed_event>& rows,
              const test::history& deliveries, const std::optional<failover>& change);

}  // namespace outboxd::cluster
