// pooler: pgbouncer.ini, and pgbouncer in the foreground.
#include "pooler.hpp"

namespace outboxd::test {
namespace {

// auth_type = any: whoever comes is the administrator on the server.
std::string configuration(const std::string& mode, int port) {
  const auto admin = required_environment("OUTBOXD_DATABASE_URL");
  const auto user = admin.find("://") + 3;
  const auto colon = admin.find(':', user);
  const auto at = admin.find('@', colon);
  return fmt::format(
      "[databases]\n"
      "* = host=127.0.0.1 port={} user={} password={}\n"
      "[pgbouncer]\n"
      "listen_addr = 127.0.0.1\n"
      "listen_port = {}\n"
      "unix_socket_dir =\n"
      "auth_type = any\n"
      "pool_mode = {}\n",
      required_environment("OUTBOXD_TEST_PGPORT"), admin.substr(user, colon - user),
      admin.substr(colon + 1, at - colon - 1), port, mode);
}

}  // namespace

pooler::pooler(const std::string& mode)
    : port_{free_port()},
      server_{as_server_user("/usr/sbin/pgbouncer",
                             {directory_.write("pgbouncer.ini", configuration(mode, port_))})} {
  server_.wait_line("process up", time_limit);
}

std::string pooler::url(const stage& on) const {
  return fmt::format("postgresql://relay@127.0.0.1:{}/{}", port_, on.database_name());
}

}  // namespace outboxd::test
