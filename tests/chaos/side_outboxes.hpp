// side_outboxes: outboxes on another pair of servers that the relays also relay. No
// fault touches these servers, but faults end, freeze and restart the processes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace outboxd::chaos {

class side_outboxes {
 public:
  /// Migrates `count` outboxes and starts a writer for each. The servers are those of
  /// OUTBOXD_TEST_OTHER_DATABASE_URL and OUTBOXD_TEST_OTHER_AMQP_URL.
  side_outboxes(const std::filesystem::path& outboxd, int count);
  ~side_outboxes();
  side_outboxes(const side_outboxes&) = delete;
  side_outboxes& operator=(const side_outboxes&) = delete;

  /// Adds their files to a folder for --outboxes.
  void write_files(const std::filesystem::path& folder) const;

  /// Stops the writers, waits until everything is published, and returns what was lost, overtaken or wrong.
  /// Describes the result in `words`.
  std::vector<std::string> finish(std::string& words);

 private:
  class one;
  std::vector<std::unique_ptr<one>> all_;
};

}  // namespace outboxd::chaos
