// notices: all notices of a relay, as one variant. They are sent on the reactor's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "core/error.hpp"
#include "flow/stream/notices.hpp"
#include "relay/link_observer.hpp"
#include "relay/prune_report.hpp"
#include "relay/retention.hpp"
#include "store/store_session.hpp"

namespace outboxd::relay {

// References in notices are valid only during the call.
namespace notice {

using namespace flow::notice;

struct connected {  // all sessions with this server are open
  peer to;
};
struct disconnected {  // the connection was lost; sent once per new reason
  peer from;
  const error& why;
};
struct open_to_network {  // the network between the relay and PostgreSQL is not secured
  const std::string& why;
};
struct goes_without {  // default privileges that the relay's user lacks
  const std::string& words;
};
struct newer_schema {  // the schema is newer than the program, but supported
  std::int64_t version;
};
struct led {  // the relay starts to lead
  const store::shard_view& what;
};
struct shards_mended {  // rows of shards were missing, and were created again
  std::int64_t shards;
};
struct lock_held {  // a lock of another session has obstructed the leader for ten seconds
  const std::string& words;
  std::chrono::system_clock::time_point since;
};
struct blocked {  // the broker has sent connection.blocked
  std::string_view reason;
};
struct unblocked {};        // no connection is blocked any more
struct token_not_renewed {  // the token of a connection to RabbitMQ was not renewed; sent once per reason
  wall_time end;
  const error& why;
};
struct token_renewed {
  bool at_last;  // true if earlier attempts had failed
};
struct exchange_created {  // the relay created the exchange; no queue is bound to it yet
  const std::string& name;
};
// destination_down: an exchange, or some of its routing keys, began to fail. destination_still_down: the
// destination still fails. destination_up: the destination works again, or no event waits for it any more.
struct destination_down {
  const flow::destination_report& what;
  std::string_view reason;
};
struct destination_still_down {
  const flow::destination_report& what;
};
struct destination_up {
  const flow::destination_report& what;
  bool works;
};
struct pruned {  // one statement deleted these rows
  prunable what;
  std::int64_t rows;
};
struct prune_ended {
  const prune_run& run;
};
struct prune_refused {
  prunable what;
  const error& why;
};
struct prune_kept {
  prunable what;
  std::int64_t rows;
  std::string_view why;
};
struct sample_refused {  // PostgreSQL rejected the sample for metrics
  const error& why;
};
struct rotated {  // the partitions have changed: see rotate_partition in sql/objects/partitions.sql
  std::string_view what;
  std::int64_t number;
};

}  // namespace notice

using relay_notice =
    std::variant<notice::failed, notice::stuck, notice::changed_after_send, notice::paused, notice::gave_up,
                 notice::stands_by, notice::makes_way, notice::deferred, notice::deferral_over, notice::deaf,
                 notice::hears_again, notice::queue, notice::in_doubt, notice::connected,
                 notice::disconnected, notice::open_to_network, notice::goes_without, notice::newer_schema,
                 notice::led, notice::shards_mended, notice::lock_held, notice::blocked, notice::unblocked,
                 notice::token_not_renewed, notice::token_renewed, notice::exchange_created,
                 notice::destination_down, notice::destination_still_down, notice::destination_up,
                 notice::pruned, notice::prune_ended, notice::prune_refused, notice::prune_kept,
                 notice::sample_refused, notice::rotated>;

using relay_observer = std::function<void(const relay_notice&)>;

}  // namespace outboxd::relay
