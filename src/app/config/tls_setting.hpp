// tls_setting: the settings for TLS connections to RabbitMQ and for certificate authentication.
#pragma once

#include "app/config/setting_reader.hpp"
#include "app/config/settings.hpp"

namespace outboxd::app {

// Must be called after the broker's URLs are read, because their scheme selects TLS. Checks that the files
// can be loaded; each connection loads them again.
void read_broker_tls(setting_reader& from, settings& out);

}  // namespace outboxd::app
