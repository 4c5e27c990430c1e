// settings: the settings of a relay, which the program reads from files, the environment and flags. This
// header does not include Asio, so that code which only reads settings need not compile it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "amqp/greeting.hpp"
#include "amqp/tls_settings.hpp"
#include "flow/limits.hpp"
#include "pg/schema_name.hpp"
#include "relay/retention.hpp"
#include "relay/secret.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::relay {

struct postgres_settings {
  secret url;
  pg::schema_name schema;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds claim_timeout{10'000};  // a leader that hangs for this long loses the lead
  store::after_publish after_publish = store::after_publish::keep;
  std::chrono::milliseconds clock_tolerance = store::default_clock_tolerance;
};

struct leader_settings {
  postgres_settings database;
  flow::stream_limits stream;
  flow::doorbell_limits doorbell;
  std::chrono::milliseconds sweep_interval{1'000};
  std::chrono::milliseconds standby_interval{100};
};

struct rabbitmq_settings {
  std::vector<secret> urls;  // tried one after another
  std::string connection_name = "outboxd";
  std::chrono::seconds heartbeat{10};
  std::chrono::milliseconds connect_timeout{10'000};
  std::vector<std::string> declare_exchanges;  // exchanges to create as durable topic exchanges
  std::size_t max_message_size = 134'217'728;  // bytes of a body
  std::size_t max_unconfirmed = 4096;
  std::size_t max_buffered = 65'536;  // bytes
  amqp::login_by login = amqp::login_by::plain;
  amqp::tls_settings tls;
};

struct relay_settings {
  leader_settings leader;
  rabbitmq_settings broker;
  flow::lane_limits lane;
  int lanes = 2;
  std::int64_t max_rate = 0;  // messages per second; 0: no limit
  bool samples_table = true;  // true if the metrics are exposed
  retention_settings keep{};
  std::chrono::milliseconds shutdown_grace{10'000};
};

// Returns the age limits for deleting rows. If retention.published = 0s, published events are deleted at
// once, so they need no age limit.
retention_settings retention_of(const relay_settings& from);

}  // namespace outboxd::relay
