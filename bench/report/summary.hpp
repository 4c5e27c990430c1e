// summary: summary.json, the latest value of every promised figure; a run updates its own keys.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace outboxd::bench {

// Other keys in the file stay unchanged; an unreadable file is replaced.
void update_summary(const std::filesystem::path& file, const std::map<std::string, double>& values,
                    const std::string& date, const std::string& command, bool quick);

// Prints the table of all keys in the file.
void print_summary(const std::filesystem::path& file);

}  // namespace outboxd::bench
