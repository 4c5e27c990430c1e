// setting_keys: the list of all settings, with key, default and one line of help. Flags, file keys and
// environment variables are derived from it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace outboxd::app {

enum class rank {
  common,      // many installations set this setting
  advanced,    // few installations set this setting; `help settings` and `--print-config --all` list it
  deprecated,  // the setting works for one more release
};

struct setting_key {
  std::string_view section;
  std::string_view name;
  std::string_view fallback;
  std::string_view help;
  bool secret = false;  // the setting may also come from a file: <key>_file

  rank how() const;

  std::string key() const;          // relay.batch_bytes, amqp.tls.ca_file
  std::string flag() const;         // --relay-batch-bytes, --amqp-tls-ca-file
  std::string environment() const;  // OUTBOXD_RELAY_BATCH_BYTES, OUTBOXD_AMQP_TLS_CA_FILE
};

inline constexpr std::array setting_keys{
    setting_key{"database", "url", "",
                "postgresql://user@host/database or key=value; empty: libpq's PG* variables", true},
    setting_key{
        "database", "password_command", "",
        "absolute path and arguments of a program that prints the password; it is run for each connection"},
    setting_key{"amqp", "url", "amqp://localhost",
                "amqp://user:password@host:5672/vhost, or amqps://; a list is tried in turn", true},
    setting_key{
        "amqp", "password_command", "",
        "absolute path and arguments of a program that prints the password; it is run for each connection"},
    setting_key{"amqp", "declare", "true", "declare the exchange outbox (topic, durable): true or false"},
    setting_key{"amqp", "heartbeat", "10s",
                "AMQP heartbeat; the connection is dropped after two intervals of silence"},
    setting_key{
        "amqp", "confirm_timeout", "10s",
        "an event without a confirm for this long backs off; without any confirm, the connection is dropped"},
    setting_key{"amqp", "max_message_size", "128MiB",
                "an event with a larger payload is dead; the broker's max_message_size, or less"},
    setting_key{"amqp", "management_url", "",
                "http://user:password@host:15672 or https://: RabbitMQ's management API, for outboxd check",
                true},
    setting_key{
        "amqp", "auth", "plain",
        "how to log in: plain (user and password of the URL) or external (amqp.tls.certificate_file)"},
    setting_key{"amqp.tls", "ca_file", "",
                "PEM file of the CAs that may sign the broker's certificate; empty: the system's CAs"},
    setting_key{"amqp.tls", "certificate_file", "", "PEM file of the client certificate, for amqps://"},
    setting_key{"amqp.tls", "key_file", "", "PEM file of its private key, without a passphrase"},
    setting_key{"amqp.tls", "verify", "full",
                "how to verify the broker's certificate: full, ca (but not its host) or none"},
    setting_key{"outbox", "schema", "outbox", "schema of the outbox"},
    setting_key{"relay", "lanes", "2", "AMQP connections"},
    setting_key{"relay", "batch_bytes", "8MB",
                "most payload bytes per read, but at least one event; memory holds up to four times as many"},
    setting_key{"relay", "batch", "", "most events per read; empty: one for each 5.3 kB of batch_bytes"},
    setting_key{"relay", "total_bytes", "1GiB",
                "most payload bytes in memory for all outboxes of a process; each gets an equal share"},
    setting_key{"relay", "sweep_interval", "1s", "how often the leader polls without a notification"},
    setting_key{"relay", "claim_timeout", "10s",
                "a leader that hangs this long is replaced; above sweep_interval"},
    setting_key{"relay", "standby_interval", "100ms",
                "how often a standby tries to lead; at most a quarter of claim_timeout"},
    setting_key{"relay", "shutdown_grace", "10s", "how long a stop waits for outstanding confirms"},
    setting_key{"relay", "clock_tolerance", "5s",
                "an event that is due this soon after its insert is sent at once, in order"},
    setting_key{"relay", "order", "strict",
                "strict: one unconfirmed event per aggregate; pipelined: no limit"},
    setting_key{"relay", "max_rate", "0", "most messages per second that this relay sends; 0: no limit"},
    setting_key{"relay", "after_dead", "continue",
                "what happens to an aggregate with a dead event: continue or hold"},
    setting_key{"relay", "after_publish", "keep", "what happens to a published event: keep or delete"},
    setting_key{"retention", "published", "7d",
                "published events are deleted after this time; 0s: at once; never: only by hand"},
    setting_key{"retention", "processed", "never",
                "consumers' records of processed events are deleted after this time; never: only by hand"},
    setting_key{
        "retry", "schedule", "",
        "delays after each failed attempt, such as 1s,10s,1m; dead after the last; instead of base, cap, "
        "max_attempts"},
    setting_key{"retry", "base", "1s",
                "longest delay after the first failed attempt; doubles with each attempt; jittered"},
    setting_key{"retry", "cap", "5m", "longest delay that later attempts reach"},
    setting_key{"retry", "max_attempts", "20", "an event is dead after this many failed attempts"},
    setting_key{"retry", "give_up_after", "24h",
                "an event is dead when its destination has not accepted it for this long; never: it waits"},
    setting_key{"dead_letter", "exchange", "", "exchange that gets a copy of each dead event"},
    setting_key{"cloudevents", "source", "urn:outboxd",
                "the attribute source of CloudEvents: a URI, or a reference to one"},
    setting_key{"cloudevents", "header_prefix", "cloudEvents_",
                "prefix of attributes that are headers: cloudEvents_, cloudEvents: or ce-"},
    setting_key{"http", "listen", "127.0.0.1:9464",
                "health, readiness and metrics: IP:PORT, unix:/path, a list of these, or off"},
    setting_key{"http", "allowed_hosts", "",
                "host names that requests may use, besides IP addresses and local names; * for every name"},
    setting_key{"http", "ready_requires", "",
                "outboxes that have to be ready for /readyz to answer 200; empty: any one of them"},
    setting_key{
        "otlp", "endpoint", "",
        "http://host:4318 or https://: collector that gets a span of each published event; empty: off"},
    setting_key{"console", "listen", "127.0.0.1:9465",
                "where outboxd console serves its page: IP:PORT, unix:/path, a list of these, or off"},
    setting_key{"console", "access", "read", "what the console allows: off, read or act"},
    setting_key{"console", "payloads", "act",
                "who may see the payload of an event: off (nobody), read or act"},
    setting_key{"console", "read_token", "", "token that permits looking; empty: see console.listen", true},
    setting_key{"console", "act_token", "", "token that permits looking and acting", true},
    setting_key{"console", "public_url", "",
                "the console as browsers see it behind a proxy, such as https://ops.example/outbox"},
    setting_key{"console", "proxy_header", "",
                "header in which a proxy names the user, such as X-Remote-User; needs proxy_addresses"},
    setting_key{"console", "proxy_addresses", "", "IP addresses of trusted proxies"},
    setting_key{"console", "act_users", "", "users named by the proxy who may act; * for everybody"},
    setting_key{"console", "relay_urls", "",
                "URLs of relays whose status is shown; empty: the relay at http.listen, if it answers"},
    setting_key{"log", "level", "info", "trace, debug, info, warn, error or off"},
    setting_key{"log", "format", "text", "text or json"},
};

// The settings, besides routes, that most installations set.
inline constexpr std::array<std::string_view, 7> common_settings{
    "database.url",        "amqp.url",    "relay.order", "retention.published",
    "retry.give_up_after", "http.listen", "log.format"};

struct deprecated_setting {
  std::string_view key;
  std::string_view instead;  // the replacement that the error message suggests
};
inline constexpr std::array deprecated_settings{
    deprecated_setting{"amqp.heartbeat", "remove it: the relay proposes 10s, and RabbitMQ may ask for less"},
    deprecated_setting{"relay.batch", "set relay.batch_bytes, from which it follows"},
    deprecated_setting{"relay.after_publish", "set retention.published = \"0s\", which deletes at once"},
    deprecated_setting{"retry.schedule", "set retry.base, retry.cap and retry.max_attempts"},
};

// The three names of a setting, or of the setting that names a secret's file.
struct setting_names {
  std::string key;
  std::string flag;
  std::string environment;
};

bool is_section(std::string_view name);

// relay_batch_bytes → relay.batch_bytes, dead_letter_exchange → dead_letter.exchange. If the section is
// unknown, the first word is taken as the section.
std::string key_of_words(std::string_view words);

// Returns the setting that a misspelled key, or a key without its section, probably means; nullopt if no name
// is close. The setting that names the configuration file has a flag and a variable, but no key.
std::optional<setting_names> nearest_setting(std::string_view misspelled);

}  // namespace outboxd::app
