// position: how far a shard has been read, exactly: every row up to `seq` that is visible in `seen` has been
// read.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outboxd::flow {

// A transaction's id as PostgreSQL's xid8: never reused by one server.
using xid = std::uint64_t;

// pg_snapshot (PostgreSQL manual, "Transaction ID and Snapshot Information Functions"): what was committed
// before xmax and is not listed as in progress is visible.
struct snapshot {
  xid xmin = 3;
  xid xmax = 3;
  std::vector<xid> in_progress;  // rising, at least xmin, below xmax

  // "10:20:10,14,15", as pg_snapshot is written; nothing for anything else.
  static std::optional<snapshot> parse(std::string_view text);
  std::string text() const;

  // Whether this transaction, which has committed by now, is visible.
  bool sees(xid tx) const;

  // The same snapshot, cut off at `upper`.
  snapshot cut_at(xid upper) const;

  bool operator==(const snapshot&) const = default;
};

struct position {
  static constexpr std::int64_t before_all = std::numeric_limits<std::int64_t>::min();

  std::int64_t seq = before_all;
  snapshot seen;

  // Nothing has been read: true of any snapshot.
  static position start(snapshot now) { return {before_all, std::move(now)}; }

  // A read has returned all rows that have become visible since, up to this seq.
  void advance(std::int64_t to, snapshot now);

  // More rows became visible below the position than one read may return, the lowest at this seq: everything
  // from there on is read again.
  void go_back(std::int64_t lowest, snapshot now);

  bool operator==(const position&) const = default;
};

}  // namespace outboxd::flow
