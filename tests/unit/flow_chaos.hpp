// flow_chaos: writers, operators, relays and faults, from a seed, and what must hold whatever they do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulated_relay.hpp"

namespace outboxd::test {

struct chaos {
  bool faults = true;
  bool refusals = true;  // by the broker and by PostgreSQL
  bool tricks = true;    // the sequence is set back
  bool pauses = true;
  flow::after_dead after_dead = flow::after_dead::go_on;
  order_mode order = order_mode::strict;
  std::int64_t max_rate = 0;                   // messages a second of each relay; 0: no limit
  std::chrono::milliseconds fresh_for{1'000};  // what waits in memory for longer is looked at again
  rules with;
};

class flow_chaos {
 public:
  flow_chaos(std::uint64_t seed, const chaos& how);
  // The schedule tells of this row, too.
  void follow(std::size_t row);
  void run();

  const std::vector<std::string>& broken() const { return broken_; }
  std::string schedule() const { return schedule_; }
  std::string history() const { return history_; }
  std::size_t steps() const { return world_.steps(); }
  std::size_t events() const { return table_.rows.size(); }
  std::size_t duplicates() const { return duplicates_; }

 private:
  struct transaction {
    flow::xid id = 0;
    int crashes = 0;
    int failovers = 0;
    std::vector<std::size_t> rows;
    int left = 0;  // statements
    bool prepared = false;
  };

  // Longer than any outage in a schedule, with the pauses of its probes. When these are over it becomes a
  // second: what is bad by itself is to die, one event of an aggregate after another.
  std::chrono::milliseconds give_up_after_{40'000};

  static simulated_postgres::limits limits_from(virtual_world& world);
  void start_relay();
  void write();
  void statement(const std::shared_ptr<transaction>& in);
  void finish(const std::shared_ptr<transaction>& in);
  void insert(transaction& in);
  void operate();
  std::size_t any_row();
  void replace(std::size_t row);
  void edit(std::size_t row);
  void put_off(std::size_t row);
  void cancel(std::size_t row);
  void on_sent(std::size_t row, int content);
  void pause();
  void discard_dead();
  void restore();
  void insert_stuck();
  void lock();
  void break_destinations();
  void strike();
  void strike(simulated_relay& victim);
  void ask_for_lead(simulated_relay& of, std::size_t shard, std::size_t who);
  void end_server();
  void crash();
  void promote();
  void heal();
  void cut_off_one();

  void on_delivered(std::size_t row);
  void on_published(std::size_t row);
  void check_position();
  void check_end();
  bool at_rest() const;
  bool is_before(const table_row& earlier, const table_row& later) const;

  void say(const std::string& what);
  void require(bool holds, const std::string& rule);

  virtual_world world_;
  chaos how_;
  bool sequence_tricks_;
  bool hand_overs_;
  bool locks_;
  bool has_stuck_;    // rows that are never marked
  bool looks_again_;  // at what waits in memory for longer than a second
  simulated_postgres table_;
  simulated_exchange exchange_;
  simulated_relay::settings settings_;
  std::vector<flow::aggregate> aggregates_;
  std::vector<std::unique_ptr<simulated_relay>> relays_;
  bool calm_ = false;
  std::size_t duplicates_ = 0;
  std::string schedule_;
  std::string history_;
  std::vector<std::string> broken_;
};

}  // namespace outboxd::test
