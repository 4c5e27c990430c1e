// partitioning: makes the outbox a partitioned one, or changes how long its periods are.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::app {

// daily or hourly; anything else is none of ours.
bool is_partition_period(std::string_view name);

struct partition_result {
  std::string before;  // its period until now; empty: it was not partitioned
  std::string now;
};

// Of an outbox that is up to date. The rows stay where they are: the table becomes the first partition.
// Writers and relays go on meanwhile, but for some hundredths of a second; no lock is waited for longer than
// a tenth of one: it then begins anew, for a minute, and says so. Interrupted, it is taken up where it was.
// Blocks.
result<partition_result> partition_outbox(const std::string& connection_string, const pg::schema_name& schema,
                                          const std::string& period,
                                          const std::function<void(const std::string& progress)>& say);

// The same for people who run their own migration tool.
std::string partition_script(const pg::schema_name& schema, const std::string& period);

}  // namespace outboxd::app
