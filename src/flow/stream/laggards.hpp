// laggards: aggregates with more events than a chain may hold. The stream goes on without them, and reads
// each of them by itself, at its own pace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/stream/store.hpp"

namespace outboxd::flow {

enum class lag : std::uint8_t {
  follows,   // its events stay pending in the table until its chain has room
  overtaken  // too many others went by: its events are parked, as those of a held aggregate are
};

// Pure. Few, for each read and walk passes over their events.
class laggards {
 public:
  explicit laggards(std::size_t most_overtaking) : most_overtaking_(most_overtaking) {}

  // This event of it, which is no laggard, finds its chain full, and is to be read again. False if there are
  // too many laggards: it has to be parked.
  bool leave_behind(aggregate which, std::int64_t seq);
  // The stream is to leave this event where it is.
  bool passes_over(aggregate which, std::int64_t seq) const;
  std::optional<lag> state_of(aggregate which) const;
  // An event of another aggregate went by. The next leader would have to walk over all that did.
  void on_overtaking();

  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  std::vector<aggregate> names() const;
  // Where each is, for those that `wants` says it of.
  template <class Wants>
  std::vector<left_behind> where(Wants&& wants) const {
    std::vector<left_behind> out;
    for (const auto& one : all_)
      if (wants(one.at.which, one.state)) out.push_back(one.at);
    return out;
  }

  // It has been read up to this seq, or as far as there is anything of it. `passed`: what the stream has
  // passed. Up to there it may have left events of it behind.
  void on_read(aggregate which, std::optional<std::int64_t> to, std::int64_t passed);
  // The position has gone back to this: who was read further than that is read with all others again.
  void on_passed(std::int64_t passed);
  // The first seq that was left behind; nothing if there is none.
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
