// laggards: the aggregates with more events than a chain may hold. The stream continues without them, and
// reads each of them separately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/stream/store.hpp"

namespace outboxd::flow {

enum class lag : std::uint8_t {
  follows,   // the laggard's events stay pending in the table until its chain has room
  overtaken  // too many other events were read in the meantime: the laggard's events are parked, as in a held
             // aggregate
};

// Pure. The number of laggards is limited, because each read and walk has to skip their events.
class laggards {
 public:
  explicit laggards(std::size_t most_overtaking) : most_overtaking_(most_overtaking) {}

  // The aggregate becomes a laggard, because its chain has no room for this event; the event will be read
  // again. Returns false if there are too many laggards; the event has to be parked then.
  bool leave_behind(aggregate which, std::int64_t seq);
  // True if the stream has to leave this event in the table.
  bool passes_over(aggregate which, std::int64_t seq) const;
  std::optional<lag> state_of(aggregate which) const;
  // An event of another aggregate was read. The count is limited, because the next leader has to walk over
  // all such events.
  void on_overtaking();

  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  std::vector<aggregate> names() const;
  // Returns the cursors of the laggards that `wants` selects.
  template <class Wants>
  std::vector<left_behind> where(Wants&& wants) const {
    std::vector<left_behind> out;
    for (const auto& one : all_)
      if (wants(one.at.which, one.state)) out.push_back(one.at);
    return out;
  }

  // The laggard was read up to this seq; nullopt: to its end. `passed`: the seq up to which the stream has
  // read, and may have left events of this laggard.
  void on_read(aggregate which, std::optional<std::int64_t> to, std::int64_t passed);
  // The position moved back to `passed`: laggards that were read further are read again with all other
  // events.
  void on_passed(std::int64_t passed);
  // The lowest seq that was left in the table; nullopt if there is none.
  std::optional<std::int64_t> lowest() const;
  void clear() { all_.clear(); }

 private:
  struct laggard {
    left_behind at;
    lag state = lag::follows;
    std::size_t overtaking = 0;  // events of other aggregates read since this one became a laggard
  };
  const laggard* find(aggregate which) const;

  std::size_t most_overtaking_;
  std::vector<laggard> all_;
};

}  // namespace outboxd::flow
