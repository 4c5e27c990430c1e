// transport_risk: what the network between us and PostgreSQL can do.
#pragma once

#include <optional>
#include <string>

namespace outboxd::pg {

// Why others may read or change what a session says; none when the server is on this machine, or when it has
// proven to be the one that was asked for (libpq, "SSL Support", sslmode=verify-full). server: as
// connection::server() has it.
std::optional<std::string> transport_risk(const std::string& server, bool encrypted,
                                          const std::string& sslmode);

// Whether what connection::server() says is a socket file or a loopback address.
bool on_this_machine(const std::string& server);

// What to set against that risk.
inline constexpr auto transport_remedy =
    "database.url: sslmode=verify-full&sslrootcert=FILE, with the server's ssl = on";

}  // namespace outboxd::pg
