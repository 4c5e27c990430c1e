// source_table: the user's own outbox table, as described in the catalog.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "pg/blocking_session.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::app {

struct source_column {
  std::string name;
  std::string type;     // for display: character varying(255)
  std::string base;     // PostgreSQL's own type below any domain: varchar; empty for any other
  char category = 'U';  // pg_type.typcategory
  bool not_null = false;
  bool counts = false;  // identity, or a default from a sequence
};

// An existing adoption, read from the comment of its function.
struct adoption_record {
  std::vector<std::string> triggers;
  std::vector<std::string> functions;  // qualified and quoted
  bool kept = false;                   // copied rows may still be in the table
  std::string backlog_taken;           // when the backlog was copied; empty: never
  std::string through;                 // the partitioned table that it was inherited from, else empty
};

struct source_table {
  std::string oid;
  std::string schema;
  std::string name;
  std::string owner;
  bool partitioned = false;      // rows are in its partitions
  bool is_partition = false;     // it also receives rows through another table
  bool forces_security = false;  // policies apply to the owner too
  bool is_referenced = false;    // by foreign keys
  std::vector<source_column> columns;
  std::vector<std::string> primary_key;
  std::optional<adoption_record> adoption;

  const source_column* find(std::string_view column) const;
  std::string identifier() const;  // "public"."outboxevent"
  std::string shown() const;       // public.outboxevent
};

// Finds the table as the session's user would, by search_path if no schema is given. Returns an error if it
// cannot be adopted.
result<source_table> read_source_table(pg::blocking_session& session, const std::string& name,
                                       const pg::schema_name& outbox);

}  // namespace outboxd::app
