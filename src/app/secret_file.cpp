#include "app/secret_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "app/text_file.hpp"

namespace outboxd::app {

result<std::string> read_secret_file(const std::string& path) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  auto read = read_text_file(path);
  if (!read) return permanent(fmt::format("cannot read the secret file {}: {}", path, read.error().message));
  std::string text = std::move(*read);
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) return permanent(fmt::format("the secret file {} is empty", path));
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
