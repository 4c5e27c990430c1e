// arena: the private environment of a run: a database, a vhost with exchange and queue, users, secret files;
// and its clean-up.
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

/// Contained in every payload, header value and password; must not occur in any log.
inline constexpr auto canary = "canary-7f3a";

class arena {
 public:
  /// Creates an outbox with this many shards, and a queue of this type. If the outbox is partitioned, each
  /// period is over as soon as its partition has begun, except for the last of several.
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
  /// The dead letter exchange, and the queue that receives its messages.
  const std::string& graveyard() const { return graveyard_; }
  int shards() const { return shards_; }
  bool partitioned() const { return partitioned_; }
  /// The sequence was set back: events with a seq from `low` to `high` have no order among themselves.
  void note_unordered(std::int64_t low, std::int64_t high);
  std::vector<std::pair<std::int64_t, std::int64_t>> unordered() const;
  /// Records that this event was edited or postponed.
  void note_changed(const std::string& id);
  std::unordered_set<std::string> changed() const;
  /// The relays' user, on both servers.
  const std::string& user() const { return name_; }
  /// The administrators' addresses, which bypass all proxies.
  const std::string& database_url() const { return database_.url(); }
  std::string broker_url() const;
  std::uint16_t database_port() const;
  std::uint16_t broker_port() const;

  /// Opens an administrator's session; waits while the server is unavailable.
  test::database connect(const std::string& application = "chaos") const;
  /// The same for the broker.
  test::broker connect_broker() const;

  /// The URLs of a relay that connects through proxies on these ports; its sessions use this name.
  std::string relay_database_url(std::uint16_t port, const std::string& application) const;
  std::string relay_broker_url(std::uint16_t port) const;

  /// Sets new passwords on the servers; each owner of a secret file updates it.
  void change_database_password();
  void change_broker_password();

  void declare_exchange() const;
  void bind() const;
  void unbind() const;
  void set_permissions(bool all) const;

  /// Controls whether writers ring, or whether new events cause no notification.
  void set_doorbell(bool rings) const;

  /// Undoes everything that faults do to the servers; may be called at any time and repeatedly.
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

/// Replaces a secret file as administrators do: writes a new file, then renames it.
void write_secret(const std::filesystem::path& file, const std::string& text);

}  // namespace outboxd::chaos
