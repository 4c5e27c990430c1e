// doorbell_model: writers, relays and the doorbell's three locks, small enough to try every order of their steps.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace outboxd::test {

// What to leave out or to do otherwise, to see that it is noticed.
enum class flaw {
  none,
  mute_tried_once,         // the trigger keeps silent on SKIP without trying MUTE again
  no_skip,                 // the relay goes to sleep without waiting for silent writers
  look_before_skip,        // it looks first, and waits then
  skip_before_release,     // it waits first, and gives up MUTE then
  forgets_timeout,         // who asked for MUTE in vain goes to sleep without more ado
  silent_in_lost_session,  // the same for one whose session with MUTE was lost
  mute_not_checked,        // who cools does not ask whether the server has ended its session with MUTE
  no_look_on_listening,    // no look after listening again
};

struct bounds {
  int writers = 2;
  int statements = 2;
  int relays = 2;
  bool savepoints = false;
  bool lost_sessions = false;
  bool crashes = false;  // of relays
};

// The locks that one transaction or savepoint has taken, and what it has done.
struct scope {
  bool mute = false;
  bool skip = false;
  bool event = false;
  bool notify = false;
  auto operator<=>(const scope&) const = default;
  void merge(const scope& inner);
};

struct writer {
  enum class at : std::uint8_t { between, mute, skip, mute_again, visible, done };
  at pc = at::between;
  std::uint8_t statements = 0;
  bool inside = false;  // a savepoint
  scope outer;
  scope inner;
  bool unseen = false;  // its events are committed, and nobody has looked since
  auto operator<=>(const writer&) const = default;
};

struct relay {
  enum class at : std::uint8_t {
    sleeping,
    alert,     // looks by itself, holds nothing
    queueing,  // has QUEUE, waits for MUTE
    hot,
    cooling,
    last_look,  // the silence is over
    dead,
  };
  at pc = at::cooling;
  bool owes = true;
  bool listens = true;
  bool notified = false;  // under way
  bool has_skip = false;
  bool lingers = false;  // a session is lost that has or waits for MUTE, and the server does not know yet
  bool looked_first = false;  // of the flaws
  auto operator<=>(const relay&) const = default;
};

struct world {
  std::array<writer, 2> writers;
  std::array<relay, 2> relays;
  bool crashed = false;
  auto operator<=>(const world&) const = default;
};

// All of a world in one number. Worlds that differ in who is the first writer or relay have the same.
std::uint64_t key_of(const world& of);

struct step {
  const char* who;
  std::size_t which;
  const char* what;
  world to;
};

class doorbell_model {
 public:
  doorbell_model(const bounds& within, flaw with) : within_(within), with_(with) {}

  world begin() const;
  // Everything that may happen next, but for the sweep at each interval.
  std::vector<step> next(const world& from) const;

  // Nothing more happens by itself, and no relay is on the way to sleep.
  bool at_rest(const world& in) const;
  // Committed events that nobody has looked for.
  static bool waiting(const world& in);
  // A living relay's sweep at its interval.
  static void look(world& in);
  static bool alive(const world& in);

 private:
  void write(const world& from, std::size_t who, std::vector<step>& out) const;
  void listen(const world& from, std::size_t who, std::vector<step>& out) const;
  void run(const world& from, std::size_t who, std::vector<step>& out) const;
  void crash(const world& from, std::size_t who, std::vector<step>& out) const;

  bounds within_;
  flaw with_;
};

}  // namespace outboxd::test
