// arena: what a run has for itself: a database, a vhost with exchange and queue, users, secret files; and its
// clean-up.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/broker.hpp"
#include "support/database.hpp"

namespace outboxd::chaos {

/// Found in every payload, header value and password, and therefore in no log.
inline constexpr auto canary = "canary-7f3a";

class arena {
 public:
  /// An outbox with so many shards, and a queue of this type. Partitions of it, if it has any, are over as
  /// soon as they have begun, but for the last of some.
  arena(std::filesystem::path outboxd, std::filesystem::path logs, test::queue_type type, int shards,
        bool partitioned = false);
  ~arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  /// The program under test.
  const std::filesystem::path& outboxd() const { return outboxd_; }
  const std::filesystem::path& logs() const { return logs_; }
  const std::string& vhost() const { return name_; }
  const std::string& exchange() const { return exchange_; }
  const std::string& queue() const { return queue_; }
  /// Where dead events may be published to as well, and the queue that gets them.
  const std::string& graveyard() const { return graveyard_; }
  int shards() const { return shards_; }
  bool partitioned() const { return partitioned_; }
  /// The sequence was set back: events with a seq from `low` to `high` have no order among themselves.
  void note_unordered(std::int64_t low, std::int64_t high);
  std::vector<std::pair<std::int64_t, std::int64_t>> unordered() const;
  /// Somebody has corrected this event, or put it off.
  void note_changed(const std::string& id);
  std::unordered_set<std::string> changed() const;
  /// The relays' user, on both servers.
  const std::string& user() const { return name_; }
  /// The administrators' addresses, which go past all proxies.
  const std::string& database_url() const { return database_.url(); }
  std::string broker_url() const;
  std::uint16_t database_port() const;
  std::uint16_t broker_port() const;

  /// A session of an administrator; waits while the server is not there.
  test::database connect(const std::string& application = "chaos") const;
  /// The same for the broker.
  test::broker connect_broker() const;

  /// What a relay connects to through proxies on these ports; its sessions carry this name.
  std::string relay_database_url(std::uint16_t port, const std::string& application) const;
  std::string relay_broker_url(std::uint16_t port) const;

  /// New passwords on the servers; the secret files are written by whoever owns them.
  void change_database_password();
  void change_broker_password();

  void declare_exchange() const;
  void bind() const;
  void unbind() const;
  void set_permissions(bool all) const;

  /// Whether writers ring as they should, or nobody hears of a new event.
  void set_doorbell(bool rings) const;

  /// Undoes everything that faults do to the servers; may be called at any time, and again.
  void heal();

 private:
  std::filesystem::path outboxd_;
  std::filesystem::path logs_;
  int shards_;
  bool partitioned_;
  std::string name_;
  std::string exchange_ = "outbox";
  std::string queue_ = "events";
  std::string graveyard_ = "graveyard";
  test::fresh_database database_;
  mutable std::mutex mutex_;
  std::string database_password_;                                 // guarded by mutex_
  std::string broker_password_;                                   // guarded by mutex_
  int changes_ = 0;                                               // guarded by mutex_
  std::vector<std::pair<std::int64_t, std::int64_t>> unordered_;  // guarded by mutex_
  std::unordered_set<std::string> changed_;                       // guarded by mutex_
};

/// Replaces a secret as people do: a new file, then a rename.
void write_secret(const std::filesystem::path& file, const std::string& text);

}  // namespace outboxd::chaos
