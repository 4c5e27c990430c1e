#include "app/config/secret_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "app/config/text_file.hpp"

namespace outboxd::app {

namespace {

// Returns what is wrong with the file before it is read; empty if nothing is.
std::string wrong_with_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode))
    return fmt::format("the secret file {} is a directory; name the file in it that holds the URL", path);
  return {};
}

std::string_view remedy_of(int reason) {
  switch (reason) {
    case EACCES:
      return "; give it, and the directories above it, to outboxd's user";
    case ENOENT:
    case ENOTDIR:
      return "; write the URL into it, or name another one";
    default:
      return "";
  }
}

}  // namespace

result<std::string> read_secret_file(const std::string& path) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (const auto wrong = wrong_with_file(path); !wrong.empty()) return permanent(wrong);
  auto read = read_text_file(path);
  const int reason = errno;
  if (!read)
    return permanent(
        fmt::format("cannot read the secret file {}: {}{}", path, read.error().message, remedy_of(reason)));
  std::string text = std::move(*read);
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) return permanent(fmt::format("the secret file {} is empty; write the URL into it", path));
  if (text.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos)
    return permanent(
        fmt::format("the secret file {} has more than one line; it has to hold the URL alone", path));
  return text;
}

bool is_world_readable(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0;
}

}  // namespace outboxd::app
