// claim_floors: from where on claims look at each shard, as the latest sweep has found out. See claim and sweep in sql/.
#pragma once

#include <string>
#include <utility>

#include "pg/outbox_statements.hpp"

namespace outboxd::relay {

// A server that crashes or is replaced may have lost commits, and what was known of the table is no longer true. Every
// session with it ends then, though not all at the same moment: with the end of any of them all is forgotten, and the
// answer to a sweep that was under way is not taken.
class claim_floors {
 public:
  const pg::sweep_knowledge& known() const { return known_; }
  const std::string& parameter() const { return parameter_; }

  unsigned generation() const { return generation_; }
  void learn(pg::sweep_knowledge found, unsigned asked_in) {
    if (asked_in != generation_) return;
    known_ = std::move(found);
    parameter_ = pg::floors_parameter(known_.floors);
  }
  void forget() {
    ++generation_;
    known_ = {};
    parameter_ = pg::floors_parameter({});
  }

 private:
  pg::sweep_knowledge known_;
  std::string parameter_ = pg::floors_parameter({});
  unsigned generation_ = 0;
};

}  // namespace outboxd::relay
