// laggards: aggregates with more events than a chain may hold. The stream continues without them, and reads
// each at its own pace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/stream/store.hpp"

namespace outboxd::flow {

enum class lag : std::uint8_t {
  follows,   // its events stay pending in the table until its chain has room
  overtaken  // too many other events went by: its events are parked, as in a held aggregate
};

// Pure. Their number is small, because each read and walk skips their events.
class laggards {
 public:
  explicit laggards(std::size_t most_overtaking) : most_overtaking_(most_overtaking) {}

  // The aggregate becomes a laggard, because the chain is full for this event, which will be read again.
  // False if there are too many laggards: the event has to be parked.
  bool leave_behind(aggregate which, std::int64_t seq);
  // Whether the stream has to leave this event in the table.
  bool passes_over(aggregate which, std::int64_t seq) const;
  std::optional<lag> state_of(aggregate which) const;
  // An event of another aggregate went by. The next leader would have to walk over all such events.
  void on_overtaking();

  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  std::vector<aggregate> names() const;
  // The cursors of the laggards that `wants` selects.
  template <class Wants>
  std::vector<left_behind> where(Wants&& wants) const {
    std::vector<left_behind> out;
    for (const auto& one : all_)
      if (wants(one.at.which, one.state)) out.push_back(one.at);
    return out;
  }

  // The laggard has been read up to this seq, or to its end. `passed`: the seq that the stream has passed; up
  // to there it may have left events of the laggard.
  void on_read(aggregate which, std::optional<std::int64_t> to, std::int64_t passed);
  // The position went back to this: laggards that were read further are read again with all others.
  void on_passed(std::int64_t passed);
  // The first seq that was left in the table; nullopt if there is none.
  std::optional<std::int64_t> lowest() const;
  void clear() { all_.clear(); }

 private:
  struct laggard {
    left_behind at;
    lag state = lag::follows;
    std::size_t overtaking = 0;  // events since it was left behind
  };
  const laggard* find(aggregate which) const;

  std::size_t most_overtaking_;
  std::vector<laggard> all_;
};

}  // namespace outboxd::flow
