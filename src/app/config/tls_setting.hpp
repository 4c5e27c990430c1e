// tls_setting: the settings of TLS to RabbitMQ and of the login by certificate.
#pragma once

#include "app/config/setting_reader.hpp"
#include "app/config/settings.hpp"

namespace outboxd::app {

// After the URLs of the broker, which say whether there is TLS. Its files are tried now, and read again for
// each connection.
void read_broker_tls(setting_reader& from, settings& out);

}  // namespace outboxd::app
