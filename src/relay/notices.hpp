// notices: what there is to tell of a relay, in one variant. It is told on the reactor.
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

// What they refer to is there for the call only.
namespace notice {

using namespace flow::notice;

struct connected {  // all sessions with this server are up
  peer to;
};
struct disconnected {  // once per new reason
  peer from;
  const error& why;
};
struct open_to_network {  // between us and PostgreSQL
  const std::string& why;
};
struct goes_without {  // what PostgreSQL shows to every user, and not to ours
  const std::string& words;
};
struct newer_schema {  // than this version's own; it works with it
  std::int64_t version;
};
struct led {  // from now on
  const store::shard_view& what;
};
struct shards_mended {  // their rows were gone, and are made again
  std::int64_t shards;
};
struct lock_held {  // by another session: it has been in the way for ten seconds
  const std::string& words;
  std::chrono::system_clock::time_point since;
};
struct blocked {  // connection.blocked
  std::string_view reason;
};
struct unblocked {};        // none of the connections is blocked any more
struct token_not_renewed {  // of a login to RabbitMQ; once per reason
  wall_time end;
  const error& why;
};
struct token_renewed {
  bool at_last;  // it was not renewed before
};
struct exchange_created {  // nothing is bound to it yet
  const std::string& name;
};
// An exchange, or routing keys of one, do not take events; still do not; and do again, or no event waits for
// them any more.
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
struct pruned {  // by one statement
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
struct sample_refused {  // the table is not counted for metrics
  const error& why;
};
struct rotated {  // a partition: see rotate_partition in sql/objects/partitions.sql
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
