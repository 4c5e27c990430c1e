// shape: the composition of a run apart from its faults: also a pure function of the seed.
#pragma once

#include <cstdint>
#include <string>

namespace outboxd::chaos {

struct shape {
  int relays = 2;  // permanent relays, except during their faults
  int guests = 1;  // relays that start and stop
  int shards = 1;
  int lanes = 2;  // per relay
  int batch = 50;
  bool quorum = false;       // the queue's type; otherwise classic
  bool letters = false;      // dead events are published to a dead letter exchange
  bool partitioned = false;  // the outbox is repeatedly switched to the next partition

  std::string words() const;
};

shape shape_of(std::uint64_t seed);

}  // namespace outboxd::chaos
