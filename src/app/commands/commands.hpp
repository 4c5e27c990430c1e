// commands: the operators' commands for the command line, in the order in which help shows them.
#pragma once

#include "app/command/command_set.hpp"

namespace outboxd::app {

void add_route_command(CLI::App& app, command_set& to);
void add_status_command(CLI::App& app, command_set& to);
void add_trace_command(CLI::App& app, command_set& to);
// list, show, the commands that change events, and older names that help does not show: dead, replay
void add_events_commands(CLI::App& app, command_set& to);
void add_pausing_commands(CLI::App& app, command_set& to);  // pause, resume
void add_prune_command(CLI::App& app, command_set& to);

}  // namespace outboxd::app
