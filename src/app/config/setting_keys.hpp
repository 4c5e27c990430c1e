// setting_keys: the list of all settings: key, default, and one line of help. Flags, file and environment
// follow from it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace outboxd::app {

enum class rank {
  common,    // many installations set it
  advanced,  // few need it: --help and --print-config name it when they are asked for all
  former,    // deprecated, and works for one release more
};

struct setting_key {
  std::string_view section;
  std::string_view name;
  std::string_view fallback;
  std::string_view help;
  bool secret = false;  // may also come from a file: <key>_file

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
        "a program, by its absolute path, and its arguments: it prints the password for each connection"},
    setting_key{"amqp", "url", "amqp://localhost",
                "amqp://user:password@host:5672/vhost, or amqps://; a list is tried in turn", true},
    setting_key{
        "amqp", "password_command", "",
        "a program, by its absolute path, and its arguments: it prints the password for each connection"},
    setting_key{"amqp", "declare", "true", "declare the exchange outbox (topic, durable): true or false"},
    setting_key{"amqp", "heartbeat", "10s", "AMQP heartbeat; a silent broker is given up after two of them"},
    setting_key{"amqp", "confirm_timeout", "10s",
                "an event that is not confirmed for this long backs off; without any confirm the connection "
                "is dropped"},
    setting_key{"amqp", "max_message_size", "128MiB",
                "an event with a larger payload is dead; the broker's max_message_size, or less"},
    setting_key{
        "amqp", "management_url", "",
        "http://user:password@host:15672 or https://, RabbitMQ's management API, which outboxd check asks",
        true},
    setting_key{"amqp", "auth", "plain",
                "login by user and password of the URL, or by amqp.tls.certificate_file: plain or external"},
    setting_key{"amqp.tls", "ca_file", "",
                "PEM file of the CAs that may sign the broker's certificate; empty: those of the system"},
    setting_key{"amqp.tls", "certificate_file", "", "PEM file of our certificate, for amqps://"},
    setting_key{"amqp.tls", "key_file", "", "PEM file of its private key, without a passphrase"},
    setting_key{"amqp.tls", "verify", "full",
                "what is verified of the broker's certificate: full, ca (not its host) or none"},
    setting_key{"outbox", "schema", "outbox", "schema of the outbox"},
    setting_key{"relay", "lanes", "2", "AMQP connections"},
    setting_key{
        "relay", "batch_bytes", "8MB",
        "most payload bytes in one read, one event at least; at most four times as many are in memory"},
    setting_key{"relay", "batch", "", "most events in one read; empty: one for each 5.3 kB of batch_bytes"},
    setting_key{"relay", "sweep_interval", "1s", "how often the table is read without a notification"},
    setting_key{"relay", "claim_timeout", "10s",
                "a leader that hangs this long loses the lead; above sweep_interval"},
    setting_key{"relay", "standby_interval", "100ms",
                "how often a standby asks for the lead; at most a quarter of claim_timeout"},
    setting_key{"relay", "shutdown_grace", "10s", "how long a stop waits for outstanding confirms"},
    setting_key{"relay", "clock_tolerance", "5s",
                "an event due within so long of its insert goes at once, in order"},
    setting_key{"relay", "order", "strict",
                "strict: one unconfirmed event of an aggregate; pipelined: no limit"},
    setting_key{"relay", "max_rate", "0", "most messages a second that this relay sends; 0: no limit"},
    setting_key{"relay", "after_dead", "continue",
                "what becomes of an aggregate with a dead event: continue or hold"},
    setting_key{"relay", "after_publish", "keep", "what becomes of a published event: keep or delete"},
    setting_key{"retention", "published", "7d",
                "published events are deleted after so long; 0s: at once; never: by hand alone"},
    setting_key{"retention", "processed", "never",
                "consumers' records of processed events are deleted after so long; never: by hand alone"},
    setting_key{
        "retry", "schedule", "",
        "delays after each failed attempt, such as 1s,10s,1m; dead after the last; instead of base, cap, "
        "max_attempts"},
    setting_key{"retry", "base", "1s",
                "longest delay after the first failed attempt, doubled with each; jittered"},
    setting_key{"retry", "cap", "5m", "the longest that delay grows to"},
    setting_key{"retry", "max_attempts", "20", "an event is dead after so many failed attempts"},
    setting_key{"retry", "give_up_after", "24h",
                "an event that its destination does not take for so long is dead; never: it waits"},
    setting_key{"dead_letter", "exchange", "", "an exchange to which dead events are published as well"},
    setting_key{"cloudevents", "source", "urn:outboxd",
                "the attribute source of CloudEvents: a URI, or a reference to one"},
    setting_key{"cloudevents", "header_prefix", "cloudEvents_",
                "before the names of attributes that are headers: cloudEvents_, cloudEvents: or ce-"},
    setting_key{"http", "listen", "127.0.0.1:9464",
                "health, readiness and metrics: IP:PORT, unix:/path, a list of such, or off"},
    setting_key{"http", "allowed_hosts", "",
                "host names under which it is asked, beside IP addresses and localhost; * for every name"},
    setting_key{"console", "listen", "127.0.0.1:9465",
                "where outboxd console serves its page: IP:PORT, unix:/path, a list of such, or off"},
    setting_key{"console", "access", "read", "what the console lets anybody do: off, read or act"},
    setting_key{"console", "payloads", "act",
                "who sees the payload of an event when he asks for it: off, those who may read, or act"},
    setting_key{"console", "read_token", "", "who has it may look; empty: see console.listen", true},
    setting_key{"console", "act_token", "", "who has it may look and act", true},
    setting_key{"console", "public_url", "",
                "the console as browsers see it behind a proxy, such as https://ops.example/outbox"},
    setting_key{"console", "proxy_header", "",
                "a header in which a proxy tells who asks, such as X-Remote-User; needs proxy_addresses"},
    setting_key{"console", "proxy_addresses", "", "the IP addresses of the proxies that are believed"},
    setting_key{"console", "act_users", "", "of those that the proxy names, who may act; * for everybody"},
    setting_key{"console", "relay_urls", "",
                "URLs of relays whose status is shown; empty: the one at http.listen, if it answers"},
    setting_key{"log", "level", "info", "trace, debug, info, warn, error or off"},
    setting_key{"log", "format", "text", "text or json"},
};

// What most installations set, beside routes.
inline constexpr std::array<std::string_view, 7> common_settings{
    "database.url",        "amqp.url",    "relay.order", "retention.published",
    "retry.give_up_after", "http.listen", "log.format"};

struct former_setting {
  std::string_view key;
  std::string_view instead;  // what to do
};
inline constexpr std::array former_settings{
    former_setting{"amqp.heartbeat", "remove it: the relay proposes 10s, and RabbitMQ may ask for less"},
    former_setting{"relay.batch", "set relay.batch_bytes, from which it follows"},
    former_setting{"relay.after_publish", "set retention.published = \"0s\", which deletes at once"},
    former_setting{"retry.schedule", "set retry.base, retry.cap and retry.max_attempts"},
};

// How a setting, or the file that holds a secret one, is spelled in the three places.
struct setting_names {
  std::string key;
  std::string flag;
  std::string environment;
};

bool is_section(std::string_view name);

// relay_batch_bytes → relay.batch_bytes, dead_letter_exchange → dead_letter.exchange. Of an unknown section
// the first word is taken.
std::string key_of_words(std::string_view words);

// What the misspelled key, or a key without its section, was probably meant to be; nothing if none is near.
// The configuration file has a flag and a variable and no key.
std::optional<setting_names> nearest_setting(std::string_view misspelled);

}  // namespace outboxd::app
