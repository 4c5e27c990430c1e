// database: a libpq connection whose failures are exceptions.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

class database {
 public:
  explicit database(const char* url) : connection_(PQconnectdb(url), &PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK)
      throw std::runtime_error(PQerrorMessage(connection_.get()));
  }

  answer exec(const char* sql, const std::vector<std::string>& parameters = {}) {
    std::vector<const char*> values;
    for (const auto& one : parameters) values.push_back(one.c_str());
    answer got(PQexecParams(connection_.get(), sql, static_cast<int>(values.size()), nullptr, values.data(),
                            nullptr, nullptr, 0),
               &PQclear);
    const auto status = PQresultStatus(got.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
      throw std::runtime_error(PQresultErrorMessage(got.get()));
    return got;
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};
