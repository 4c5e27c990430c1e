// made: the objects that migrations make, read from the migrations themselves: there is no second list of
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/schema/migrations.hpp"

namespace outboxd::app {

struct made_object {
  enum class kind { type, table, index, constraint, function, trigger };
  kind what = kind::type;
  std::string name = {};
  // Of a function its signature, of a trigger that of the function it calls, of a constraint its table.
  std::string place = {};
  std::string statement = {};  // makes it; a function is replaced
  // Of a function.
  std::string body = {};
  bool definer = false;  // runs with the rights of its owner
  std::vector<std::string> settings = {};
  std::string fires = {};  // of a trigger: ALWAYS, or REPLICA
};

struct made_column {
  std::string table = {}, name = {}, type = {};
  bool needed = false;          // not null
  std::string fallback = {};    // its default; empty: none
  std::string identity = {};    // GENERATED ...; empty: none
  std::string definition = {};  // as in CREATE TABLE
};

struct made {
  std::vector<made_object> objects;  // in the order in which they are made
  std::vector<made_column> columns;
};

std::string_view name_of(made_object::kind what);

// By one migration, or by any other SQL of sql/ with its placeholders filled in.
made made_by(std::string_view sql, const pg::schema_name& schema);
// By all of them, and the record of migrations.
made made_by_all(const pg::schema_name& schema, const outbox_shape& shape);

}  // namespace outboxd::app
