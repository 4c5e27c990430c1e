#include "app/daemon/log.hpp"

#include <poll.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/iso8601.hpp"

namespace outboxd::app {
namespace {

// If poll() reports a pipe as writable, it accepts PIPE_BUF bytes without blocking (pipe(7)).
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

// Shortens texts that are too long, because a log collector can parse only a complete line.
void shorten(nlohmann::ordered_json& line, std::size_t most) {
  for (auto& [name, value] : line.items()) {
    if (!value.is_string()) continue;
    auto& text = value.get_ref<std::string&>();
    if (text.size() > most) text = text.substr(0, most) + "...";
  }
}

std::string text_of(const nlohmann::ordered_json& line) {
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

class json_formatter final : public spdlog::formatter {
 public:
  json_formatter(std::string outbox, std::shared_ptr<const log_fields*> beside)
      : outbox_(std::move(outbox)), beside_(std::move(beside)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    nlohmann::ordered_json line{
        {"time", to_iso8601(std::chrono::floor<std::chrono::microseconds>(message.time))},
        {"level", std::string(level.data(), level.size())},
        {"message", std::string(message.payload.data(), message.payload.size())},
    };
    if (!outbox_.empty()) line["outboxd.outbox"] = outbox_;
    if (*beside_ != nullptr)
      for (const log_field& one : **beside_)
        std::visit([&](const auto& value) { line[std::string(one.name)] = value; }, one.value);
    auto text = text_of(line);
    // A control character takes six bytes in JSON.
    for (const std::size_t most : {2'000U, 250U, 50U}) {
      if (text.size() <= longest_line) break;
      shorten(line, most);
      text = text_of(line);
    }
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<json_formatter>(outbox_, beside_);
  }

 private:
  std::string outbox_;
  std::shared_ptr<const log_fields*> beside_;
};

// `name` must not contain %.
std::unique_ptr<spdlog::formatter> text_formatter(const std::string& name) {
  return std::make_unique<spdlog::pattern_formatter>(
      "%Y-%m-%dT%H:%M:%S.%fZ %-7l " + (name.empty() ? "" : name + ": ") + "%v",
      spdlog::pattern_time_type::utc);
}

}  // namespace

logger::logger(const log_settings& settings, std::string outbox)
    : spdlog::logger("outboxd", std::make_shared<nonblocking_stderr>()),
      outbox_(std::move(outbox)),
      beside_(std::make_shared<const log_fields*>(nullptr)) {
  adopt(settings);
}

void logger::adopt(const log_settings& settings) {
  set_level(spdlog::level::from_str(settings.level == "error" ? "err" : settings.level));
  format_ = settings.format;
  format_lines();
}

void logger::of_outbox(std::string name) {
  outbox_ = std::move(name);
  format_lines();
}

void logger::format_lines() {
  switch (format_) {
    case log_format::json:
      set_formatter(std::make_unique<json_formatter>(outbox_, beside_));
      break;
    case log_format::text:
      set_formatter(text_formatter(outbox_));
      break;
  }
}

void logger::say(spdlog::level::level_enum level, std::string_view message, const log_fields& beside) {
  *beside_ = &beside;
  log(level, spdlog::string_view_t(message.data(), message.size()));
  *beside_ = nullptr;
}

std::shared_ptr<logger> make_logger(const log_settings& settings, std::string outbox) {
  return std::make_shared<logger>(settings, std::move(outbox));
}

}  // namespace outboxd::app
