#include "queue_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>

#include "support/eventually.hpp"

namespace outboxd::cluster {
namespace {

constexpr auto watch_limit = std::chrono::seconds{120};
constexpr micros for_ever = std::numeric_limits<micros>::max();

}  // namespace

micros now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

queue_watch::queue_watch(const rabbit_cluster& all, std::string queue)
    : all_{all}, member_{"%2F_" + std::move(queue)} {}

void queue_watch::out_of_service(int node) {
  absences_[node].push_back({now(), for_ever});
}

void queue_watch::in_service(int node) {
  absences_[node].back().to = now();
}

// A node that was killed has written no last word.
std::vector<lead_change> queue_watch::changes() const {
  std::vector<lead_change> out;
  for (int node = 0; node < nodes; ++node) {
    stretches leads;
    std::ifstream states{all_.states_file(node)};
    micros at = 0;
    std::string queue;
    std::string state;
    while (states >> at >> queue >> state) {
      if (queue != member_) continue;
      if (!leads.empty() && leads.back().to == for_ever) leads.back().to = at;
      if (state == "leader") leads.push_back({at, for_ever});
    }
    const auto found = absences_.find(node);
    for (const auto& one : without(leads, found == absences_.end() ? stretches{} : found->second)) {
      out.push_back({one.from, node, true});
      if (one.to != for_ever) out.push_back({one.to, node, false});
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& one, const auto& other) { return one.at < other.at; });
  return out;
}

int queue_watch::leader() const {
  std::map<int, micros> leads;
  for (const auto& change : changes()) {
    if (change.leads)
      leads[change.node] = change.at;
    else
      leads.erase(change.node);
  }
  const auto latest = std::max_element(leads.begin(), leads.end(), [](const auto& one, const auto& other) {
    return one.second < other.second;
  });
  return latest == leads.end() ? -1 : latest->first;
}

int queue_watch::await_leader() const {
  return await_leader_but(-1);
}

int queue_watch::await_leader_but(int node) const {
  int found = -1;
  test::eventually(
      "the queue has a leader",
      [&] {
        found = leader();
        return found >= 0 && found != node;
      },
      watch_limit);
  return found;
}

stretches queue_watch::led_in(const stretch& whole) const {
  return led(changes(), whole);
}

}  // namespace outboxd::cluster
