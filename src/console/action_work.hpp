// action_work: runs previews and actions in PostgreSQL. Its calls block, so they need separate threads.
#pragma once

#include "app/config/settings.hpp"
#include "console/action.hpp"

namespace outboxd::console {

inline constexpr std::int64_t most_selected = 1'000'000;

// `who`: the user's name for outbox.audit, as part of the application_name.
app::outcome<app::operator_session> open_acting(const app::settings& from, const std::string& who);

// Selects the events, or the parts to pause, and changes nothing.
app::outcome<action_plan> make_plan(const app::settings& from, const app::order& what,
                                    const std::string& who);

// A plan for the rest of an action that was stopped or has failed.
action_plan rest_of(const action& former, const std::string& who);

// Executes the action. Before returning, records the outcome in the action.
void work_at(const app::settings& from, action& what);

}  // namespace outboxd::console
