#include "relay/sweeper.hpp"

#include <algorithm>
#include <cstdlib>

#include "pg/outbox_statements.hpp"

namespace outboxd::relay {
namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

constexpr int most_due_per_sweep = 10'000;

// The release of orphans takes at most one part in this many of the time.
constexpr int release_share = 20;
// And so does the search where no claim looks: it never ends, and seldom finds something.
constexpr int search_share = 500;
constexpr std::string_view search_from_the_beginning = "{-1,0}";

// "extract(epoch …)" in text format: seconds with a fraction, rounded up. Not above zero: due already.
milliseconds read_seconds(std::string_view text) {
  const double seconds = std::strtod(std::string(text).c_str(), nullptr);
  if (seconds <= 0) return milliseconds(0);
  return milliseconds(static_cast<milliseconds::rep>(std::min(seconds, 1e9) * 1000) + 1);
}

std::int64_t read_integer(std::string_view text) {
  return std::strtoll(std::string(text).c_str(), nullptr, 10);
}

// The answer to a sweep.
class sweep_row {
 public:
  explicit sweep_row(const pg::rows& from) : from_(from) {}
  bool is(pg::sweep_column column) const { return at(column) == "t"; }
  std::string_view at(pg::sweep_column column) const { return from_.at(0, static_cast<int>(column)); }
  std::optional<std::string_view> find(pg::sweep_column column) const {
    return from_.find(0, static_cast<int>(column));
  }
  pg::sweep_knowledge knowledge() const {
    const auto text = [&](pg::sweep_column column) { return std::string(find(column).value_or("")); };
    using column = pg::sweep_column;
    return {.floors = text(column::floors),
            .settled = {.settled = text(column::settled),
                        .mark = text(column::mark),
                        .writers = text(column::writers)},
            .epoch = text(column::epoch),
            .searched = text(column::searched)};
  }

 private:
  const pg::rows& from_;
};

}  // namespace

boost::asio::awaitable<result<void>> sweeper::begin(pg::connection& link, session_kind kind) {
  kind_ = kind;
  next_release_ = clock::now();
  next_search_ = clock::now() + interval_;
  pg::pipeline steps;
  if (kind == session_kind::own) steps.text(pg::session_settings(settings_.claim_timeout));
  std::vector<std::string> trial{pg::silence_statement(settings_.schema),
                                 pg::sweep_statement(settings_.schema, 0)};
  const auto tried = co_await look(link, std::move(steps), std::move(trial));
  if (!tried) co_return tl::make_unexpected(tried.error());
  co_return result<void>();
}

boost::asio::awaitable<result<std::vector<pg::rows>>> sweeper::look(pg::connection& link, pg::pipeline steps,
                                                                    std::vector<std::string> sql) {
  if (kind_ == session_kind::pooled) {
    steps.text(std::string(pg::begin_transaction));
    steps.text(pg::transaction_settings(settings_.claim_timeout));
  }
  const auto at = static_cast<std::ptrdiff_t>(steps.steps().size());
  for (auto& one : sql) steps.text(std::move(one));
  if (kind_ == session_kind::pooled) steps.text("COMMIT");
  auto answers = co_await link.execute(std::move(steps), settings_.claim_timeout);
  if (!answers) co_return tl::make_unexpected(answers.error());
  answers->erase(answers->begin(), answers->begin() + at);
  co_return std::move(*answers);
}

boost::asio::awaitable<result<sweeper::finding>> sweeper::sweep(pg::connection& link,
                                                                std::string probe_channel,
                                                                bool check_silence) {
  const auto began = clock::now();
  const bool own = kind_ == session_kind::own;
  const bool searches = began >= next_search_;
  auto known = own ? floors_.known() : pg::sweep_knowledge();
  if (searches) known.searched = searched_.empty() ? search_from_the_beginning : searched_;
  const auto generation = floors_.generation();
  pg::pipeline nothing;
  std::vector<std::string> sql;
  if (check_silence) sql.push_back(pg::silence_statement(settings_.schema));
  sql.push_back(pg::sweep_statement(settings_.schema, most_due_per_sweep, known, probe_channel));
  const auto answers = co_await look(link, std::move(nothing), std::move(sql));
  if (!answers) co_return tl::make_unexpected(answers.error());
  using column = pg::sweep_column;
  const sweep_row found(answers->at(check_silence ? 1 : 0));
  if (found.at(column::read_only) == "on") co_return tl::make_unexpected(now_read_only(link));
  const auto learned = found.knowledge();
  if (own) floors_.learn(learned, generation);
  if (searches) {
    searched_ = learned.searched;
    const auto cost = std::chrono::duration_cast<milliseconds>(clock::now() - began);
    next_search_ = began + std::max(interval_, cost * search_share);
  }
  const auto woken = read_integer(found.at(column::woken));
  finding out{.work = found.is(column::due),
              .unannounced = found.is(column::due) && woken == 0,
              .silence_is_over = check_silence && answers->front().at(0, 0) == "t",
              .contended = found.is(column::contended),
              .moved = found.at(column::backend) != std::to_string(link.backend_pid()),
              .next = interval_};
  const auto next_due = found.find(column::seconds_to_next);
  const auto wait = next_due ? read_seconds(*next_due) : interval_;
  if (woken == most_due_per_sweep) {
    out.next = milliseconds(0);         // there may be more
  } else if (wait > milliseconds(0)) {  // else it is due, was not woken, and so is locked by somebody
    out.next = std::min(interval_, wait);
  }
  if (found.is(column::queues) && clock::now() >= next_release_) {
    const auto released = co_await release_orphans(link);
    if (!released) co_return tl::make_unexpected(released.error());
    out.work = out.work || *released;
  }
  co_return out;
}

// Rarely needed and dearer the more queues there are: its cost sets its interval.
boost::asio::awaitable<result<bool>> sweeper::release_orphans(pg::connection& link) {
  const auto began = clock::now();
  pg::pipeline alone;
  std::vector<std::string> sql{pg::release_orphans_statement(settings_.schema)};
  const auto answers = co_await look(link, std::move(alone), std::move(sql));
  if (!answers) co_return tl::make_unexpected(answers.error());
  const auto released = read_integer(answers->front().at(0, 0));
  const auto cost = std::chrono::duration_cast<milliseconds>(clock::now() - began);
  // As many as there may be in one go: there may be more.
  next_release_ = clock::now() + (released == pg::most_released ? milliseconds(0)
                                                                : std::max(interval_, cost * release_share));
  co_return released > 0;
}

}  // namespace outboxd::relay
