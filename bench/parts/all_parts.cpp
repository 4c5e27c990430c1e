#include "parts/part.hpp"

namespace outboxd::bench {

std::vector<std::unique_ptr<part>> all_parts() {
  std::vector<std::unique_ptr<part>> all;
  all.push_back(limit_part());
  all.push_back(drain_part());
  all.push_back(latency_part());
  all.push_back(batch_part());
  all.push_back(writers_part());
  all.push_back(held_part());
  all.push_back(backlog_part());
  all.push_back(relays_part());
  all.push_back(takeover_part());
  all.push_back(open_writer_part());
  all.push_back(idle_part());
  all.push_back(insert_part());
  all.push_back(waiting_part());
  all.push_back(hot_part());
  all.push_back(replay_part());
  all.push_back(observed_part());
  all.push_back(console_part());
  all.push_back(otlp_part());
  all.push_back(retention_part());
  all.push_back(partitions_part());
  all.push_back(adopt_part());
  all.push_back(tls_part());
  all.push_back(poison_part());
  all.push_back(many_part());
  return all;
}

}  // namespace outboxd::bench
