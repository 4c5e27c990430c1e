// private_server: setpriv, mkdtemp, bind.
#include "private_server.hpp"

#include <arpa/inet.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "support/loopback.hpp"

namespace outboxd::test {
namespace {

constexpr auto user = "postgres";

bool is_root() {
  return ::geteuid() == 0;
}

void give_away(const std::string& path) {
  if (!is_root()) return;
  const passwd* const owner = ::getpwnam(user);
  if (owner == nullptr || ::chown(path.c_str(), owner->pw_uid, owner->pw_gid) != 0)
    throw std::runtime_error{"cannot give " + path + " to the user postgres"};
}

bool is_free(int port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = loopback(static_cast<std::uint16_t>(port));
  const bool bound = ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(descriptor);
  return bound;
}

}  // namespace

process_options as_server_user(const std::string& program, const std::vector<std::string>& words) {
  process_options how{.program = "setpriv",
                      .arguments = {"--pdeathsig", "KILL"},
                      .environment = {{"LC_ALL", "C"}},
                      .log_file = {}};
  if (is_root())
    how.arguments.insert(how.arguments.end(),
                         {std::string("--reuid=") + user, std::string("--regid=") + user, "--init-groups"});
  how.arguments.insert(how.arguments.end(), {"--", program});
  how.arguments.insert(how.arguments.end(), words.begin(), words.end());
  return how;
}

server_directory::server_directory() : path_{"/tmp/outboxd-test-XXXXXX"} {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error{"cannot create a directory in /tmp"};
  give_away(path_);
}

server_directory::~server_directory() {
  // A server that was killed a moment ago may still write.
  std::error_code failed;
  for (int i = 0; i < 100 && std::filesystem::exists(path_, failed); ++i)
    std::filesystem::remove_all(path_, failed);
}

std::string server_directory::write(const std::string& name, const std::string& text) const {
  const auto path = path_ + "/" + name;
  std::ofstream{path} << text;
  ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
  give_away(path);
  return path;
}

// Below the range from which the kernel takes ports for outgoing connections.
int free_port() {
  std::random_device random;
  std::uniform_int_distribution<int> ports{20'000, 31'999};
  for (int i = 0; i < 1000; ++i)
    if (const int port = ports(random); is_free(port)) return port;
  throw std::runtime_error{"found no free TCP port"};
}

}  // namespace outboxd::test
