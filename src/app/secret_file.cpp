#include "app/secret_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

namespace outboxd::app {

result<std::string> read_secret_file(const std::string& path) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  const auto unreadable = [&] {
    return permanent(
        fmt::format("cannot read the secret file {}; check that it exists, is a file and is readable", path));
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable();
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  } catch (const std::ios_base::failure&) {  // the buffer throws where read() fails: a directory, for one
    return unreadable();
  }
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
