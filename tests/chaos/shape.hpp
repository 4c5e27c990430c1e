// shape: what a run is made of, apart from its faults: a pure function of the seed, too.
#pragma once

#include <cstdint>
#include <string>

namespace outboxd::chaos {

struct shape {
  int relays = 2;  // that are there all the time, but for their faults
  int guests = 1;  // that come and go
  int shards = 1;
  int lanes = 2;  // of each relay
  int batch = 50;
  bool quorum = false;       // the queue's type; otherwise classic
  bool letters = false;      // dead events are published to an exchange for them
  bool partitioned = false;  // the outbox goes on in another partition again and again

  std::string words() const;
};

shape shape_of(std::uint64_t seed);

}  // namespace outboxd::chaos
