// process: a child program whose output is captured, waited for, and which never outlives its owner.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/deadline.hpp"

namespace outboxd::test {

/// How a process ended: by its own exit code or by a signal.
struct exit_status {
  std::optional<int> code;
  std::optional<int> signal;
  bool operator==(const exit_status&) const = default;
};

struct process_options {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  /// Added to (and overriding) this process's environment.
  std::map<std::string, std::string> environment;
  /// Also written here, as it comes; empty: only kept in memory.
  std::filesystem::path log_file;
};

/// A running program. stdout and stderr are read together, line by line, by a thread of this object.
/// Its functions may be called from any thread. The destructor kills the program with SIGKILL and reaps it.
class process {
 public:
  using predicate = std::function<bool(const std::string& line)>;

  explicit process(const process_options& options);
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  pid_t pid() const { return pid_; }
  /// Does nothing when the program has ended already.
  void send(int signal);

  /// Waits for the end of the program and of its output, so that lines() and tail() are complete; throws
  /// deadline_passed, with the last lines of output, when either does not come.
  exit_status wait(std::chrono::milliseconds time_limit = patience);
  bool running();

  /// Waits for a line, past or to come, that the predicate accepts, and returns it. Lines before the position
  /// `from` are skipped: pass lines().size() to wait for what is still to come. Throws deadline_passed when
  /// none comes in time and std::runtime_error when the output ends first.
  std::string wait_line(const predicate& accept, std::chrono::milliseconds time_limit = patience,
                        std::size_t from = 0);
  /// The same for a line that contains `part`.
  std::string wait_line(const std::string& part, std::chrono::milliseconds time_limit = patience,
                        std::size_t from = 0);

  /// A copy of all complete lines so far.
  std::vector<std::string> lines() const;
  /// Waits until nobody has the output open any more, and returns all there was.
  std::vector<std::string> all_lines(std::chrono::milliseconds time_limit = patience);
  /// How many of the lines so far contain `part`.
  std::ptrdiff_t count_lines(std::string_view part) const;
  /// The last few lines, for a message.
  std::string tail(std::size_t count = 10) const;

 private:
  void read_output(int descriptor);
  void add_line(std::string line);
  std::optional<exit_status> reap(int timeout_ms);

  std::ofstream log_;
  pid_t pid_ = -1;
  int pid_descriptor_ = -1;
  std::mutex reap_mutex_;
  std::optional<exit_status> status_;  // guarded by reap_mutex_

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;  // guarded by mutex_
  bool ended_ = false;              // no more output; guarded by mutex_
  std::thread reader_;
};

}  // namespace outboxd::test
