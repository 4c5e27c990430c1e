// statement_log: counts the statements that the benchmarks' own PostgreSQL runs in one database, from its
// log.
#pragma once

#include <cstdint>
#include <filesystem>

#include "stage/stage.hpp"

namespace outboxd::bench {

class statement_log {
 public:
  // Counts sessions of this database that start later; our own existing connections are not counted.
  explicit statement_log(const stage& where);

  // The number of statements so far; statements in a pipeline are counted individually. The server must use
  // our own log file.
  std::int64_t count() const;

 private:
  std::filesystem::path file_;
  std::uintmax_t begin_;
};

}  // namespace outboxd::bench
