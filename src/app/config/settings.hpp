// settings: what the settings mean, checked: types, ranges, and those that have to fit together.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/config/console_settings.hpp"
#include "app/config/raw_settings.hpp"
#include "core/error.hpp"
#include "http/address.hpp"
#include "http/allowed_hosts.hpp"
#include "http/url.hpp"
#include "relay/settings.hpp"

namespace outboxd::app {

enum class log_format { text, json };

struct log_settings {
  std::string level = "info";
  log_format format = log_format::text;
};

struct http_settings {
  std::vector<http::address> listen;  // empty: off
  http::allowed_hosts hosts;
  std::vector<std::string> ready_requires;  // outboxes; empty: any one of them
};

struct settings {
  std::string outbox;  // its name, if several are configured
  relay::relay_settings relay;
  http_settings http;
  console_settings console;
  log_settings log;
  std::optional<http::url> otlp{};  // the collector of spans; nullopt: there is none
  // The management API, for check; read anew each time, as any secret. Empty: there is none.
  std::function<result<http::url>()> management_url;
  std::int64_t total_bytes = 0;       // limit of payloads in memory for all outboxes of a process
  raw_settings raw;                   // the texts and their origins
  std::vector<std::string> sources;   // where any of them came from: a file, the environment, flags
  std::vector<std::string> warnings;  // not wrong, but worth a line in the log
};

// What the settings are read for: a migration, like an operator's command, needs no broker, and leaves its
// URL alone. Asking a relay for its health needs neither server. Only the console reads its secrets.
enum class purpose { relay, migration, health, console };

// Defaults fill in what is missing. An error names the key, the value, where it came from and what is
// allowed; the value of a secret is not shown.
result<settings> read_settings(const raw_settings& raw, purpose what_for = purpose::relay);

// Lowers relay.batch_bytes so that a relay holds at most `bytes` of payloads.
void limit_memory(relay::relay_settings& of, std::int64_t bytes);

}  // namespace outboxd::app
