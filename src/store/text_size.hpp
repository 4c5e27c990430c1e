// text_size: SQL expressions for the size of a column before and after conversion to text, without converting
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace outboxd::store {

// The size of a value before conversion to text, in bytes. For an uncompressed value this is the stored size;
// a compressed value has to be decompressed.
std::string unpacked_size(std::string_view column);

// The size in bytes of all numbers of a jsonb column as text; only one number at a time is converted. A
// number may have 131,072 digits before and 16,383 digits after the decimal point, and is stored in a few
// bytes (PostgreSQL manual, 8.1); nothing else in a document grows more than sixfold. Time and memory grow
// with the count of numbers, so the result for a document of more than `most` bytes is 0. Fails (54001) if
// the document is nested too deeply for PostgreSQL.
std::string size_of_numbers(std::string_view column, std::int64_t most);

}  // namespace outboxd::store
