// sabotage: imitates a faulty relay after a run, to prove that the checker detects the violation.
#pragma once

#include <string>

#include "arena.hpp"
#include "support/history.hpp"

namespace outboxd::chaos {

/// lost: a published event that nobody received. phantom: a message that belongs to no transaction. marked:
/// an event that is marked published but was never sent. overtaken: an event that arrived before an earlier
/// event of its aggregate.
void sabotage(const std::string& what, const arena& where, test::history& deliveries);

}  // namespace outboxd::chaos
