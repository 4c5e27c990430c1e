#include "stage/statement_log.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace outboxd::bench {

statement_log::statement_log(const stage& where)
    : file_(std::filesystem::path(test::required_environment("OUTBOXD_TEST_PGDATA")).parent_path() / "log"),
      begin_(std::filesystem::file_size(file_)) {
  auto session = where.connect();
  session.exec(fmt::format("ALTER DATABASE {} SET log_statement = 'all'",
                           session.value("SELECT quote_ident(current_database())")));
}

std::int64_t statement_log::count() const {
  std::ifstream log(file_);
  log.seekg(static_cast<std::streamoff>(begin_));
  std::int64_t found = 0;
  for (std::string line; std::getline(log, line);)
    if (line.find("LOG:  statement: ") != std::string::npos ||
        line.find("LOG:  execute ") != std::string::npos)
      ++found;
  return found;
}

}  // namespace outboxd::bench
