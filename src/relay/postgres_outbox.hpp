// postgres_outbox: a lane's session with the outbox in PostgreSQL, reconnected for ever.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "pg/connection.hpp"
#include "pg/outbox_statements.hpp"
#include "relay/claim_choice.hpp"
#include "relay/claim_floors.hpp"
#include "relay/database_session.hpp"
#include "relay/link_observer.hpp"
#include "relay/outbox.hpp"
#include "relay/reconnect_pause.hpp"

namespace outboxd::relay {

class postgres_outbox final : public outbox {
 public:
  postgres_outbox(const boost::asio::any_io_executor& on, const postgres_settings& settings,
                  claim_floors& floors, link_observer& observer);

  // Connects, serves, reconnects, until stop().
  boost::asio::awaitable<void> run(outbox_listener& listener);
  void stop();

  void claim(reach how_far) override;
  void settle(const settlement& what, then next) override;

 private:
  struct request {
    pg::pipeline steps;
    bool settles = false;                  // writes what became of a batch
    std::optional<std::size_t> take_at;    // index of the row of take_shards among the answers
    std::optional<std::size_t> claim_at;   // of the claim's rows
    std::optional<std::size_t> settle_at;  // of the row of settle
    reach how_far = reach::share;
    unsigned generation = 0;       // of the floors
    claim_floors::batch_end ends;  // the batch that it settles
  };
  using rows_of_each = std::vector<pg::rows>;

  // What a claim has brought.
  struct claim_answer {
    batch claimed;
    std::vector<std::int64_t> shards;  // that it has locked
    std::vector<std::int64_t> starts;
    std::optional<std::int64_t> lowest;
    bool again = false;  // nothing, but there may be something: the next one
  };

  boost::asio::awaitable<result<void>> open(pg::connection& link);
  boost::asio::awaitable<result<void>> begin_own(pg::connection& link);
  boost::asio::awaitable<result<void>> begin_pooled(pg::connection& link);
  void add(pg::pipeline& to, std::string_view statement, std::vector<std::string> parameters = {}) const;
  void add_begin(pg::pipeline& to) const;
  void add_trial(pg::pipeline& to) const;
  boost::asio::awaitable<error> serve(pg::connection& link, outbox_listener& listener);
  void read_settled(const request& asked, const rows_of_each& got);
  boost::asio::awaitable<result<claim_answer>> read_claim(pg::connection& link, const request& asked,
                                                          rows_of_each& got);
  boost::asio::awaitable<result<claim_answer>> read_shards(pg::connection& link, const request& asked,
                                                           rows_of_each& got);
  result<claim_answer> read_few(const pg::rows& claimed);
  boost::asio::awaitable<result<batch>> claim_again(pg::connection& link, Oid payloads);
  boost::asio::awaitable<result<void>> end_claim(pg::connection& link);
  void ask(request what);
  void add_settle(request& to);
  int shards_within(reach how_far) const;
  void add_claim(request& to, std::vector<std::string> floors);
  std::size_t add_choice(pg::pipeline& to) const;
  std::size_t add_few(pg::pipeline& to, std::vector<std::string> parameters,
                      std::vector<std::string> floors) const;
  std::size_t add_in_bulk(pg::pipeline& to, std::vector<std::string> parameters) const;
  void hold(std::uint64_t shards);

  boost::asio::any_io_executor executor_;
  const postgres_settings& settings_;
  claim_floors& floors_;
  link_observer& observer_;
  reconnect_pause pause_;
  claim_choice choice_;
  std::vector<pg::prepared> statements_;
  session_kind kind_ = session_kind::own;  // of the session
  bool moved_ = false;                     // a session was found to be another one than before: for good
  pg::connection* current_ = nullptr;
  std::optional<request> asked_;
  claim_floors::batch_start start_;  // of the last claim
  std::uint64_t held_ = 0;           // the shards of the claim, a bit for each
  std::size_t claimed_ = 0;          // its events
  bool stopping_ = false;
};

}  // namespace outboxd::relay
