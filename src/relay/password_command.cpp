#include "relay/password_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <system_error>
#include <utility>

namespace outboxd::relay {
namespace asio = boost::asio;
namespace {

using namespace std::chrono_literals;
constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

// A program usually exits right after its last output.
constexpr auto poll_interval = 2ms;
// A process that survives even SIGKILL is abandoned.
constexpr int polls_after_kill = 500;

std::string words_of(int system_error) {
  return std::generic_category().message(system_error);
}

class spawn_actions {
 public:
  // The program writes its output to `out` and inherits no other descriptors.
  explicit spawn_actions(int out) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_adddup2(&files_, out, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_init(&how_);
    ::posix_spawnattr_setflags(&how_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    ::posix_spawnattr_setsigdefault(&how_, &all);
    ::posix_spawnattr_setsigmask(&how_, &none);
  }
  ~spawn_actions() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&how_);
  }
  spawn_actions(const spawn_actions&) = delete;
  spawn_actions& operator=(const spawn_actions&) = delete;

  // Returns 0, or the system error.
  int spawn(pid_t& pid, const std::vector<std::string>& words) const {
    std::vector<char*> arguments;
    for (const auto& one : words)
      arguments.push_back(const_cast<char*>(one.c_str()));  // NOLINT: required by POSIX
    arguments.push_back(nullptr);
    return ::posix_spawn(&pid, arguments.front(), &files_, &how_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t how_{};
};

}  // namespace

// A running process; the destructor kills it.
class password_command::child {
 public:
  enum class cut { none, late, too_long, stopped };

  explicit child(const asio::any_io_executor& on) : pipe_(on), limit_(on), poll_(on) {}
  ~child() { kill(); }
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  // Returns 0, or the system error.
  int start(const std::vector<std::string>& words) {
    ::signal(SIGCHLD,
             SIG_DFL);  // if it was inherited as ignored, the exit status would be lost
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
    pipe_.assign(ends[0]);
    const int failed = spawn_actions(ends[1]).spawn(pid_, words);
    ::close(ends[1]);
    if (failed != 0) pid_ = 0;
    return failed;
  }

  static asio::awaitable<std::string> read(std::shared_ptr<child> self, std::size_t most) {
    std::string output;
    std::array<char, 4096> chunk{};
    while (self->cut_ == cut::none) {
      const auto [ec, got] = co_await self->pipe_.async_read_some(asio::buffer(chunk), as_result);
      output.append(chunk.data(), got);
      if (output.size() > most) self->end(cut::too_long);
      if (ec) break;
    }
    co_return output;
  }

  // Returns the status from waitpid; nullopt if it is not available.
  static asio::awaitable<std::optional<int>> wait(std::shared_ptr<child> self) {
    for (int after_kill = 0; after_kill < polls_after_kill;) {
      int status = 0;
      const auto ended = ::waitpid(self->pid_, &status, WNOHANG);
      if (ended != 0) self->pid_ = 0;
      if (ended > 0) co_return status;
      if (ended < 0) break;
      if (self->cut_ != cut::none) ++after_kill;
      self->poll_.expires_after(poll_interval);
      co_await self->poll_.async_wait(as_result);
    }
    co_return std::nullopt;
  }

  static void limit(const std::shared_ptr<child>& self, std::chrono::milliseconds time) {
    self->limit_.expires_after(time);
    self->limit_.async_wait([weak = std::weak_ptr(self)](const boost::system::error_code& cancelled) {
      const auto still = weak.lock();
      if (still && !cancelled) still->end(cut::late);
    });
  }

  void end(cut why) {
    if (cut_ == cut::none) cut_ = why;
    kill();
    boost::system::error_code ignored;
    pipe_.cancel(ignored);  // a child of the program may still have the other end open
  }

  cut why() const { return cut_; }

 private:
  void kill() const {
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
  }

  asio::posix::stream_descriptor pipe_;
  asio::steady_timer limit_;
  asio::steady_timer poll_;
  pid_t pid_ = 0;  // 0: no process to kill
  cut cut_ = cut::none;
};

password_command::password_command(std::string setting, std::vector<std::string> words, command_limits limits)
    : setting_(std::move(setting)), words_(std::move(words)), limits_(limits) {}

password_command::~password_command() = default;

std::string password_command::called() const {
  return fmt::format("{}: {}", setting_, words_.front());
}

asio::awaitable<result<std::string>> password_command::run() {
  if (stopped_) co_return transient(fmt::format("{} is not run any more", called()));
  const auto one = std::make_shared<child>(co_await asio::this_coro::executor);
  if (const int failed = one->start(words_); failed != 0)
    co_return transient(fmt::format("{} cannot be run: {}", called(), words_of(failed)), cause::login);
  std::erase_if(running_, [](const auto& each) { return each.expired(); });
  running_.push_back(one);
  child::limit(one, limits_.time);
  auto output = co_await child::read(one, limits_.output);
  const auto status = co_await child::wait(one);
  const auto refused = [&](const std::string& words) {
    return transient(fmt::format("{} {}", called(), words), cause::login);
  };
  switch (one->why()) {
    case child::cut::none:
      break;
    case child::cut::late:
      co_return refused(
          fmt::format("has not ended within {} ms and was killed; run it by hand as outboxd's user",
                      limits_.time.count()));
    case child::cut::too_long:
      co_return refused(fmt::format(
          "printed more than {} bytes and was killed; it has to print the password alone", limits_.output));
    case child::cut::stopped:
      co_return refused("was stopped with outboxd");
  }
  if (!status) co_return refused("ended with an unknown status");
  if (WIFSIGNALED(*status)) co_return refused(fmt::format("was ended by signal {}", WTERMSIG(*status)));
  if (WEXITSTATUS(*status) != 0)
    co_return refused(
        fmt::format("ended with status {}; run it by hand as outboxd's user", WEXITSTATUS(*status)));
  if (output.ends_with('\n')) output.pop_back();
  if (output.ends_with('\r')) output.pop_back();
  if (output.empty()) co_return refused("printed nothing; it has to print the password");
  if (output.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos)
    co_return refused("printed more than one line; it has to print the password alone");
  co_return output;
}

void password_command::stop() {
  stopped_ = true;
  for (const auto& each : running_)
    if (const auto one = each.lock()) one->end(child::cut::stopped);
}

}  // namespace outboxd::relay
