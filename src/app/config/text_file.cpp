#include "app/config/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace outboxd::app {
namespace {

tl::unexpected<error> reason_now() {
  return permanent(std::generic_category().message(errno));
}

class descriptor {
 public:
  explicit descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

result<std::string> read_text_file(const std::string& path) {
  const descriptor file(path);
  if (file.number() < 0) return reason_now();
  std::string text;
  std::array<char, 4096> chunk{};
  for (;;) {
    const auto count = ::read(file.number(), chunk.data(), chunk.size());
    if (count == 0) return text;
    if (count > 0)
      text.append(chunk.data(), static_cast<std::size_t>(count));
    else if (errno != EINTR)
      return reason_now();
  }
}

}  // namespace outboxd::app
