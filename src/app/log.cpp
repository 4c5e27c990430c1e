#include "app/log.hpp"

#include <poll.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/envelope.hpp"

namespace outboxd::app {
namespace {

// A pipe that poll() calls writable takes PIPE_BUF bytes at once without blocking (pipe(7)).
constexpr std::size_t longest_line = 4096;

class nonblocking_stderr final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (line.size() > longest_line) {
      line.resize(longest_line);
      line[longest_line - 1] = '\n';
    }
    if (!write(line.data(), line.size())) ++dropped_;
  }

  void flush_() override {}

 private:
  bool write(const char* data, std::size_t size) {
    pollfd out{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0) return false;
    if (dropped_ > 0) {
      const auto note = fmt::format("({} log lines lost: nobody read them)\n", dropped_);
      if (::write(STDERR_FILENO, note.data(), note.size()) < 0) return false;
      dropped_ = 0;
      if (::poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0) return false;
    }
    return ::write(STDERR_FILENO, data, size) >= 0;
  }

  std::size_t dropped_ = 0;
};

class json_formatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    const nlohmann::ordered_json line{
        {"time", to_iso8601(std::chrono::floor<std::chrono::microseconds>(message.time))},
        {"level", std::string(level.data(), level.size())},
        {"message", std::string(message.payload.data(), message.payload.size())},
    };
    const auto text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<json_formatter>(); }
};

}  // namespace

std::shared_ptr<spdlog::logger> make_logger(const log_settings& settings) {
  auto logger = std::make_shared<spdlog::logger>("outboxd", std::make_shared<nonblocking_stderr>());
  logger->set_level(spdlog::level::from_str(settings.level == "error" ? "err" : settings.level));
  switch (settings.format) {
    case log_format::json:
      logger->set_formatter(std::make_unique<json_formatter>());
      break;
    case log_format::text:
      logger->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%fZ %-7l %v",
                                                                        spdlog::pattern_time_type::utc));
      break;
  }
  return logger;
}

}  // namespace outboxd::app
