// partitioning: converts the outbox to a partitioned table, or changes the length of its periods.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::app {

// True for daily and hourly.
bool is_partition_period(std::string_view name);

struct partition_result {
  std::string before;  // the period before; empty if the outbox was not partitioned
  std::string now;
};

// Partitions an outbox that is up to date. Rows stay where they are, because the table becomes the first
// partition. Writers and relays continue meanwhile, except for some hundredths of a second. Each lock is
// waited for at most a tenth of a second. After a lock timeout the step is retried for up to a minute, and
// each retry is reported. An interrupted conversion resumes where it stopped. Blocks.
result<partition_result> partition_outbox(const std::string& connection_string, const pg::schema_name& schema,
                                          const std::string& period,
                                          const std::function<void(const std::string& progress)>& say);

// The same conversion as a script, for users of another migration tool.
std::string partition_script(const pg::schema_name& schema, const std::string& period);

}  // namespace outboxd::app
