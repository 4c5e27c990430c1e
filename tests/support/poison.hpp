// poison: rows that PostgreSQL takes and that are odd: for RabbitMQ, for AMQP, for the relay, or for nobody.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/database.hpp"

namespace outboxd::test {

struct poison {
  std::string name;
  std::map<std::string, std::string>
      columns;            // SQL expressions; $key is a routing key that reaches the stage's queue
  std::string status;     // in the end
  std::string code = {};  // last_error_code of a dead one; empty: any
};

std::vector<poison> poisons();

/// Inserts it into the aggregate `of`; what it does not name is as of an ordinary event.
std::string insert_statement(const poison& what, const std::string& of, const std::string& key);
void insert(database& session, const poison& what, const std::string& of, const std::string& key);

}  // namespace outboxd::test
