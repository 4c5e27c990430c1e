// bars: the figures that the project promises, and the limit that each must meet.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace outboxd::bench {

enum class direction { at_least, at_most };

struct bar {
  std::string_view key;
  direction which;
  double value;
  std::string_view part;  // the part that measures it
  std::string_view what;

  bool met_by(double measured) const {
    switch (which) {
      case direction::at_least:
        return measured >= value;
      case direction::at_most:
        return measured <= value;
    }
    return false;
  }
};

inline constexpr std::array bars{
    bar{"writers_ratio", direction::at_least, 0.85, "writers",
        "commits/s of 32 clients with a flush of 1.5 ms: outboxd at work / a bare table and no relay"},
    bar{"writers_vs_messages", direction::at_least, 0.95, "writers",
        "the same: outboxd at work / its messages alone, from a bare publisher"},
    bar{"muted_ratio", direction::at_least, 0.98, "writers",
        "the same: outboxd's table / a bare one, no relay in either"},
    bar{"unattended_ratio", direction::at_least, 0.95, "writers",
        "commits/s of 16 clients with quick flushes and no relay: outboxd's table / a bare one"},
    bar{"insert_cpu_us", direction::at_most, 2.5, "insert",
        "CPU of a transaction with one INSERT above one into a bare table, in us"},
    bar{"insert_bulk_ratio", direction::at_most, 1.08, "insert",
        "CPU of an INSERT of 100,000 rows: outboxd's table / a bare one"},
    bar{"drain_quorum_ratio", direction::at_least, 0.80, "drain",
        "drain with default lanes / bare publisher, quorum queue"},
    bar{"drain_classic_ratio", direction::at_least, 0.90, "drain",
        "drain with default lanes / bare publisher, classic durable queue"},
    bar{"drain_vs_plain", direction::at_least, 15, "drain", "drain: outboxd / plain relay, quorum queue"},
    bar{"cpu_us_per_event", direction::at_most, 3, "drain", "the relay's CPU while it drains, in us"},
    bar{"pg_cpu_us_per_event", direction::at_most, 6, "drain",
        "the CPU of the relay's sessions in PostgreSQL while it drains, in us"},
    bar{"latency_p50_ratio", direction::at_most, 1.3, "latency",
        "p50 at 200/s / (NOTIFY round trip + publish-to-consume round trip)"},
    bar{"latency_p99_vs_plain", direction::at_most, 0.6, "latency", "p99 at 1,000/s: outboxd / plain relay"},
    bar{"drain_vs_batch", direction::at_least, 0.9, "batch", "drain: outboxd / batch relay, quorum queue"},
    bar{"latency_p50_vs_batch", direction::at_most, 0.2, "batch", "p50 at 20/s: outboxd / batch relay"},
    bar{"held_ratio", direction::at_least, 0.9, "held", "drain beside a held snapshot: last round / first"},
    bar{"backlog_ratio", direction::at_least, 0.9, "backlog",
        "drain beside 5 M published rows / on a fresh table"},
    bar{"cold_ratio", direction::at_least, 0.9, "backlog",
        "the same, from the start of a relay that knows nothing of the table"},
    bar{"rss_mb", direction::at_most, 24, "backlog", "resident memory with 5 M events of backlog, MB"},
    bar{"relays_ratio", direction::at_least, 0.97, "relays",
        "drain: a leader and three standbys / one relay"},
    bar{"shards_ratio", direction::at_least, 0.85, "relays",
        "drain: four shards under four relays / one relay"},
    bar{"takeover_ms", direction::at_most, 250, "takeover",
        "from the kill of a leader until another relay delivers, the worst of 20"},
    bar{"open_writer_age_ms", direction::at_most, 1000, "open",
        "the oldest that an event becomes beside a writer that stays open"},
    bar{"idle_statements_per_s", direction::at_most, 1, "idle", "statements per second of an idle relay"},
    bar{"waiting_ratio", direction::at_least, 0.95, "waiting",
        "drain beside a million scheduled events and a long stuck queue / without them"},
    bar{"hot_pipelined_ratio", direction::at_least, 0.80, "hot",
        "pipelined drain: all events of one aggregate / in many"},
    bar{"hot_zipf_pipelined_ratio", direction::at_least, 0.80, "hot", "the same: by Zipf's law / in many"},
    bar{"hot_strict_ratio", direction::at_least, 0.85, "hot",
        "strict drain of one aggregate / a bare publisher with one message in flight"},
    bar{"hot_zipf_strict_ratio", direction::at_least, 0.90, "hot",
        "strict drain by Zipf's law / what its hottest aggregate allows"},
    bar{"hot_wal_ratio", direction::at_most, 1.10, "hot",
        "WAL per event, the worst of these: one aggregate or Zipf's law / in many"},
    bar{"beside_replay_p99_ratio", direction::at_most, 2.0, "replay",
        "p99 of live events at 200/s: beside a replay / alone"},
    bar{"beside_due_p99_ratio", direction::at_most, 2.0, "replay",
        "the same: beside events that came due together / alone"},
    bar{"replay_ratio", direction::at_least, 0.85, "replay",
        "drain: of events that return / of pending ones"},
    bar{"observed_ratio", direction::at_least, 0.9, "observed",
        "drain with a scrape every second and fifty slow HTTP clients / without them"},
    bar{"console_ratio", direction::at_least, 0.95, "console",
        "drain beside ten open consoles and 5 M published rows / without consoles"},
    bar{"console_cpu_percent", direction::at_most, 2, "console",
        "CPU of the console's sessions in PostgreSQL, ten pages open, nothing to publish, % of a core"},
    bar{"otlp_ratio", direction::at_least, 0.97, "otlp",
        "drain with spans of a tenth of the events / without spans"},
    bar{"otlp_instructions_ratio", direction::at_most, 1.03, "otlp",
        "instructions of the relay per event: with spans of a tenth of the events / without spans"},
    bar{"retention_ratio", direction::at_least, 0.9, "retention",
        "drain while 1 M old published events are being deleted / while they are left"},
    bar{"partitions_ratio", direction::at_least, 0.9, "partitions",
        "drain: an outbox in eight partitions / in one table"},
    bar{"partitions_writers_ratio", direction::at_least, 0.9, "partitions",
        "commits/s of 16 clients with a relay at work: an outbox in eight partitions / in one table"},
    bar{"adopt_ratio", direction::at_most, 1.33, "adopt",
        "a transaction with an event: into an adopted table / into the outbox itself"},
    bar{"adopt_keep_ratio", direction::at_most, 1.33, "adopt", "the same with --keep"},
    bar{"poison_p99_ms", direction::at_most, 1000, "poison",
        "p99 of good events at 1,000/s beside odd ones, two relays"},
    bar{"silent_queue_p99_ms", direction::at_most, 1000, "poison",
        "the same beside events to a queue that never confirms"},
    bar{"gone_queues_p99_ratio", direction::at_most, 1.5, "poison",
        "p99 of good events while events wait for 3,000 queues that are gone / alone"},
    bar{"gone_queues_publishes", direction::at_most, 25, "poison",
        "publishes a second to 3,000 queues that are gone"},
    bar{"many_drain_ratio", direction::at_least, 0.8, "many",
        "drain of fifty outboxes by one process / of one outbox with as many events"},
    bar{"many_memory_ratio", direction::at_most, 0.2, "many",
        "memory of one idle process for fifty outboxes / of a process for each"},
    bar{"many_p99_ratio", direction::at_most, 2, "many",
        "p99 at 200/s in one outbox: while another one of the process drains / alone"},
    bar{"many_takeover_ms", direction::at_most, 1000, "many",
        "until a second process leads all fifty outboxes, after SIGKILL, the longest, in ms"},
};

std::optional<bar> bar_of(std::string_view key);

// ">= 0.85"
std::string words(const bar& of);

}  // namespace outboxd::bench
