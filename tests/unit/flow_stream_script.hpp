// flow_stream_script: a stream whose store and broker a test answers by hand.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>

#include "flow/stream/stream.hpp"
#include "request_by_name.hpp"
#include "scripted_lanes.hpp"

namespace outboxd::test {

inline event_id id_of(int number) {
  event_id out;
  out.bytes[15] = static_cast<std::uint8_t>(number);
  return out;
}
inline int number_of(const event_id& id) {
  return id.bytes[15];
}

// Of the event that row() makes.
inline event_key key_of(int number) {
  return {id_of(number), number, 0};
}

// An event whose seq is its number.
inline flow::stored_event row(int number, flow::aggregate of = 1,
                              flow::exception from = flow::exception::none) {
  flow::stored_event out;
  out.what.id = id_of(number);
  out.what.seq = number;
  out.what.aggregate = of;
  out.what.event_type = "t";
  out.what.headers = "{}";
  out.from = from;
  out.size = 100;
  return out;
}

class stream_script : public scripted_lanes {
 public:
  explicit stream_script(const flow::stream_limits& limits = quick(), std::size_t lane_count = 1,
                         flow::step_observers steps = {}, flow::rate_limit rate = flow::rate_limit())
      : scripted_lanes(lane_count, {}, rate),
        stream(
            pool, limits, [this](const flow::any_notice& what) { note(what); }, std::move(steps)) {}

  static flow::stream_limits quick() {
    flow::stream_limits out;
    out.marks = {.enough = 1, .linger = std::chrono::microseconds(0)};
    out.fresh_for = std::chrono::hours(1);  // where time passes, nothing is looked at again
    return out;
  }

  // Takes the lead with nothing held, and goes as far as the first read.
  void lead(flow::saved_position from = {{0, {}}, {}}) {
    stream.start(std::move(from), payload_type::jsonb);
    load();
  }
  void load() {
    ask();
    answer();
    while (stream.now_in() == flow::stream::phase::loading) ask(), answer();
    ask();
    if (asked.walk_from) answer(), ask();
  }

  void ask() { REQUIRE(asks()); }
  bool asks() {
    const auto next = stream.next();
    if (next == nullptr) return false;
    request_ = next;
    asked = named_request(*next);
    return true;
  }
  using scripted_lanes::answer;
  // With all that is written, and nothing that is read but what `with` says.
  flow::stream::news answer(named_answers with = {}) { return stream.on_answer(with.in_order_of(*request_)); }
  // Answers the read under way.
  flow::stream::news bring(std::vector<flow::stored_event> rows) {
    named_answers out;
    auto& read = out.read.answer;
    read.saw_all = true;
    read.now = {9, 9, {}};
    if (!rows.empty()) read.top = rows.back().what.seq;
    read.rows = std::move(rows);
    return answer(std::move(out));
  }
  // Rings, and brings these.
  void read(std::vector<flow::stored_event> rows) {
    stream.ring();
    ask();
    REQUIRE(asked.read);
    bring(std::move(rows));
  }

  // What has been sent since, by number.
  std::vector<int> sent(std::size_t lane = 0) {
    std::vector<int> out;
    auto& all = connections[lane].sent;
    for (; told_ < all.size(); ++told_) out.push_back(std::stoi(all[told_].id.substr(34), nullptr, 16));
    return out;
  }
  token latest() const { return connections[0].sent.back().name; }
  std::vector<int> marked() const {
    std::vector<int> out;
    for (const event_key& key : asked.marks.keys) out.push_back(number_of(key.id));
    return out;
  }
  // "3 parked": number and state of each.
  std::string recorded() const {
    std::string out;
    for (const auto& one : asked.failures)
      out += fmt::format("{} {} ", number_of(one.key.id),
                         one.to == flow::exception::dead        ? "dead"
                         : one.to == flow::exception::parked    ? "parked"
                         : one.to == flow::exception::scheduled ? "scheduled"
                                                                : "backs off");
    return out;
  }

  flow::stream stream;
  named_request asked;
  std::vector<std::chrono::microseconds> delivered;
  std::vector<flow::failure_record> failed;
  std::vector<std::string> failed_at;  // exchange/key of each of them
  std::vector<int> stuck;
  std::vector<int> changed;  // after they were sent

 private:
  flow::shared_request request_;
  void note(const flow::any_notice& what) {
    if (const auto* one = std::get_if<flow::notice::delivered>(&what)) delivered.push_back(one->after);
    if (const auto* one = std::get_if<flow::notice::stuck>(&what)) stuck.push_back(number_of(one->which.id));
    if (const auto* one = std::get_if<flow::notice::changed_after_send>(&what))
      changed.push_back(number_of(one->which.id));
    if (const auto* one = std::get_if<flow::notice::failed>(&what)) {
      failed.push_back(one->how);
      failed_at.push_back(fmt::format("{}/{}", one->to.exchange, one->to.routing_key));
    }
  }

  std::size_t told_ = 0;
};

}  // namespace outboxd::test
