// sleep_model: writers, relays and the lock SLEEP of each shard, small enough to try every order of their
// steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
    one_answer_for_all,      // a writer that shares one shard's SLEEP does not look at the other's
  };

  struct bounds {
    std::array<int, 2> inserts{1, 0};  // of each writer, in its one transaction; 3 at most
    // 2: the first writer alone inserts, into either shard at each insert, and each shard has one relay.
    std::size_t shards = 1;
    bool savepoints = false;
    bool prepares = false;
    int relays = 1;
    bool short_reads = false;
    int faults = 0;  // a relay killed, or one session of it lost: so many in all, 3 at most
  };

  // What one transaction or savepoint has in one shard: a lock, rows, and a notification to send.
  struct scope {
    bool lock = false;
    bool event = false;
    bool ring = false;
    void merge(const scope& inner);
  };

  // How far the events of a committed transaction have come.
  enum class news : std::uint8_t { none, unread, under_way, read };

  struct writer {
    // ending: others see the commit, but its lock or its notification may still be to come.
    enum class at : std::uint8_t { open, prepared, unlocked, ending, done };
    at pc = at::open;
    std::uint8_t inserts = 0;
    bool inside = false;         // a savepoint
    std::array<scope, 2> outer;  // by shard
    std::array<scope, 2> inner;
    std::array<news, 2> events{};

    bool locks(std::size_t shard) const { return outer[shard].lock || inner[shard].lock; }
    bool has(bool scope::*what) const { return outer[0].*what || outer[1].*what; }
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
    std::array<relay, 2> relays;
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

  // All of a world in one number. Worlds that differ in who is the first relay of a shard have the same.
  std::uint64_t key_of(const world& of) const;
  // A leader sleeps with something committed in its shard.
  static bool asleep(const world& in);
  // And it has not read all of that, and nothing is under way that would make it read.
  static bool misses(const world& in);
  // All that is committed is read, but for shards whose relays are all dead.
  static bool all_read(const world& in);

 private:
  void write(const world& from, std::size_t who, std::vector<step>& out) const;
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
