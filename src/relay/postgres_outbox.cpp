#include "relay/postgres_outbox.hpp"

#include "core/failpoint.hpp"
#include "pg/binary.hpp"
#include "pg/claimed_rows.hpp"
#include "pg/outbox_statements.hpp"

namespace outboxd::relay {
namespace {

std::string name(std::string_view statement) {
  return std::string(statement);
}

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
                                 link_observer& observer)
    : executor_(on), settings_(settings), observer_(observer), pause_(on) {}

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
      listener.on_outbox_down();
      observer_.on_link_down(peer::database, why);
    } else {
      observer_.on_link_refused(peer::database, opened.error());
    }
    current_ = nullptr;
    if (!stopping_) co_await pause_.wait();
  }
}

boost::asio::awaitable<result<void>> postgres_outbox::open(pg::connection& link) {
  const auto url = settings_.url();
  if (!url) co_return tl::make_unexpected(url.error());
  auto opened = co_await link.open(*url, settings_.connect_timeout);
  if (!opened) co_return opened;
  pg::pipeline steps;
  steps.text(pg::session_settings(settings_.claim_timeout));
  for (auto& one : pg::lane_statements(settings_.schema, settings_.claim_timeout))
    steps.prepare(std::move(one.name), std::move(one.sql));
  add_trial(steps);
  const auto prepared = co_await link.execute(std::move(steps), settings_.connect_timeout);
  if (!prepared) co_return tl::make_unexpected(prepared.error());
  co_return result<void>();
}

// Each statement once, on nothing: a privilege that is missing shows now and not with the first event.
void postgres_outbox::add_trial(pg::pipeline& to) {
  to.run(name(pg::statement::claim), {pg::int4(0), pg::int8(0), pg::int4(0)});
  to.run(name(pg::statement::mark_published), {pg::uuid_array({})});
  to.run(name(pg::statement::set_back), set_back_parameters({}));
  to.run(name(pg::statement::release), {pg::int8_array({})});
}

boost::asio::awaitable<error> postgres_outbox::serve(pg::connection& link, outbox_listener& listener) {
  for (;;) {
    while (!asked_ && !stopping_ && !link.lost()) co_await link.wait();
    if (link.lost()) co_return *link.lost();
    if (!asked_) co_return error{};
    request now = std::move(*asked_);
    asked_.reset();
    const auto answers = co_await link.execute(std::move(now.steps), settings_.claim_timeout);
    if (!answers) co_return answers.error();
    if (now.settles) failpoint("marked");
    if (now.settles) pause_.reset();  // not for a claim: what follows it may fail again and again
    if (!now.claim_at) {
      listener.on_released();
      continue;
    }
    auto claimed = pg::read_claim(answers->at(*now.claim_at));
    if (!claimed) co_return claimed.error();
    if (claimed->events.empty()) {
      pause_.reset();
      pg::pipeline end;
      end.run(name(pg::statement::rollback));
      const auto ended = co_await link.execute(std::move(end), settings_.claim_timeout);
      if (!ended) co_return ended.error();
      if (claimed->again) {
        claim();
        continue;
      }
    }
    listener.on_claimed(std::move(*claimed));
  }
}

void postgres_outbox::stop() {
  stopping_ = true;
  pause_.stop();
  if (current_ != nullptr) current_->close();
}

void postgres_outbox::claim() {
  request what;
  what.claim_at = add_claim(what.steps);
  ask(std::move(what));
}

void postgres_outbox::settle(const settlement& what, then next) {
  request out;
  out.settles = !what.empty();
  if (!what.published.empty())
    out.steps.run(name(pg::statement::mark_published), {pg::uuid_array(what.published)});
  if (!what.set_back.empty())
    out.steps.run(name(pg::statement::set_back), set_back_parameters(what.set_back));
  if (!what.released.empty()) {
    const std::vector<std::optional<std::int64_t>> seqs(what.released.begin(), what.released.end());
    out.steps.run(name(pg::statement::release), {pg::int8_array(seqs)});
  }
  out.steps.run(name(pg::statement::commit));
  if (next == then::claim) out.claim_at = add_claim(out.steps);
  ask(std::move(out));
}

void postgres_outbox::ask(request what) {
  asked_ = std::move(what);
  if (current_ != nullptr) current_->interrupt();
}

std::size_t postgres_outbox::add_claim(pg::pipeline& to) const {
  to.run(name(pg::statement::begin));
  const std::size_t at = to.steps().size();
  to.run(name(pg::statement::claim),
         {pg::int4(settings_.batch), pg::int8(settings_.batch_bytes), pg::int4(settings_.shards_per_claim)});
  to.run(name(pg::statement::guard));
  return at;
}

}  // namespace outboxd::relay
