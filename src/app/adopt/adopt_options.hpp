// adopt_options: the options of the command adopt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/adopt/misfits.hpp"
#include "app/command/command_set.hpp"

namespace outboxd::app {

struct adopt_options {
  std::string table;
  std::optional<std::string> preset;
  std::vector<std::string> maps;     // FIELD=COLUMN
  std::vector<std::string> headers;  // NAME=COLUMN
  std::optional<std::string> where;
  misfit_options misfits;
  std::vector<std::string> order_by;  // order of the backlog
  bool keep = false;
  bool backlog = false;
  bool print = false;
  bool remove = false;
};
// adopt_command.cpp
int adopt_command(const settings& from, const adopt_options& options);

void add_adopt_command(CLI::App& app, command_set& to);

}  // namespace outboxd::app
