// statement_log: counts the statements that the benchmarks' own PostgreSQL runs in one database, by its log.
#pragma once

#include <cstdint>
#include <filesystem>

#include "stage/stage.hpp"

namespace outboxd::bench {

class statement_log {
 public:
  // Sessions of this database that begin after this are counted; our own that are connected already are not.
  explicit statement_log(const stage& where);

  // All so far, also those inside a pipeline, one by one. The server must have our own log file.
  std::int64_t count() const;

 private:
  std::filesystem::path file_;
  std::uintmax_t begin_;
};

}  // namespace outboxd::bench
