// private_server: setpriv and mkdtemp.
#include "private_server.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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

server_directory::server_directory()
    : path_{(std::filesystem::temp_directory_path() / "outboxd-test-XXXXXX").string()} {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error{"cannot create " + path_};
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

}  // namespace outboxd::test
