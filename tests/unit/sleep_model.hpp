// sleep_model: writers, relays and the lock SLEEP of each shard, small enough to try every order of their
// steps.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace outboxd::test {

class sleep_model {
 public:
  // What to leave out or to do otherwise, to see that it is noticed.
  enum class flaw : std::uint8_t {
    none,
    no_read_after_grant,     // who is granted SLEEP sleeps at once
    earlier_read_accepted,   // a read that was under way at the grant counts as the one after it
    unlocks_before_visible,  // a writer gives SLEEP back before others see its commit
    refused_says_nothing,    // a writer that could not have SLEEP does not notify
    sleeps_on_short_read,    // a read that stopped short counts as a whole one
    deaf_while_reading,      // a notification that comes during a read is taken to be answered by it
    sleeps_without_session,  // a leader that has lost its session with SLEEP does not wake up
    one_answer_for_all,      // a writer that shares the first shard's SLEEP does not look at the others'
    rings_for_one,           // a writer rings for the shard alone whose SLEEP it was refused
  };

  struct bounds {
    std::array<int, 2> inserts{1, 0};  // of each writer, in its one transaction; 3 at most
    // More than 1: into any of them at each insert, and each shard has one relay. most_shards at most.
    std::size_t shards = 1;
    bool savepoints = false;
    bool prepares = false;
    int relays = 1;
    bool short_reads = false;
    int faults = 0;  // a relay killed, or one session of it lost: so many in all, 3 at most
  };

  static constexpr std::size_t most_shards = 3;
  using shard_set = std::bitset<most_shards>;

  // What one transaction or savepoint has: SLEEP of some shards, rows in some, and a notification to send for
  // these, which is one for all.
  struct scope {
    shard_set locks;
    shard_set events;
    shard_set rings;
    void merge(const scope& inner);
  };

  // How far the events of a committed transaction have come.
  enum class news : std::uint8_t { none, unread, under_way, read };

  struct writer {
    // trying: in the midst of an INSERT. ending: others see the commit, but its locks or its notification may
    // still be to come.
    enum class at : std::uint8_t { open, trying, prepared, unlocked, ending, done };
    at pc = at::open;
    std::uint8_t inserts = 0;
    std::uint8_t tried = 0;  // in the midst of an INSERT: so many shards' SLEEP it has; 0: in none
    bool inside = false;     // a savepoint
    scope outer;
    scope inner;
    std::array<news, most_shards> events{};

    bool locks(std::size_t shard) const { return outer.locks[shard] || inner.locks[shard]; }
    scope& here() { return inside ? inner : outer; }
  };

  // The exclusive side of SLEEP, as the server has it.
  enum class hold : std::uint8_t { none, queued, held };

  struct relay {
    enum class at : std::uint8_t {
      dead,
      standby,
      awake,       // leads and polls
      requesting,  // the same; has asked for SLEEP, and has no answer yet
      granted,     // knows that it has SLEEP; has not read since
      asleep,      // reads when notified
    };
    enum class reading : std::uint8_t { no, early, fresh };  // fresh: begun when it knew of the grant

    at pc = at::dead;
    std::uint8_t shard = 0;
    bool lead = false;
    hold sleep = hold::none;
    // A session that is cut: the server frees its locks, and the relay notices, each in its own time. When
    // the relay is first, a ghost is left: a session of the server with nobody at the other end.
    bool stream_cut = false;
    bool sleep_cut = false;
    bool ghost_lead = false;
    hold ghost_sleep = hold::none;
    reading read = reading::no;
    bool stops_short = false;  // the read under way
    bool notified = false;     // a notification is on its way
    bool again = false;        // it has arrived (or a read has stopped short), and no read has begun since
  };

  struct world {
    std::array<writer, 2> writers;
    std::array<relay, most_shards> relays;
    std::uint8_t faults = 0;
  };

  struct step {
    const char* who;
    std::size_t which;
    const char* what;
    // It happens by itself, sooner or later. Nobody has to write, to fail, to ask for SLEEP or to wake up.
    bool fair;
    world to;
  };

  sleep_model(const bounds& within, flaw with) : within_(within), with_(with) {}

  world begin() const;
  // Everything that may happen next. There is no sweep.
  void next(const world& from, std::vector<step>& out) const;

  // All of a world in two numbers. Worlds that differ in who is the first relay of a shard have the same.
  using key = std::pair<std::uint64_t, std::uint64_t>;
  key key_of(const world& of) const;
  // A leader sleeps with something committed in its shard.
  static bool asleep(const world& in);
  // And it has not read all of that, and nothing is under way that would make it read.
  static bool misses(const world& in);
  // All that is committed is read, but for shards whose relays are all dead.
  static bool all_read(const world& in);

 private:
  void write(const world& from, std::size_t who, std::vector<step>& out) const;
  void try_next(const world& from, std::size_t who, std::vector<step>& out) const;
  void finish(const world& from, std::size_t who, std::vector<step>& out) const;
  void lead(const world& from, std::size_t who, std::vector<step>& out) const;
  void sleep(const world& from, std::size_t who, std::vector<step>& out) const;
  void serve(const world& from, std::size_t who, std::vector<step>& out) const;
  void notice(const world& from, std::size_t who, std::vector<step>& out) const;
  void fail(const world& from, std::size_t who, std::vector<step>& out) const;
  void answer(world& in, relay& by) const;
  // Committed events of the shard that no leader of now has read.
  static bool unread(const world& in, std::size_t shard);
  static bool alive(const world& in, std::size_t shard);
  // The shard's leader sleeps, and nothing is under way that would make it read.
  static bool silence(const world& in, std::size_t shard);

  bounds within_;
  flaw with_;
};

}  // namespace outboxd::test
