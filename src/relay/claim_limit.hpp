// claim_limit: how a lane's claims keep within relay.batch_bytes.
//
// While events are small, none of a batch is larger than its share of the bytes, and nothing need be summed up. A claim that
// meets a larger one is made again with the sum, and so are the next ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"

namespace outboxd::relay {

class claim_limit {
 public:
  claim_limit(int batch, std::int64_t batch_bytes) : batch_(batch), batch_bytes_(batch_bytes) {}

  // The statement to claim with, and its parameters.
  std::string_view statement() const;
  std::vector<std::string> parameters() const;

  void learn(const batch& claimed);

  // The limits have kept events of these shards out of it, as far as can be seen: the batch has half of the bytes, or as many
  // events of one shard as a shard may have.
  bool reached_by(const batch& claimed, std::size_t shards) const;

 private:
  bool sums() const { return sums_left_ > 0; }
  std::int64_t share() const { return batch_bytes_ / batch_; }

  int batch_;                 // events
  std::int64_t batch_bytes_;  // of all of them
  int sums_left_ = 0;         // claims to make with the sum
};

}  // namespace outboxd::relay
