// summary: summary.json, the latest value of every promised figure; a run brings its own keys up to date.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace outboxd::bench {

// Other keys of the file stay as they are; a file that cannot be read is written anew.
void update_summary(const std::filesystem::path& file, const std::map<std::string, double>& values,
                    const std::string& date, const std::string& command, bool quick);

// The table of all keys in the file, on the screen.
void print_summary(const std::filesystem::path& file);

}  // namespace outboxd::bench
