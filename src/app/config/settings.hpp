// settings: the typed, validated settings.
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
  std::vector<http::address> listen;  // the addresses to listen on; empty: no HTTP server
  http::allowed_hosts hosts;
  std::vector<std::string> ready_requires;  // outboxes that readiness requires; empty: any one of them
};

struct settings {
  std::string outbox;  // the outbox's name, if several are configured
  relay::relay_settings relay;
  http_settings http;
  console_settings console;
  log_settings log;
  std::optional<http::url> otlp{};  // the collector of spans; nullopt: none
  // Reads the URL of the management API, for `check`, each time. A null function means that none is set.
  std::function<result<http::url>()> management_url;
  std::int64_t total_bytes = 0;       // limit of payloads in memory for all outboxes of a process
  raw_settings raw;                   // the texts and their origins
  std::vector<std::string> sources;   // where the settings came from: files, the environment, flags
  std::vector<std::string> warnings;  // valid but suspicious settings, for the log
};

// Why the settings are read. A migration or an operator's command needs no broker, so the broker's URL is not
// read. A health check needs neither server. Only the console reads the console's secrets.
enum class purpose { relay, migration, health, console };

// Uses defaults for missing settings. Errors name the key, the value, its origin and the allowed values; the
// value of a secret is never shown.
result<settings> read_settings(const raw_settings& raw, purpose what_for = purpose::relay);

// Lowers relay.batch_bytes so that a relay holds at most `bytes` of payloads.
void limit_memory(relay::relay_settings& of, std::int64_t bytes);

}  // namespace outboxd::app
