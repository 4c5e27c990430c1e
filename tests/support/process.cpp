// process: posix_spawn, a pipe, a pidfd.
#include "support/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 forgot its own extern "C"
}

extern char** environ;

namespace outboxd::test {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error{error, std::generic_category(), what};
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text{*entry};
    if (!changes.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : changes) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Starts the program with both outputs on `output`, no input, and no signal blocked or ignored.
pid_t spawn(const process_options& options, int output) {
  std::vector<std::string> arguments{options.program.string()};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  auto environment = environment_with(options.environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  pid_t pid = -1;
  const int error = posix_spawnp(&pid, options.program.c_str(), &actions, &attributes,
                                 pointers(arguments).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail(error, "cannot start " + options.program.string());
  return pid;
}

}  // namespace

process::process(const process_options& options) {
  if (!options.log_file.empty()) log_.open(options.log_file);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, "pipe");
  try {
    pid_ = spawn(options, ends[1]);
  } catch (...) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw;
  }
  ::close(ends[1]);
  pid_descriptor_ = ::pidfd_open(pid_, 0);
  reader_ = std::thread{[this, descriptor = ends[0]] { read_output(descriptor); }};
}

process::~process() {
  send(SIGKILL);
  reap(-1);
  reader_.join();
  if (pid_descriptor_ >= 0) ::close(pid_descriptor_);
}

void process::send(int signal) {
  const std::lock_guard lock{reap_mutex_};
  if (!status_) ::kill(pid_, signal);
}

std::optional<exit_status> process::reap(int timeout_ms) {
  // The wait itself is not under the lock: another thread may send the signal that ends it.
  pollfd ready{pid_descriptor_, POLLIN, 0};
  int count = 0;
  while ((count = ::poll(&ready, 1, timeout_ms)) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock{reap_mutex_};
  if (status_) return status_;
  if (count <= 0) return std::nullopt;
  // Not WNOHANG: the descriptor may be readable a moment before the process can be waited for.
  int raw = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(pid_, &raw, 0)) < 0 && errno == EINTR) {
  }
  if (ended != pid_) return std::nullopt;
  status_.emplace();
  if (WIFEXITED(raw)) status_->code = WEXITSTATUS(raw);
  if (WIFSIGNALED(raw)) status_->signal = WTERMSIG(raw);
  return status_;
}

exit_status process::wait(std::chrono::milliseconds time_limit) {
  if (auto status = reap(static_cast<int>(time_limit.count()))) {
    all_lines(time_limit);
    return *status;
  }
  throw deadline_passed{fmt::format("process {} did not end within {} ms; its last lines:\n{}", pid_,
                                    time_limit.count(), tail())};
}

bool process::running() {
  return !reap(0);
}

void process::read_output(int descriptor) {
  std::array<char, 65536> chunk{};
  std::string partial;
  for (;;) {
    const auto count = ::read(descriptor, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    partial.append(chunk.data(), static_cast<std::size_t>(count));
    for (auto end = partial.find('\n'); end != std::string::npos; end = partial.find('\n')) {
      add_line(partial.substr(0, end));
      partial.erase(0, end + 1);
    }
  }
  if (!partial.empty()) add_line(std::move(partial));
  ::close(descriptor);
  const std::lock_guard lock{mutex_};
  ended_ = true;
  changed_.notify_all();
}

void process::add_line(std::string line) {
  if (log_.is_open()) log_ << line << std::endl;
  const std::lock_guard lock{mutex_};
  lines_.push_back(std::move(line));
  changed_.notify_all();
}

std::string process::wait_line(const predicate& accept, std::chrono::milliseconds time_limit,
                               std::size_t from) {
  const auto deadline = steady_clock::now() + time_limit;
  std::unique_lock lock{mutex_};
  for (auto next = from;;) {
    for (; next < lines_.size(); ++next) {
      if (accept(lines_[next])) return lines_[next];
    }
    const auto more = [&] { return next < lines_.size() || ended_; };
    if (!changed_.wait_until(lock, deadline, more)) {
      lock.unlock();
      throw deadline_passed{fmt::format("the expected line did not come within {} ms; the last ones:\n{}",
                                        time_limit.count(), tail())};
    }
    if (ended_ && next >= lines_.size()) {
      lock.unlock();
      throw std::runtime_error{"the output ended without the expected line; the last ones:\n" + tail()};
    }
  }
}

std::string process::wait_line(const std::string& part, std::chrono::milliseconds time_limit,
                               std::size_t from) {
  return wait_line([&](const std::string& line) { return line.find(part) != std::string::npos; }, time_limit,
                   from);
}

std::vector<std::string> process::lines() const {
  const std::lock_guard lock{mutex_};
  return lines_;
}

std::ptrdiff_t process::count_lines(std::string_view part) const {
  const std::lock_guard lock{mutex_};
  return std::ranges::count_if(lines_,
                               [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

std::vector<std::string> process::all_lines(std::chrono::milliseconds time_limit) {
  std::unique_lock lock{mutex_};
  if (!changed_.wait_for(lock, time_limit, [&] { return ended_; })) {
    throw deadline_passed{fmt::format("the output did not end within {} ms", time_limit.count())};
  }
  return lines_;
}

std::string process::tail(std::size_t count) const {
  const std::lock_guard lock{mutex_};
  std::string text;
  for (auto i = lines_.size() > count ? lines_.size() - count : 0; i < lines_.size(); ++i) {
    text += "  " + lines_[i] + "\n";
  }
  return text;
}

}  // namespace outboxd::test
