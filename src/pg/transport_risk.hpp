// transport_risk: the risks of the network between outboxd and PostgreSQL.
#pragma once

#include <optional>
#include <string>

namespace outboxd::pg {

// Why others may read or change a session's traffic; nullopt if the server is on this machine, or has proved
// its identity (libpq, "SSL Support", sslmode=verify-full). server: the result of connection::server().
std::optional<std::string> transport_risk(const std::string& server, bool encrypted,
                                          const std::string& sslmode);

// True if connection::server() is a Unix-domain socket or a loopback address.
bool on_this_machine(const std::string& server);

// The setting that removes the risk.
inline constexpr auto transport_remedy =
    "database.url: sslmode=verify-full&sslrootcert=FILE, with the server's ssl = on";

}  // namespace outboxd::pg
