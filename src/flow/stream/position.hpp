// position: how far a shard has been read: every row up to `seq` that is visible in `seen` has been read.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outboxd::flow {

// A transaction ID of PostgreSQL's type xid8, which one server never reuses.
using xid = std::uint64_t;

// A pg_snapshot (PostgreSQL manual, "Transaction ID and Snapshot Information Functions"): transactions below
// xmax that are not listed as in progress are visible.
struct snapshot {
  xid xmin = 3;
  xid xmax = 3;
  std::vector<xid> in_progress;  // ascending, at least xmin and below xmax

  // Parses the text form of pg_snapshot, such as "10:20:10,14,15"; returns nullopt for any other text.
  static std::optional<snapshot> parse(std::string_view text);
  std::string text() const;

  // True if this transaction, which has committed by now, is visible.
  bool sees(xid tx) const;

  // The same snapshot with `upper` as xmax.
  snapshot cut_at(xid upper) const;

  bool operator==(const snapshot&) const = default;
};

struct position {
  static constexpr std::int64_t before_all = std::numeric_limits<std::int64_t>::min();

  std::int64_t seq = before_all;
  snapshot seen;

  // The position before any read, which is valid with every snapshot.
  static position start(snapshot now) { return {before_all, std::move(now)}; }

  // A read has returned all rows up to this seq that became visible since the last one.
  void advance(std::int64_t to, snapshot now);

  // More rows became visible below the position than one read may return; `lowest` is their lowest seq, and
  // everything from there on is read again.
  void go_back(std::int64_t lowest, snapshot now);

  bool operator==(const position&) const = default;
};

}  // namespace outboxd::flow
