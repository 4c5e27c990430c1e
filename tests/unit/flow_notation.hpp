// flow_notation: events and batches as words: "a3" has seq 3 and belongs to aggregate a; "a3<1" is claimed behind event 1;
// "a3!" cannot be encoded; "a3^2" has failed twice; "+waits", "+more", "+full" and "+unsure" (whether it is complete) are what the claim says of its shards.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "relay/outbox.hpp"

namespace outboxd::test {

inline std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

inline std::string join(const std::vector<std::string>& parts, const char* with) {
  return fmt::format("{}", fmt::join(parts, with));
}

inline event_id id_of(std::int64_t seq) {
  event_id id;
  for (std::size_t i = 0; i < 8; ++i) id.bytes[15 - i] = static_cast<std::uint8_t>(seq >> (8 * i));
  return id;
}

inline std::int64_t seq_of(const event_id& id) {
  std::int64_t seq = 0;
  for (std::size_t i = 8; i < 16; ++i) seq = seq << 8 | id.bytes[i];
  return seq;
}

// "a1 b2<1 +waits" as a claimed batch.
inline batch batch_of(const std::vector<std::string>& words) {
  const auto names = std::make_shared<std::deque<std::string>>();
  batch out;
  bool waits = false;
  bool unsure = false;
  for (const std::string& word : words) {
    if (word[0] == '+') {
      (word == "+waits" ? waits : word == "+more" ? out.more : word == "+full" ? out.full : unsure) = true;
      continue;
    }
    const auto behind = word.find('<');
    event one;
    one.seq = std::stoll(word.substr(1));
    one.id = id_of(one.seq);
    one.aggregate_type = "t";
    one.aggregate_id = names->emplace_back(word.substr(0, 1));
    one.event_type = word.back() == '!' ? "unencodable" : "t.happened";
    if (const auto attempts = word.find('^'); attempts != std::string::npos)
      one.attempts = std::stoi(word.substr(attempts + 1));
    if (behind != std::string::npos) one.behind = std::stoll(word.substr(behind + 1));
    out.events.push_back(one);
  }
  for (event& one : out.events) one.has_followers = waits;
  out.complete = !out.more && !out.full && !unsure;
  out.storage = names;
  return out;
}

// "a1 ok, b2 behind 1, c3 failed, d4 later, e5 dead, free 1": failed costs an attempt, later does not.
inline std::string to_words(const relay::settlement& what, const batch& of) {
  const auto name_of = [&](const event_id& id) {
    for (const event& one : of.events)
      if (one.id == id) return fmt::format("{}{}", one.aggregate_id, one.seq);
    return std::string("unknown");
  };
  const auto fate_of = [](const relay::setback& one) -> std::string {
    switch (one.what) {
      case relay::setback::kind::backing_off:
        return one.counts_attempt ? "failed" : "later";
      case relay::setback::kind::behind:
        return fmt::format("behind {}", one.behind.value_or(-1));
      case relay::setback::kind::dead:
        return "dead";
    }
    return "?";
  };
  std::vector<std::string> parts;
  for (const event_id& id : what.published) parts.push_back(name_of(id) + " ok");
  for (const relay::setback& one : what.set_back) parts.push_back(name_of(one.id) + " " + fate_of(one));
  for (const std::int64_t seq : what.released) parts.push_back(fmt::format("free {}", seq));
  return parts.empty() ? "nothing" : join(parts, ", ");
}

}  // namespace outboxd::test
