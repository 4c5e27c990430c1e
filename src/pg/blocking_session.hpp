// blocking_session: a PostgreSQL session for commands; its calls block.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "pg/rows.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::pg {

// Why a statement failed. sqlstate is empty if the connection was lost.
struct refusal {
  std::string sqlstate;
  std::string words;  // on one line
  spoken_by whose = spoken_by::server;
  std::string site{};      // see refusal_site.hpp
  bool is_denied = false;  // the session's user lacks a privilege
};

class blocking_session {
 public:
  result<void> open(const std::string& connection_string, const char* application_name);

  // Without parameters, the text may contain several statements; the rows of the last one are returned.
  // Everything is in text format.
  tl::expected<rows, refusal> execute(const std::string& sql);
  tl::expected<rows, refusal> execute(const std::string& sql, const std::vector<std::string>& parameters);

 private:
  tl::expected<rows, refusal> answer(PGresult* from);

  struct finish {
    void operator()(PGconn* of) const { PQfinish(of); }
  };
  std::unique_ptr<PGconn, finish> connection_;
};

}  // namespace outboxd::pg
