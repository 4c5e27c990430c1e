// order_mode: how strictly the events of an aggregate keep their order.
#pragma once

namespace outboxd {

enum class order_mode {
  strict,     // at most one unconfirmed event per aggregate; other aggregates are pipelined
  pipelined,  // does not wait for confirms: a later event may overtake an event that the broker refuses
};

}  // namespace outboxd
