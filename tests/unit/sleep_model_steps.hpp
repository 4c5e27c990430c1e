// sleep_model_steps: how the steps of the sleep model are added, and who has which lock.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "sleep_model.hpp"

namespace outboxd::test::sleep_steps {

using flaw = sleep_model::flaw;
using hold = sleep_model::hold;
using news = sleep_model::news;
using relay = sleep_model::relay;
using scope = sleep_model::scope;
using step = sleep_model::step;
using world = sleep_model::world;
using writer = sleep_model::writer;
using wat = writer::at;
using rat = relay::at;

// Somebody has the shard's SLEEP exclusively or waits for it: either turns away who would share it.
inline bool wanted(const world& in, std::size_t shard) {
  return std::ranges::any_of(in.relays, [shard](const relay& r) {
    return r.shard == shard && (r.sleep != hold::none || r.ghost_sleep != hold::none);
  });
}

inline bool shared(const world& in, std::size_t shard) {
  return std::ranges::any_of(in.writers, [shard](const writer& w) { return w.locks(shard); });
}

inline bool held(const world& in, std::size_t shard) {
  return std::ranges::any_of(in.relays, [shard](const relay& r) {
    return r.shard == shard && (r.sleep == hold::held || r.ghost_sleep == hold::held);
  });
}

inline bool led(const world& in, std::size_t shard) {
  return std::ranges::any_of(
      in.relays, [shard](const relay& r) { return r.shard == shard && (r.lead || r.ghost_lead); });
}

// Adds the steps of one writer or relay.
template <typename Of, std::size_t Size>
auto adder(const world& from, std::array<Of, Size> world::*among, const char* name, std::size_t who,
           std::vector<step>& out) {
  return [&from, &out, among, name, who](bool fair, const char* what, auto&& change) {
    step& one = out.emplace_back(step{name, who, what, fair, from});
    change(one.to, (one.to.*among)[who]);
  };
}

inline constexpr bool fair = true;
inline constexpr bool free_to = false;

}  // namespace outboxd::test::sleep_steps
