// writers: random transactions from a seed.
#include "writers.hpp"

#include <fmt/format.h>

#include <optional>
#include <random>
#include <utility>

#include "support/database.hpp"
#include "support/eventually.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;
using clock = std::chrono::steady_clock;

constexpr auto application = "chaos_writer";

std::int64_t milliseconds_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock::now().time_since_epoch()).count();
}

}  // namespace

/// One writer: a session, and the events of the current transaction.
class writers::one {
 public:
  one(writers& all, int number)
      : all_{all},
        number_{number},
        random_{all.settings_.seed * 1000 + static_cast<std::uint64_t>(number)},
        deck_{random_(), static_cast<std::size_t>(number), static_cast<std::size_t>(all.settings_.writers)} {
    connect();
  }

  void transaction();
  void pause() {
    const auto most = all_.settings_.longest_pause.count();
    std::this_thread::sleep_for(std::chrono::milliseconds{up_to(static_cast<int>(most))});
  }

 private:
  int up_to(int most) { return static_cast<int>(random_() % static_cast<std::uint64_t>(most + 1)); }
  bool chance(int in_a_thousand) { return up_to(999) < in_a_thousand; }

  void connect();
  void prepare();
  void commit_prepared();
  void statements();
  void insert();
  void insert_good_or_bad(const std::string& aggregate);
  void insert_odd(const std::string& aggregate);
  bool is_odd_next();
  event_kind choose_kind();
  int choose_size();
  std::string new_id();
  void abort(std::size_t from);
  void write_down(std::unordered_set<std::string> written::*into);

  writers& all_;
  int number_;
  std::mt19937_64 random_;
  std::optional<database> session_;
  int backend_ = 0;
  std::string prepared_;  // the transaction that is or may be prepared, and not committed yet
  int prepared_so_far_ = 0;
  struct open_event {
    std::string id;
    event_kind kind = event_kind::good;
    const poison* odd = nullptr;  // its row in the poison table, if any
  };
  std::vector<open_event> open_;  // events of the current transaction
  std::vector<open_event> aborted_;
  odd_deck deck_;
  bool has_drawn_ = false;
  std::optional<commit_time> commit_;
};

// A COMMIT whose reply was lost may still be running in the old session; the order is defined only after it
// has ended.
void writers::one::connect() {
  const auto old_is_gone = [this] {
    try {
      session_.emplace(all_.arena_.connect(application));
      return session_->number(
                 "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2",
                 {std::to_string(backend_), application}) == 0 ||
             backend_ == session_->backend_pid();
    } catch (const database_error&) {
      return false;  // lost again
    }
  };
  eventually("the writer's old session has ended", old_is_gone, 300s);
  backend_ = session_->backend_pid();
}

void writers::one::transaction() {
  open_.clear();
  aborted_.clear();
  commit_.reset();
  bool committing = false;
  auto outcome = &written::aborted;
  bool interrupted = false;
  const bool two_phases = chance(20);
  auto& since = all_.since_[static_cast<std::size_t>(number_)];
  since = milliseconds_now();
  try {
    session_->exec("BEGIN");
    if (two_phases)
      session_->exec("SET LOCAL outbox.notify = off");  // a transaction that notifies cannot be prepared
    statements();
    if (chance(150)) {
      session_->exec("ROLLBACK");
    } else {
      committing = true;
      if (two_phases) prepare();
      const auto began = clock::now();
      session_->exec(two_phases ? fmt::format("COMMIT PREPARED '{}'", prepared_) : "COMMIT");
      prepared_.clear();
      commit_ = {began, std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - began)};
      outcome = &written::committed;
    }
  } catch (const database_error&) {
    interrupted = true;
    if (PQstatus(session_->handle()) == CONNECTION_OK) {
      // The server rejected it; the transaction is rolled back even without a reply to the ROLLBACK.
      try {
        session_->exec("ROLLBACK");
      } catch (const database_error&) {
        connect();
      }
    } else {
      if (committing) outcome = &written::unknown;
      since = 0;
      connect();
    }
    if (!prepared_.empty()) {
      outcome = &written::unknown;
      since = 0;
      commit_prepared();
    }
  }
  since = 0;
  const std::lock_guard lock{all_.mutex_};
  auto& into = all_.written_;
  for (const auto& [id, kind, odd] : open_) {
    (into.*outcome).insert(id);
    if (kind != event_kind::good) into.bad.emplace(id, kind);
    if (odd != nullptr) into.odd.emplace(id, odd);
  }
  for (const auto& event : aborted_) into.aborted.insert(event.id);
  if (commit_) into.commits.push_back(*commit_);
  ++into.transactions;
  if (interrupted) ++into.interrupted;
}

void writers::one::prepare() {
  prepared_ = fmt::format("{}_{}_{}", all_.arena_.vhost(), number_, ++prepared_so_far_);
  session_->exec(fmt::format("PREPARE TRANSACTION '{}'", prepared_));
}

// A prepared transaction survives its session and a crash. If it does not exist, it was rejected, or is
// committed.
void writers::one::commit_prepared() {
  const auto done = [this] {
    try {
      session_->exec("SET default_transaction_read_only = off");
      if (session_->number("SELECT count(*) FROM pg_prepared_xacts WHERE gid = $1", {prepared_}) > 0)
        session_->exec(fmt::format("COMMIT PREPARED '{}'", prepared_));
      session_->exec("RESET default_transaction_read_only");
      return true;
    } catch (const database_error&) {
      if (PQstatus(session_->handle()) != CONNECTION_OK) connect();
      return false;
    }
  };
  eventually("the prepared transaction has ended", done, 300s);
  prepared_.clear();
}

// One to four statements, sometimes a savepoint, and sometimes back to it. A few transactions are slow, so
// that others commit higher numbers before them.
void writers::one::statements() {
  const int count = 1 + up_to(3);
  for (int i = 0; i < count; ++i) {
    if (chance(10)) std::this_thread::sleep_for(std::chrono::milliseconds{100 + up_to(1400)});
    if (!chance(150)) {
      insert();
      continue;
    }
    session_->exec("SAVEPOINT inner_part");
    const auto from = open_.size();
    insert();
    insert();
    if (chance(500)) {
      session_->exec("ROLLBACK TO SAVEPOINT inner_part");
      abort(from);
    } else {
      session_->exec("RELEASE SAVEPOINT inner_part");
    }
  }
}

void writers::one::insert() {
  const int own = std::max(1, all_.settings_.aggregates / all_.settings_.writers);
  const std::string aggregate = fmt::format("{}-{}", number_, up_to(own - 1));
  if (is_odd_next())
    insert_odd(aggregate);
  else
    insert_good_or_bad(aggregate);
}

bool writers::one::is_odd_next() {
  if (all_.settings_.odd == 0) return false;
  return !std::exchange(has_drawn_, true) || chance(all_.settings_.odd);
}

// In an aggregate of good events, unless the row names its own type.
void writers::one::insert_odd(const std::string& aggregate) {
  const auto& drawn = deck_.draw();
  auto row = drawn;
  const auto fresh = new_id();
  const bool own_id = !row.columns.try_emplace("id", fmt::format("'{}'", fresh)).second;
  const auto& quoted = row.columns.at("id");
  open_.push_back({.id = own_id ? quoted.substr(1, quoted.size() - 2) : fresh, .odd = &drawn});
  row.columns.try_emplace("aggregate_type", "'order'");
  test::insert(*session_, row, aggregate, "chaos.happened");
}

void writers::one::insert_good_or_bad(const std::string& aggregate) {
  const auto kind = choose_kind();
  const auto id = new_id();
  open_.push_back({.id = id, .kind = kind});
  auto headers = fmt::format(R"({{"note": "{0}", "n": {1}}})", canary, up_to(1000));
  cell exchange;
  cell key;
  switch (kind) {
    case event_kind::good:
      if (chance(100)) key = fmt::format("chaos.other.{}", number_);
      break;
    case event_kind::long_header_name:
      headers = fmt::format(R"({{"{}": 1}})", std::string(256, 'h'));
      break;
    case event_kind::long_routing_key:
      key = std::string(256, 'k');
      break;
    case event_kind::cc_header:
      headers = R"({"CC": "chaos.copy"})";
      break;
    case event_kind::unroutable:
      key = "nobody.is.bound";
      break;
    case event_kind::missing_exchange:
      exchange = "no-such-exchange";
      break;
  }
  const int later = chance(50) ? 50 + up_to(400) : 0;
  session_->exec(
      "INSERT INTO outbox.event"
      " (id, aggregate_type, aggregate_id, event_type, payload, headers, exchange, routing_key, available_at)"
      " VALUES ($1, 'order', $2, $9,"
      " jsonb_build_object('note', $3::text, 'fill', repeat('x', $4::int)), $5, $6, $7,"
      " now() + $8::int * interval '1 millisecond')",
      {id, aggregate, canary, std::to_string(choose_size()), headers, exchange, key, std::to_string(later),
       later > 0 ? scheduled_type : "chaos.happened"});
}

event_kind writers::one::choose_kind() {
  if (!chance(all_.settings_.bad)) return event_kind::good;
  const int last = all_.settings_.refused ? event_kinds - 1 : static_cast<int>(event_kind::cc_header);
  return static_cast<event_kind>(1 + up_to(last - 1));
}

// Mostly small bodies; a few need several frames of 128 KiB.
int writers::one::choose_size() {
  if (chance(4)) return 130'000 + up_to(200'000);
  if (chance(50)) return 20'000 + up_to(40'000);
  if (chance(300)) return 1000 + up_to(4000);
  return up_to(200);
}

std::string writers::one::new_id() {
  const auto high = random_();
  const auto low = random_();
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xFFFFU,
                     high & 0xFFFFU, low >> 48U, low & 0xFFFFFFFFFFFFU);
}

void writers::one::abort(std::size_t from) {
  aborted_.insert(aborted_.end(), open_.begin() + static_cast<std::ptrdiff_t>(from), open_.end());
  open_.resize(from);
}

writers::writers(const arena& where, const writer_settings& how)
    : arena_{where}, settings_{how}, since_(static_cast<std::size_t>(how.writers)) {
  for (int i = 0; i < how.writers; ++i) threads_.emplace_back([this, i] { run(i); });
}

writers::~writers() {
  stopping_ = true;
  for (auto& thread : threads_) thread.join();
}

void writers::stop() {
  stopping_ = true;
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  const std::lock_guard lock{mutex_};
  if (failure_) std::rethrow_exception(failure_);
}

written writers::all() const {
  const std::lock_guard lock{mutex_};
  return written_;
}

std::chrono::milliseconds writers::longest_under_way() const {
  std::int64_t longest = 0;
  for (const auto& since : since_) {
    const std::int64_t began = since;
    if (began != 0) longest = std::max(longest, milliseconds_now() - began);
  }
  return std::chrono::milliseconds{longest};
}

void writers::run(int number) {
  try {
    one self{*this, number};
    while (!stopping_) {
      self.transaction();
      self.pause();
    }
  } catch (...) {
    const std::lock_guard lock{mutex_};
    if (!failure_) failure_ = std::current_exception();
  }
}

}  // namespace outboxd::chaos
