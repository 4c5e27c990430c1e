// action_work: what previews and actions do at PostgreSQL. It waits for the answers, so it needs threads of
// its own.
#pragma once

#include "app/config/settings.hpp"
#include "console/action.hpp"

namespace outboxd::console {

inline constexpr std::int64_t most_selected = 1'000'000;

// `who`: as outbox.audit is to have it, in the name of the application.
app::outcome<app::operator_session> open_acting(const app::settings& from, const std::string& who);

// Names the events, or what is paused, and changes nothing.
app::outcome<action_plan> make_plan(const app::settings& from, const app::order& what,
                                    const std::string& who);

// What is left of an action that has stopped or failed.
action_plan rest_of(const action& former, const std::string& who);

// Does it, and has told the action how it ended when it returns.
void work_at(const app::settings& from, action& what);

}  // namespace outboxd::console
