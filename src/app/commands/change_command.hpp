// change_command: the flags of a command that changes events, and its work.
#pragma once

#include <string>

#include "app/command/command_set.hpp"
#include "app/operate/order.hpp"

namespace outboxd::app {

// `called`: the command's words on the command line. The commands below `events` offer more than their older
// names: they have --status, and name the commands that can change an event that this one cannot.
void add_change(CLI::App& to, command_set& commands, deed what, const std::string& called);

}  // namespace outboxd::app
