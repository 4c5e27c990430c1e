// change_command: the flags of a command that changes events, and its work.
#pragma once

#include "app/command/command_set.hpp"
#include "app/operate/order.hpp"

namespace outboxd::app {

// `of`: the events that it selects from.
void add_change(CLI::App& to, command_set& commands, deed what, event_set of);

}  // namespace outboxd::app
