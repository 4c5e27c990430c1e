// dead retry, dead discard, replay and events: changing the fate of selected events, portion by portion.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "app/change_values.hpp"
#include "app/commands.hpp"
#include "app/event_listing.hpp"
#include "app/progress.hpp"
#include "app/timeliness.hpp"

namespace outboxd::app {
namespace {

constexpr std::int64_t portion = 1000;  // most events in one transaction
constexpr std::int64_t unasked = 1000;  // more need --yes
constexpr int shown_by_dry_run = 100;

struct change_words {
  std::string_view command;
  std::string_view audited;  // as what, see sql/0007_operator.sql
  std::string_view function;
  std::string_view done;
  event_set from;
};

change_words words_of(change what) {
  switch (what) {
    case change::retry:
      return {"dead retry", "retry", "dead_retry", "requeued", event_set::dead};
    case change::discard:
      return {"dead discard", "discard", "dead_discard", "deleted", event_set::dead};
    case change::replay:
      return {"replay", "replay", "replay", "requeued", event_set::published};
    case change::cancel:
      return {"events cancel", "cancel", "events_cancel", "cancelled", event_set::unsent};
    case change::postpone:
      return {"events postpone", "postpone", "events_postpone", "postponed", event_set::unsent};
    case change::edit:
      return {"events edit", "edit", "events_edit", "edited", event_set::unsent};
  }
  return {};
}

std::string events(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "event" : "events");
}

struct counts {
  std::int64_t matched = 0;
  std::int64_t changed = 0;
  std::vector<named_event> events;  // of those that have not been sent
};

// Keeps to a rate: portions of a quarter of a second, and a pause before each for those before it.
class pace {
 public:
  explicit pace(std::optional<std::int64_t> rate) : rate_(rate) {}
  std::int64_t most() const { return rate_ ? std::clamp<std::int64_t>(*rate_ / 4, 1, portion) : portion; }
  void wait() {
    std::this_thread::sleep_until(next_);
    next_ = std::chrono::steady_clock::now();
  }
  void took(std::int64_t events) {
    if (rate_) next_ += std::chrono::microseconds(events * 1'000'000 / *rate_);
  }

 private:
  std::optional<std::int64_t> rate_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

// The selection is made once and kept by the server, outside of any transaction: what comes to match it later
// is not in it. Returns how many events it has.
outcome<std::int64_t> make_selection(operator_session& session, const change_words& how,
                                     const selectors& resolved) {
  const auto which = condition_of(resolved, how.from);
  const auto selected = session.execute(
      fmt::format("DECLARE selected SCROLL CURSOR WITH HOLD FOR SELECT e.id, e.seq FROM {{0}}.event AS e"
                  " WHERE {} ORDER BY e.seq",
                  which.sql),
      which.parameters);
  if (!selected) return tl::make_unexpected(selected.error());
  const auto counted = session.execute("MOVE FORWARD ALL IN selected");
  if (!counted) return tl::make_unexpected(counted.error());
  const auto back = session.execute("MOVE ABSOLUTE 0 IN selected");
  if (!back) return tl::make_unexpected(back.error());
  return counted->affected();
}

// As they would be given on the command line.
std::string words_of_change(const change_options& options) {
  std::string out = words_of(options.which);
  if (options.rate) out += fmt::format(" --rate {}", *options.rate);
  if (options.exchange) out += " --exchange " + shell_word(*options.exchange);
  if (options.routing_key) out += " --routing-key " + shell_word(*options.routing_key);
  return out + words_of_values(options);
}

// Of a portion: which of the selected were changed.
void note_changed(const pg::rows& selected, const pg::rows& changed, std::vector<named_event>& into) {
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (int row = 0; row < changed.size(); ++row) known.emplace(changed.at(row, 0), changed.at(row, 1));
  for (int row = 0; row < selected.size(); ++row)
    into.push_back({std::string(selected.at(row, 0)), std::string(selected.at(row, 1)),
                    known.contains({selected.at(row, 0), selected.at(row, 1)})});
}

// Each portion is a transaction of its own.
outcome<counts> change_selected(operator_session& session, const change_words& how, std::int64_t all,
                                const change_options& options, const std::vector<change_value>& values) {
  const auto audit = session.begin_audit(how.audited, words_of_change(options), options.reason);
  if (!audit) return tl::make_unexpected(audit.error());
  const bool tells_which = how.from == event_set::unsent;
  std::string call = fmt::format("SELECT {}{{0}}.{}($1::uuid[], audit => $2::bigint, seqs => $3::bigint[]",
                                 tells_which ? "changed_id, changed_seq FROM " : "", how.function);
  std::vector<std::string> parameters{"", *audit, ""};
  const auto add = [&](std::string_view name, const std::optional<std::string>& value) {
    if (!value) return;
    parameters.push_back(*value);
    call += fmt::format(", {} => ${}::text", name, parameters.size());
  };
  add("exchange", options.exchange);
  add("routing_key", options.routing_key);
  for (const change_value& one : values) {
    parameters.push_back(one.value);
    call += fmt::format(", {} => {}", one.name, fmt::format(fmt::runtime(one.expression), parameters.size()));
  }
  call += ")";
  counts out;
  progress line(std::string(how.command), all, options.json);
  pace at(options.rate);
  for (;;) {
    const auto next = session.execute(fmt::format("FETCH {} FROM selected", at.most()));
    if (!next) return tl::make_unexpected(next.error());
    if (next->size() == 0) return out;
    std::vector<std::string> ids;
    std::vector<std::string> seqs;
    for (int row = 0; row < next->size(); ++row) {
      ids.emplace_back(next->at(row, 0));
      seqs.emplace_back(next->at(row, 1));
    }
    parameters[0] = array_literal(ids);
    parameters[2] = array_literal(seqs);
    at.wait();
    const auto done = session.execute(call, parameters);
    if (!done) return tl::make_unexpected(done.error());
    at.took(next->size());
    out.matched += next->size();
    if (tells_which)
      note_changed(*next, *done, out.events);
    else
      out.changed += done->number_at(0, 0);
    line.show(out.matched);
  }
}

outcome<int> preview(operator_session& session, const change_words& how, const selectors& resolved,
                     bool json) {
  const auto which = condition_of(resolved, how.from);
  const auto counted = session.execute(
      fmt::format("SELECT count(*) FROM {{0}}.event AS e WHERE {}", which.sql), which.parameters);
  if (!counted) return tl::make_unexpected(counted.error());
  const auto listed = read_listing(session, resolved, how.from, shown_by_dry_run);
  if (!listed) return tl::make_unexpected(listed.error());
  const auto matched = counted->number_at(0, 0);
  if (json) {
    fmt::print("{{\"dry_run\": true, \"matched\": {}, \"changed\": 0, \"more\": {}, \"events\": [\n", matched,
               listed->more);
    print_json(*listed);
    fmt::print("]}}\n");
    return exit_success;
  }
  fmt::print("{} would touch {}\n", how.command, events(matched));
  if (!listed->events.empty()) print_table(*listed);
  if (listed->more) fmt::print("and more: these are the first {}\n", listed->events.size());
  say_unreadable(*listed);
  return exit_success;
}

// They are short strings of AMQP 0-9-1, which are up to 255 bytes long.
result<void> check_names(const change_options& options) {
  constexpr std::size_t longest = 255;
  for (const auto& [flag, value] :
       {std::pair{"--exchange", &options.exchange}, std::pair{"--routing-key", &options.routing_key},
        std::pair{"--set-event-type", &options.edit.event_type},
        std::pair{"--set-exchange", &options.edit.exchange},
        std::pair{"--set-routing-key", &options.edit.routing_key}})
    if (*value && (*value)->size() > longest)
      return permanent(
          fmt::format("{} has {} bytes; AMQP has names of up to {}", flag, (*value)->size(), longest));
  return {};
}

outcome<int> run_change(const settings& from, change what, const change_options& options) {
  const auto how = words_of(what);
  if (const auto given = require_selectors(options.which, how.command); !given)
    return usage_failure(given.error().message);
  if (const auto good = check_selectors(options.which); !good) return usage_failure(good.error().message);
  if (const auto good = check_names(options); !good) return usage_failure(good.error().message);
  if (const auto good = check_reason(options.reason); !good) return usage_failure(good.error().message);
  auto session = operator_session::open(from, fmt::format("outboxd {}", how.command));
  if (!session) return tl::make_unexpected(session.error());
  const auto resolved = session->resolve(options.which);
  if (!resolved) return tl::make_unexpected(resolved.error());
  const auto values = values_of(*session, what, options);
  if (!values) return tl::make_unexpected(values.error());
  if (options.dry_run) return preview(*session, how, *resolved, options.json);
  const auto all = make_selection(*session, how, *resolved);
  if (!all) return tl::make_unexpected(all.error());
  const bool asks = what == change::replay || how.from == event_set::unsent || options.which.all;
  if (*all > unasked && asks && !options.yes)
    return usage_failure(
        fmt::format("{} would touch {}; give --yes if you mean it, or --dry-run to see which", how.command,
                    events(*all)));
  const auto done = change_selected(*session, how, *all, options, *values);
  if (!done) return tl::make_unexpected(done.error());
  if (how.from == event_set::unsent) return tell_timeliness(*session, how.command, done->events, options);
  if (options.json) {
    fmt::print("{{\"dry_run\": false, \"matched\": {}, \"changed\": {}}}\n", done->matched, done->changed);
    return exit_success;
  }
  fmt::print("{}: {} {}\n", how.command, events(done->changed), how.done);
  if (done->matched > done->changed)
    fmt::print("{} had been changed by others meanwhile\n", events(done->matched - done->changed));
  return exit_success;
}

}  // namespace

int change_command(const settings& from, change what, const change_options& options) {
  const auto done = run_change(from, what, options);
  return done ? *done : report(done.error());
}

}  // namespace outboxd::app
