// change_command: the flags of a command that changes events, and its work.
#pragma once

#include <string>

#include "app/command/command_set.hpp"
#include "app/operate/order.hpp"

namespace outboxd::app {

// `called`: its words on the command line. The commands below `events` have more than their older names do:
// --status, and they name what is possible with an event where this is not.
void add_change(CLI::App& to, command_set& commands, deed what, const std::string& called);

}  // namespace outboxd::app
