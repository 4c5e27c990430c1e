// serving: from when to when the servers could do their part, and for how long events were open in that time.
#pragma once

#include <cstdint>
#include <vector>

namespace outboxd::cluster {

using micros = std::int64_t;  // since 1970-01-01 UTC, or a length

/// From `from` on, before `to`.
struct stretch {
  micros from = 0;
  micros to = 0;
  bool operator==(const stretch&) const = default;
};
using stretches = std::vector<stretch>;  // in order, none touches another

/// From then on this node's member of the queue leads, or does not.
struct lead_change {
  micros at = 0;
  int node = 0;
  bool leads = false;
};

/// When somebody led, as far as it lies in `whole`.
stretches led(std::vector<lead_change> changes, const stretch& whole);

stretches without(const stretches& from, const stretches& gaps);

/// The longest of the gaps of `served` in `whole`.
micros longest_gap(const stretches& served, const stretch& whole);

/// The longest that one of the events was open within one stretch of `served`.
micros longest_open(const stretches& events, const stretches& served);

}  // namespace outboxd::cluster
