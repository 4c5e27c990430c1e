// text_size: SQL that says how large a column is before and after it becomes a text, without making the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace outboxd::store {

// Bytes of its value before it is a text. What is not compressed is as large as it is stored; what is
// compressed has to be unpacked.
std::string unpacked_size(std::string_view column);

// Bytes of the texts of all numbers of a jsonb column, one text at a time. A number may have 131,072 digits
// before its point and 16,383 behind it, and takes a few bytes as it is stored (PostgreSQL manual, 8.1):
// nothing else in a document grows by more than sixfold. It takes time and memory in proportion to the
// numbers, so a document of more than `most` bytes counts as 0. It fails (54001) for one that is nested more
// deeply than PostgreSQL can go through.
std::string size_of_numbers(std::string_view column, std::int64_t most);

}  // namespace outboxd::store
