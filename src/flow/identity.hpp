// identity: how the flow identifies events and aggregates.
#pragma once

#include <cstdint>

namespace outboxd::flow {

// The index of an event in a stream's memory.
using slot = std::uint32_t;
inline constexpr slot no_slot = static_cast<slot>(-1);

// The hash of the aggregate's type and id, with which the table identifies it.
using aggregate = std::int64_t;

}  // namespace outboxd::flow
