#include "relay/postgres_outbox.hpp"

#include <algorithm>
#include <iterator>

#include "core/failpoint.hpp"
#include "pg/binary.hpp"
#include "pg/claimed_rows.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::relay {
namespace {

std::string_view status_of(setback::kind what) {
  switch (what) {
    case setback::kind::backing_off:
    case setback::kind::behind:
      return "waiting";
    case setback::kind::dead:
      return "dead";
  }
  return "waiting";
}

std::vector<std::string> take_parameters(int shards, std::vector<std::string> floors,
                                         std::uint64_t held = 0) {
  floors.insert(floors.begin(), pg::int4(shards));
  floors.push_back(pg::int8(static_cast<std::int64_t>(held)));
  return floors;
}

std::uint64_t mask_of(const std::vector<std::int64_t>& shards) {
  std::uint64_t out = 0;
  for (const auto shard : shards)
    if (shard >= 0 && shard < shard_count) out |= std::uint64_t{1} << static_cast<unsigned>(shard);
  return out;
}

std::vector<std::string> set_back_parameters(const std::vector<setback>& all) {
  std::vector<event_id> ids;
  std::vector<std::optional<std::string>> statuses;
  std::vector<std::optional<std::string>> reasons;
  std::vector<std::optional<std::int64_t>> attempts;
  std::vector<std::optional<std::int64_t>> nacks;
  std::vector<std::optional<std::int64_t>> delays;
  std::vector<std::optional<std::int64_t>> behind;
  for (const setback& one : all) {
    ids.push_back(one.id);
    statuses.emplace_back(status_of(one.what));
    attempts.emplace_back(one.counts_attempt ? 1 : 0);
    nacks.emplace_back(one.counts_nack ? 1 : 0);
    delays.push_back(one.what == setback::kind::backing_off ? std::optional<std::int64_t>(one.delay.count())
                                                            : std::nullopt);
    reasons.push_back(one.reason.empty() ? std::nullopt : std::optional(one.reason));
    behind.push_back(one.behind);
  }
  return {pg::uuid_array(ids),    pg::text_array(statuses), pg::int8_array(attempts), pg::int8_array(nacks),
          pg::int8_array(delays), pg::text_array(reasons),  pg::int8_array(behind)};
}

}  // namespace

postgres_outbox::postgres_outbox(const boost::asio::any_io_executor& on, const postgres_settings& settings,
                                 claim_floors& floors, link_observer& observer)
    : executor_(on),
      settings_(settings),
      floors_(floors),
      observer_(observer),
      pause_(on),
      choice_(settings.batch, settings.batch_bytes),
      statements_(pg::lane_statements(settings.schema, settings.claim_timeout, settings.after_publish)) {}

boost::asio::awaitable<void> postgres_outbox::run(outbox_listener& listener) {
  while (!stopping_) {
    pg::connection link(executor_);
    current_ = &link;
    const auto opened = co_await open(link);
    if (opened) {
      observer_.on_link_up(peer::database);
      listener.on_outbox_up();
      const error why = co_await serve(link, listener);
      asked_.reset();
      hold(0);
      listener.on_outbox_down();
      observer_.on_link_down(peer::database, why);
    } else {
      observer_.on_link_refused(peer::database, opened.error());
    }
    moved_ = moved_ || pg::is_lost_statement(link.last_sqlstate());
    current_ = nullptr;
    if (!stopping_) co_await pause_.wait();
  }
}

boost::asio::awaitable<result<void>> postgres_outbox::open(pg::connection& link) {
  const auto opened = co_await open_session(link, settings_);
  if (!opened) co_return tl::make_unexpected(opened.error());
  kind_ = moved_ ? session_kind::pooled : *opened;
  switch (kind_) {
    case session_kind::own:
      co_return co_await begin_own(link);
    case session_kind::pooled:
      co_return co_await begin_pooled(link);
  }
  co_return result<void>();
}

boost::asio::awaitable<result<void>> postgres_outbox::begin_own(pg::connection& link) {
  pg::pipeline steps;
  steps.text(pg::session_settings(settings_.claim_timeout));
  for (const auto& one : statements_) steps.prepare(one.name, one.sql);
  add_trial(steps);
  const auto begun = co_await link.execute(std::move(steps), settings_.connect_timeout);
  if (!begun) co_return tl::make_unexpected(begun.error());
  co_return result<void>();
}

boost::asio::awaitable<result<void>> postgres_outbox::begin_pooled(pg::connection& link) {
  pg::pipeline steps;
  add_begin(steps);
  add_trial(steps);
  add(steps, pg::statement::rollback);
  const auto begun = co_await link.execute(std::move(steps), settings_.connect_timeout);
  if (!begun) co_return tl::make_unexpected(begun.error());
  co_return result<void>();
}

void postgres_outbox::add(pg::pipeline& to, std::string_view statement,
                          std::vector<std::string> parameters) const {
  if (kind_ == session_kind::own) {
    to.run(std::string(statement), std::move(parameters));
    return;
  }
  const auto at = std::find_if(statements_.begin(), statements_.end(),
                               [&](const pg::prepared& one) { return one.name == statement; });
  to.run_unnamed(at->sql, std::move(parameters));
}

void postgres_outbox::add_begin(pg::pipeline& to) const {
  add(to, pg::statement::begin);
  if (kind_ == session_kind::pooled) to.text(pg::transaction_settings(settings_.claim_timeout));
}

// Each statement once, claiming nothing: a privilege that is missing shows now and not with the first event.
void postgres_outbox::add_trial(pg::pipeline& to) const {
  add(to, pg::statement::take_shards, take_parameters(0, claim_floors::no_parameters()));
  add(to, pg::statement::claim, {pg::int4(0), pg::int8(0)});
  add(to, pg::statement::claim_within, {pg::int4(0), pg::int8(0)});
  add_in_bulk(to, {pg::int4(0), pg::int8(0)});
  add_few(to, {pg::int4(0), pg::int8(0)}, claim_floors::no_parameters());
  add(to, pg::statement::mark_published, {pg::uuid_array({}), pg::tid_array({})});
  add(to, pg::statement::set_back, set_back_parameters({}));
  add(to, pg::statement::release, {pg::int8_array(std::vector<std::int64_t>())});
}

boost::asio::awaitable<error> postgres_outbox::serve(pg::connection& link, outbox_listener& listener) {
  for (;;) {
    while (!asked_ && !stopping_ && !link.lost()) {
      co_await link.wait();
      link.take_notifications();  // of a LISTEN that somebody left in a pooler's session: nothing to us
    }
    if (link.lost()) co_return *link.lost();
    if (!asked_) co_return error{};
    request now = std::move(*asked_);
    asked_.reset();
    auto got = co_await link.execute(std::move(now.steps), settings_.claim_timeout);
    if (!got) co_return got.error();
    if (now.settles) failpoint("marked");
    floors_.raise(now.ends);
    if (now.settles) pause_.reset();  // not for a claim: what follows it may fail again and again
    read_settled(now, *got);
    if (!now.claim_at) {
      listener.on_released();
      continue;
    }
    auto answer = co_await read_claim(link, now, *got);
    if (!answer) co_return answer.error();
    floors_.raise({.shards = answer->shards, .starts = answer->starts, .lowest = answer->lowest},
                  now.generation);
    claimed_ = answer->claimed.events.size();
    floors_.note_claimed(claimed_);
    if (answer->claimed.events.empty()) {
      pause_.reset();
      const auto ended = co_await end_claim(link);
      if (!ended) co_return ended.error();
      if (answer->again) {
        claim(now.how_far);
        continue;
      }
    } else {
      hold(mask_of(answer->shards));
    }
    listener.on_claimed(std::move(answer->claimed));
  }
}

void postgres_outbox::read_settled(const request& asked, const rows_of_each& got) {
  if (!asked.settle_at) return;
  const pg::rows& found = got.at(*asked.settle_at);
  const auto text = [&](int column) { return std::string(found.find(0, column).value_or("")); };
  floors_.learn(pg::settled_knowledge{.settled = text(0), .mark = text(1), .writers = text(2)},
                asked.generation);
}

boost::asio::awaitable<result<postgres_outbox::claim_answer>> postgres_outbox::read_claim(
    pg::connection& link, const request& asked, rows_of_each& got) {
  if (!asked.take_at) co_return read_few(got.at(*asked.claim_at));
  co_return co_await read_shards(link, asked, got);
}

boost::asio::awaitable<result<postgres_outbox::claim_answer>> postgres_outbox::read_shards(
    pg::connection& link, const request& asked, rows_of_each& got) {
  const pg::rows& taken = got.at(*asked.take_at);
  const Oid payloads = taken.type(static_cast<int>(pg::taken_column::payload));
  const auto lowest = taken.find(0, static_cast<int>(pg::taken_column::lowest));
  claim_answer out;
  out.shards = pg::read_int8_array(taken.at(0, static_cast<int>(pg::taken_column::shards)));
  out.starts = pg::read_int8_array(taken.at(0, static_cast<int>(pg::taken_column::starts)));
  if (lowest) out.lowest = pg::read_int8(*lowest);
  const claim_choice::place where{.shards = out.shards.size(),
                                  .start = out.starts.empty() ? 0 : std::ranges::min(out.starts)};
  auto claimed = pg::read_claim(payloads, got.at(*asked.claim_at));
  if (!claimed) co_return tl::make_unexpected(claimed.error());
  bool full = choice_.reached_by(*claimed, where);
  bool tells_all = choice_.tells_all();
  while (choice_.learn(*claimed, where)) {
    *claimed = {};  // two batches at a time would be twice the memory
    got.clear();
    claimed = co_await claim_again(link, payloads);
    if (!claimed) co_return tl::make_unexpected(claimed.error());
    full = choice_.reached_by(*claimed, where);
    tells_all = choice_.tells_all();
  }
  // A claim in bulk may find more than a batch. It is in seq order, so what is left out comes later than the rest of its shard.
  if (const auto most = static_cast<std::ptrdiff_t>(settings_.batch); std::ssize(claimed->events) > most)
    claimed->events.erase(claimed->events.begin() + most, claimed->events.end());
  claimed->full = full;
  claimed->more =
      asked.how_far == reach::share && static_cast<int>(out.shards.size()) == shards_within(asked.how_far);
  claimed->complete = tells_all && !full && !claimed->more;
  out.again = !out.shards.empty() && claimed->events.empty();
  out.claimed = std::move(*claimed);
  co_return out;
}

// Its floor is that of every shard, and so there are no starts.
result<postgres_outbox::claim_answer> postgres_outbox::read_few(const pg::rows& claimed) {
  claim_answer out;
  if (claimed.size() == 0) return out;
  if (!claimed.find(0, static_cast<int>(pg::claim_column::id))) {
    choice_.on_refused();
    out.again = true;
    return out;
  }
  auto found = pg::read_claim(claimed.type(static_cast<int>(pg::few_column::payload)), claimed);
  if (!found) return tl::make_unexpected(found.error());
  if (choice_.learn(*found, {})) {
    out.again = true;
    return out;
  }
  found->full = std::ssize(found->events) >= choice_.most_few();
  found->complete = !found->full;
  for (const event& one : found->events) out.shards.push_back(one.shard);
  out.lowest = pg::read_int8(claimed.at(0, static_cast<int>(pg::few_column::floor)));
  out.claimed = std::move(*found);
  return out;
}

// In the same transaction: its shards stay locked.
boost::asio::awaitable<result<batch>> postgres_outbox::claim_again(pg::connection& link, Oid payloads) {
  pg::pipeline steps;
  const std::size_t at = add_choice(steps);
  add(steps, pg::statement::guard);
  const auto answers = co_await link.execute(std::move(steps), settings_.claim_timeout);
  if (!answers) co_return tl::make_unexpected(answers.error());
  co_return pg::read_claim(payloads, answers->at(at));
}

boost::asio::awaitable<result<void>> postgres_outbox::end_claim(pg::connection& link) {
  pg::pipeline end;
  add(end, pg::statement::rollback);
  const auto ended = co_await link.execute(std::move(end), settings_.claim_timeout);
  if (!ended) co_return tl::make_unexpected(ended.error());
  co_return result<void>();
}

void postgres_outbox::stop() {
  stopping_ = true;
  pause_.stop();
  if (current_ != nullptr) current_->close();
}

void postgres_outbox::claim(reach how_far) {
  request what;
  what.how_far = how_far;
  add_claim(what, floors_.parameters());
  ask(std::move(what));
}

void postgres_outbox::settle(const settlement& what, then next) {
  choice_.on_settled(claimed_, what.published.size() + what.set_back.size());
  request out;
  out.settles = !what.empty();
  if (!what.published.empty())
    add(out.steps, pg::statement::mark_published,
        {pg::uuid_array(what.published), pg::tid_array(what.places)});
  if (!what.set_back.empty()) add(out.steps, pg::statement::set_back, set_back_parameters(what.set_back));
  if (!what.released.empty()) add(out.steps, pg::statement::release, {pg::int8_array(what.released)});
  add_settle(out);
  add(out.steps, pg::statement::commit);
  hold(0);
  if (kind_ == session_kind::own) out.ends = {.start = start_, .passed = what.passed};
  if (next == then::claim) add_claim(out, floors_.parameters_after(out.ends));
  ask(std::move(out));
}

// In the same round trip as the marks.
void postgres_outbox::add_settle(request& to) {
  if (kind_ != session_kind::own || !floors_.take_turn_to_settle(std::chrono::steady_clock::now())) return;
  to.settle_at = to.steps.steps().size();
  to.steps.text(pg::settle_statement(settings_.schema, floors_.settled()));
}

// The shards that this session has locked, instead of those before.
void postgres_outbox::hold(std::uint64_t shards) {
  floors_.leave(held_);
  held_ = shards;
  floors_.take(held_);
}

void postgres_outbox::ask(request what) {
  what.generation = floors_.generation();
  asked_ = std::move(what);
  if (current_ != nullptr) current_->interrupt();
}

int postgres_outbox::shards_within(reach how_far) const {
  return how_far == reach::share ? settings_.shards_per_claim : shard_count;
}

void postgres_outbox::add_claim(request& to, std::vector<std::string> floors) {
  start_ = floors_.start_of_batch();
  add_begin(to.steps);
  // A pooler may go over to another server without a word.
  const bool own = kind_ == session_kind::own;
  choice_.begin(own && floors_.floors_known());
  if (choice_.few()) {
    to.claim_at = add_few(to.steps, choice_.parameters(), std::move(floors));
  } else {
    to.take_at = to.steps.steps().size();
    add(to.steps, pg::statement::take_shards,
        take_parameters(shards_within(to.how_far), own ? std::move(floors) : claim_floors::no_parameters(),
                        own ? floors_.held() : 0));
    to.claim_at = add_choice(to.steps);
  }
  add(to.steps, pg::statement::guard);
}

std::size_t postgres_outbox::add_few(pg::pipeline& to, std::vector<std::string> parameters,
                                     std::vector<std::string> floors) const {
  parameters.insert(parameters.end(), std::make_move_iterator(floors.begin()),
                    std::make_move_iterator(floors.end()));
  add(to, pg::statement::claim_few, std::move(parameters));
  return to.steps().size() - 1;
}

// Returns the index of the claim's rows among the answers.
std::size_t postgres_outbox::add_choice(pg::pipeline& to) const {
  if (choice_.in_bulk()) return add_in_bulk(to, choice_.parameters());
  add(to, choice_.statement(), choice_.parameters());
  return to.steps().size() - 1;
}

std::size_t postgres_outbox::add_in_bulk(pg::pipeline& to, std::vector<std::string> parameters) const {
  add(to, pg::statement::bulk_plan);
  add(to, pg::statement::claim_in_bulk, std::move(parameters));
  add(to, pg::statement::usual_plan);
  return to.steps().size() - 2;
}

}  // namespace outboxd::relay
