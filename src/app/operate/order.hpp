// order: what is to become of which events, and what is to be paused: as the command line or the console asks
// for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/operate/selection.hpp"

namespace outboxd::app {

// What `events edit` writes into each event; nothing: it stays as it is.
struct event_edit {
  std::optional<std::string> payload_file;
  std::optional<std::string> headers_file;
  std::optional<std::string> payload;  // from the console, which reads no file
  std::optional<std::string> headers;
  std::optional<std::string> event_type;
  std::optional<std::string> exchange;
  std::optional<std::string> routing_key;
  bool by_route = false;  // exchange and routing key come from routing again
  bool retry = false;     // dead events, which are retried then; else what has not been sent
};

enum class change { retry, discard, replay, cancel, postpone, edit, edit_dead };

struct change_order {
  selectors which{};
  std::optional<std::string> reason{};  // for outbox.audit
  // Of replay alone.
  std::optional<std::int64_t> rate{};     // most events in a second
  std::optional<std::string> exchange{};  // instead of the events' own, also empty
  std::optional<std::string> routing_key{};
  std::optional<std::string> to{};  // of postpone alone: a time, or how long
  event_edit edit{};                // of edit alone
};

inline constexpr std::int64_t highest_rate = 1'000'000;

// The error names the flag and what is allowed.
result<void> check_order(change what, const change_order& given);

struct pause_order {
  std::vector<std::string> event_types{};
  std::vector<std::string> aggregate_types{};
  std::vector<std::string> exchanges{};  // globs, as are the next
  std::vector<std::string> routing_keys{};
  bool all = false;
  std::optional<std::string> until{};   // of a pause alone
  std::optional<std::string> reason{};  // for outbox.audit

  bool narrowed() const {
    return !event_types.empty() || !aggregate_types.empty() || !exchanges.empty() || !routing_keys.empty();
  }
};

// `command`: pause or resume.
result<void> check_order(std::string_view command, const pause_order& given);

}  // namespace outboxd::app
