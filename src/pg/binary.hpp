// binary: PostgreSQL's binary format for the types that outboxd sends and reads (src/backend/utils/adt, *send
// and *recv).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"

namespace outboxd::pg {

// Parameters; the arrays have one dimension.
std::string tid_array(std::span<const row_place> values);
std::string uuid_array(std::span<const event_id> values);
std::string int8_array(std::span<const std::optional<std::int64_t>> values);
std::string int8_array(std::span<const std::int64_t> values);
std::string xid_array(std::span<const std::uint32_t> values);
std::string bytea_array(std::span<const std::string> values);
std::string xid8_array(std::span<const std::uint64_t> values);
std::string text_array(std::span<const std::optional<std::string>> values);

std::string int4(std::int32_t value);
std::string int8(std::int64_t value);
std::string boolean(bool value);
std::string timestamptz(timestamp value);  // timestamp::min() and max() represent -infinity and infinity

// Fields of an answer. A field that is too short is read as 0; of a longer field, only the beginning is read.
std::int16_t read_int2(std::string_view field);
std::int32_t read_int4(std::string_view field);
std::int64_t read_int8(std::string_view field);
std::vector<std::int64_t> read_int8_array(std::string_view field);  // one dimension, without nulls
bool read_bool(std::string_view field);
row_place read_tid(std::string_view field);
event_id read_uuid(std::string_view field);
timestamp read_timestamp(std::string_view field);  // timestamptz: microseconds since 2000-01-01 UTC

}  // namespace outboxd::pg
