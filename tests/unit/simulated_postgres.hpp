// simulated_postgres: a small PostgreSQL with one outbox: transactions, snapshots, locks, crashes, and the
// statements of a store.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "flow/stream/stream.hpp"
#include "virtual_world.hpp"

namespace outboxd::test {

// What a simulation leaves out, to see that it is missed. All true: nothing.
struct rules {
  bool ties = true;              // (a) ends WITH TIES
  bool by_key = true;            // a row that is read again is known by its key
  bool top_of_any = true;        // the next seq is the highest visible one, whatever its status
  bool late_open = true;         // (b)
  bool late_new = true;          // (c)
  bool going_back_alone = true;  // the rows of a read that goes back are not used
  bool position_dropped = true;  // when the connection is lost, with all that is in memory
  bool dead_synchronous = true;
  bool dead_awaited = true;            // the successors of a dead one wait until that is recorded
  bool held_first = true;              // a new leader learns what is held before it sends
  bool look_up_after_records = true;   // an empty look-up sees all that has been parked
  bool release_below_position = true;  // parked events above the position stay where they are
  bool resumed_at_start = true;        // a new leader looks for what waits for pauses that have ended
  bool dead_first = true;             // a new leader that holds behind dead events knows them before it sends
  bool saved_below_unsettled = true;  // the saved seq is below the lowest event that is not settled
  bool unsettled_saved = true;        // beside the position, by id
  bool copy_told = true;              // a position that was copied here from elsewhere is not taken up
  bool empty_spans = true;            // (c) goes by the rows that there are, not by transactions
  bool slice_cuts = true;             // (c) in slices: the position has seen up to where the slice ends
  bool slices_first = true;           // (a) waits for the last slice
  bool lead_checked = true;           // who was stopped for long sends nothing before an answer
  bool no_lead_in_recovery = true;    // a standby gives no lead
  bool background_walk = true;        // over what the position has passed
  bool due_after = true;              // a due read begins after those that the one before has brought
  bool locked_skipped = true;         // a mark that has met a lock marks what is not locked
  bool marks_again = true;            // what somebody has locked is marked later
  bool places_counted = true;         // a mark by place tells that it has missed a row
  bool kind_kept = true;              // a hand's reset keeps the kind of a waiting row
  bool look_up_unasked = true;        // held aggregates are looked at again without a hit in memory
  bool makes_way = true;              // a leader without a broker makes way for a relay that has one
  bool laggards_after_read = true;    // who was left behind is read after the others
  bool looked_again = true;           // what waits for longer is looked at before it is sent
  bool changes_told = true;           // a mark by key tells what has changed since it was read
  bool waits_found = true;            // a leader learns which destinations events wait for
};

enum class row_status : std::uint8_t { pending, waiting, published, dead };

// What is wrong with an event by itself.
enum class ailment : std::uint8_t {
  none,
  unroutable,
  missing,   // the broker closes the channel over it
  crashing,  // the broker closes the connection over it
  cutting,   // the connection is gone over it, without a word
  unencodable,
  unreadable,
  huge,  // as a text it is larger than any broker takes, and takes longer than a statement may
};
constexpr bool closes_something(ailment what) {
  return what == ailment::missing || what == ailment::crashing || what == ailment::cutting;
}
const char* type_of(ailment what);
const char* aggregate_type_of(flow::aggregate which);

// The routing key that goes to an exchange of its own.
inline constexpr int other_exchange = 3;

// What an update changes.
struct row_state {
  row_status status = row_status::pending;
  flow::exception why = flow::exception::none;
  timestamp available_at;
  int attempts = 0;
  std::string failure;  // the code of the latest
  std::optional<flow::destination_id> waits_for{};
  std::optional<timestamp> first_failed_at{};
  std::uint32_t place = 0;
  std::uint32_t written_by = 0;
  int content = 0;
  clock::time_point put_off_until{};  // by hand: not to be sent before
};

// What a row was by hand, and since when.
struct handled {
  clock::time_point when;
  int content = 0;
  clock::time_point not_before{};
};

// In force until its end.
struct timed_pause {
  flow::pause what;
  clock::time_point end = clock::time_point::max();
};

struct table_row {
  std::optional<std::size_t> twin;  // its id is that of this row
  std::int64_t seq = 0;
  flow::xid tx = 0;
  flow::aggregate of = 0;
  row_state now;
  ailment ill = ailment::none;
  bool large = false;
  bool visible = false;  // its transaction has committed
  bool gone = false;     // it was rolled back or deleted
  bool scheduled = false;
  clock::time_point not_before{};  // of one that is scheduled
  bool touched = false;            // an operator has changed it
  bool restored = false;           // it came in without the trigger, with the xid of another server
  std::uint64_t born = 0;          // when its seq was taken, in the order of everything
  std::uint64_t landed = 0;        // when its transaction committed
  clock::time_point locked_until{};
  clock::time_point refuses_until{};  // PostgreSQL will not write it until then
  std::vector<handled> by_hand{};     // what it was meanwhile, the latest last
  int delivered = 0;
  bool refused = false;  // by the broker, once or more
  int sent = 0;          // its content when it was sent last
  int key = 0;           // its routing key: 0 by its event type, or one of three
};

class simulated_postgres {
 public:
  struct limits {
    std::size_t shards = 1;
    flow::xid xids_at_once = 20'000;       // in (c), without asking how many rows they have
    std::ptrdiff_t rows_at_once = 20'000;  // and else
    std::size_t walk_rows = 1'000;
    std::size_t page = 500;  // of held aggregates
    std::int64_t fetched_bytes = 7'000;
    std::int64_t slow_in_thousand = 0;  // reads of texts that take longer than a statement may
  };
  enum class saver { nobody, this_server, another };
  struct saved {
    flow::saved_position what;
    saver by = saver::nobody;
  };

  simulated_postgres(virtual_world& world, const limits& bounds, const rules& with);

  // Writers.
  std::int64_t nextval();
  void set_sequence(std::int64_t next) { next_seq_ = next; }
  std::int64_t sequence() const { return next_seq_; }
  flow::xid begin();
  // Others have had so many transactions, without a row in the outbox.
  void burn(flow::xid transactions);
  std::size_t insert(flow::xid by, table_row row);
  void restore(table_row row);
  void remove(std::size_t row) { rows[row].gone = true; }  // by a rollback to a savepoint
  void prepare(flow::xid which);
  void end(flow::xid which, bool commit);

  // An operator's own transaction that changes one row, durably.
  void change(std::size_t row, const std::function<void(table_row&)>& how);

  // Somebody changes what is no part of the event.
  void move_row(std::size_t row) { rows[row].now.place = next_place_++; }

  // Whether it may be sent with this content, as it was in the latest second.
  bool may_be_sent(std::size_t row, int content) const;

  // The latest commits that did not wait for the disk are lost, and all that runs.
  void crash();
  // A standby takes over. It has not got the latest commits, whether they waited for the disk or not; what
  // was prepared is committed later. For a while it takes connections and is still in recovery.
  void promote();
  // The outbox is restored, on another server or on this one as it was long ago: transactions have other ids
  // than those in the rows and in the saved positions, and the latest events may not be there.
  void move();
  bool in_recovery() const { return world_.now() < recovered_at_; }
  // default_transaction_read_only is on: who leads is to leave, and may write what it knows.
  bool is_read_only() const { return world_.now() < read_only_until; }

  // Session locks, by shard: the session that leads.
  bool try_lead(std::size_t shard, std::uint64_t session);
  void unlock(std::uint64_t session);
  std::uint64_t leader_of(std::size_t shard) const { return leaders_[shard]; }
  // PRESENT, which many may hold.
  void show(std::uint64_t session, bool able);
  // Somebody who may asks for the lead of this shard for so long.
  void request(std::size_t shard, clock::time_point until) { requested_until_[shard] = until; }
  bool is_requested(std::size_t shard) const {
    const auto found = requested_until_.find(shard);
    return found != requested_until_.end() && world_.now() < found->second;
  }
  int present() const { return static_cast<int>(present_.size()); }
  void end_session(std::uint64_t which);

  flow::snapshot snapshot() const;

  // Statements.
  flow::saved_position load(std::size_t shard);
  flow::write_answer record(const std::vector<flow::failure_record>& what);
  flow::write_answer mark(const flow::mark_request& what);
  bool save(std::size_t shard, const flow::position& at, const std::vector<std::int64_t>& unsettled);
  flow::tried<flow::read_answer> read(std::size_t shard, const flow::read_request& what,
                                      const std::vector<flow::aggregate>& passing_over, bool keys_only);
  flow::tried<flow::walk_answer> walk(std::size_t shard, std::int64_t from,
                                      const std::vector<flow::aggregate>& passing_over,
                                      std::size_t at_least = 0);
  flow::tried<flow::laggards_answer> laggards(std::size_t shard, const flow::laggards_request& what,
                                              bool keys_only);
  flow::tried<flow::due_answer> due(std::size_t shard, const flow::due_cursor& after, int most,
                                    bool keys_only);
  flow::tried<std::vector<event_key>> look(const std::vector<flow::row_version>& what) const;
  flow::tried<std::vector<flow::stored_event>> fetch(const std::vector<event_key>& keys, bool measured);
  flow::tried<std::vector<flow::stored_event>> left(std::size_t shard, const std::vector<std::int64_t>& seqs,
                                                    bool keys_only);
  flow::tried<flow::release_answer> release(const std::vector<flow::aggregate>& of, int most, bool keys_only);
  flow::tried<flow::waits_answer> waits(std::size_t shard, const flow::failing_destinations_request& what);
  flow::tried<flow::waiting_answer> waiting(std::size_t shard, const flow::waiting_events_request& what,
                                            bool keys_only);
  flow::tried<flow::held_answer> held(std::size_t shard, flow::aggregate after);
  flow::tried<flow::dead_answer> dead(std::size_t shard, std::int64_t after) const;
  flow::tried<flow::pauses_answer> in_force() const;
  flow::tried<flow::resumed_answer> resumed(std::size_t shard, const flow::resume_request& what,
                                            bool keys_only);

  bool is_finished(const table_row& one) const {
    return one.gone || one.now.status == row_status::published || one.now.status == row_status::dead;
  }
  // Somebody's lock or a trigger will never let it be.
  static bool is_stuck(const table_row& one) {
    constexpr auto never = clock::time_point::max();
    return one.visible && !one.gone && (one.refuses_until == never || one.locked_until == never);
  }
  std::size_t stuck_in(std::size_t shard) const {
    return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](const table_row& one) {
      return is_stuck(one) && shard_of(one.of) == shard;
    }));
  }
  std::size_t shard_of(flow::aggregate of) const {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(of) % bounds_.shards);
  }
  std::size_t shards() const { return bounds_.shards; }
  std::uint64_t tick() { return ++order_; }
  // Rows have their number as aggregate_id, so events and messages have it, too.
  static std::size_t row_of(std::string_view aggregate_id);
  // The row whose id it has: its own, or that of a twin.
  std::size_t id_of(std::size_t row) const { return rows[row].twin.value_or(row); }
  // The row that has this key; nothing if there is none any more.
  std::optional<std::size_t> find(const event_key& key) const;

  std::vector<table_row> rows;
  std::vector<timed_pause> paused;
  int crashes = 0;                          // of any kind: what was running is gone
  int failovers = 0;                        // what was prepared is the server's own affair
  clock::time_point writes_locked_until{};  // the table, for writes
  clock::time_point reads_locked_until{};   // and for reads
  clock::time_point read_only_until{};
  std::function<void(std::size_t row)> on_published;
  std::function<void(std::size_t row, const char* what)> on_step;  // for who looks for a reason
  std::function<void()> on_dead;                                   // some are recorded as dead
  std::function<void(std::size_t row)> on_lost_dead;               // a crash has made it pending again
  std::function<void(std::size_t row)>
      on_rewritten;  // it waits for its destination, and is written once more
  std::function<void(std::size_t row, std::chrono::microseconds failing)> on_given_up;

 private:
  // A commit, and how it is lost.
  struct logged {
    flow::xid by;
    clock::time_point when;
    std::function<void()> undo;
  };

  static bool is_paused(const table_row& one, const std::vector<flow::pause>& by);
  bool waits_before(const flow::stored_event& one) const;
  // It waits for a time to come. What waits for a destination or for the end of a pause is as good as due.
  bool is_put_off(const row_state& one) const {
    return (one.why == flow::exception::scheduled ||
            (one.why == flow::exception::backing_off && !one.waits_for)) &&
           one.available_at > world_.wall() && one.available_at != timestamp::max();
  }
  void note_hand(table_row& of) const {
    of.by_hand.push_back({world_.now(), of.now.content, of.now.put_off_until});
  }
  bool shows(const table_row& one) const { return one.visible && !one.gone; }
  bool refuses(std::size_t row) const { return rows[row].refuses_until > world_.now(); }
  bool is_locked(std::size_t row) const { return rows[row].locked_until > world_.now(); }
  void write(std::size_t row, const std::function<void(row_state&)>& how,
             std::vector<std::function<void()>>& undoing);
  // A statement of a relay has written.
  void finish(std::vector<std::function<void()>> undoing, bool synchronous);
  void log(flow::xid by, std::function<void()> undo);
  void flush();
  void lose_commits_after(std::size_t kept);
  void end_what_runs();
  void give_ids_again(flow::xid latest);
  void finish_prepared();
  flow::stored_event stored(std::size_t row, bool keys_only);
  flow::xid looked_up_to(const flow::snapshot& since, const flow::snapshot& now) const;
  void add_summary(std::size_t shard, flow::read_answer& to) const;
  template <class Answer>
  bool cannot_read(flow::tried<Answer>& out) const {
    if (reads_locked_until <= world_.now()) return false;
    out.result = flow::read_result::deferred;
    return true;
  }
  // Fills the rows in, or says that one of them cannot be read.
  template <class Answer>
  void bring(const std::vector<std::size_t>& which, bool keys_only, flow::tried<Answer>& out,
             std::vector<flow::stored_event>& into);

  virtual_world& world_;
  limits bounds_;
  rules with_;
  std::uint64_t order_ = 0;
  std::int64_t next_seq_ = 1;
  flow::xid next_xid_ = 1'000'000'000;
  flow::xid latest_completed_ = next_xid_ - 1;
  flow::xid durable_xid_ = latest_completed_;     // no lower one is given again after a crash
  flow::xid replicated_xid_ = latest_completed_;  // nor this one after a promotion
  std::set<flow::xid> running_;
  std::set<flow::xid> prepared_;
  std::vector<std::size_t> by_seq_;
  std::multimap<flow::xid, std::size_t> by_tx_;
  std::multimap<std::size_t, std::size_t> twins_;  // rows that have the id of another one
  std::deque<logged> log_;                         // of the latest time
  std::size_t flushed_ = 0;                        // of them are on disk
  clock::time_point recovered_at_{};
  std::vector<std::uint64_t> leaders_;
  std::set<std::uint64_t> present_;
  std::map<std::size_t, clock::time_point> requested_until_;
  std::vector<saved> saved_;
  std::uint32_t next_place_ = 1;
  std::uint32_t next_alias_ = 1;
};

}  // namespace outboxd::test
