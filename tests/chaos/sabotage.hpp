// sabotage: does after a run what a wrong relay would have done, to show that the checker sees it.
#pragma once

#include <string>

#include "arena.hpp"
#include "support/history.hpp"

namespace outboxd::chaos {

/// lost: a published event that nobody received. phantom: a message of no transaction. marked: an event that
/// is marked published without ever having been sent. overtaken: an event that came before an earlier one of
/// its aggregate.
void sabotage(const std::string& what, const arena& where, test::history& deliveries);

}  // namespace outboxd::chaos
