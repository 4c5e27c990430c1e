// queue_watch: which node leads the queue, now and over time, from what the nodes write down and what was
// done to them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rabbit_cluster.hpp"
#include "serving.hpp"

namespace outboxd::cluster {

micros now();

class queue_watch {
 public:
  /// A quorum queue in the vhost "/".
  queue_watch(const rabbit_cluster& all, std::string queue);

  /// The node can serve nobody from now on, or can again, whatever its member believes.
  void out_of_service(int node);
  void in_service(int node);

  /// -1: nobody leads.
  int leader() const;
  int await_leader() const;
  /// Of another node than this one.
  int await_leader_but(int node) const;
  stretches led_in(const stretch& whole) const;

 private:
  std::vector<lead_change> changes() const;

  const rabbit_cluster& all_;
  std::string member_;
  std::map<int, stretches> absences_;  // by node; the last one may be open: to = 0
};

}  // namespace outboxd::cluster
