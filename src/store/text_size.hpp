// text_size: SQL for the size of a column before and after it becomes a text, without making the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace outboxd::store {

// Bytes of its value before it is a text. An uncompressed value has its stored size; a compressed one has to
// be unpacked.
std::string unpacked_size(std::string_view column);

// Bytes of the texts of all numbers of a jsonb column, one text at a time. A number may have 131,072 digits
// before its point and 16,383 behind it, and takes a few bytes as it is stored (PostgreSQL manual, 8.1):
// nothing else in a document grows by more than sixfold. Time and memory grow with the numbers, so a document
// of more than `most` bytes counts as 0. It fails (54001) for a document that is nested too deeply for
// PostgreSQL.
std::string size_of_numbers(std::string_view column, std::int64_t most);

}  // namespace outboxd::store
