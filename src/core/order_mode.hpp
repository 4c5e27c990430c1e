// order_mode: how strictly an aggregate's events follow each other.
#pragma once

namespace outboxd {

enum class order_mode {
  strict,     // at most one unconfirmed event of an aggregate; the rest is pipelined
  pipelined,  // all at once: a successor may overtake an event that the broker refuses
};

}  // namespace outboxd
