// simulated_session: one session of a relay with the simulated PostgreSQL: it may be cut at any moment, on
// either side first.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "simulated_postgres.hpp"

namespace outboxd::test {

class simulated_session {
 public:
  simulated_session(virtual_world& world, virtual_process& process, simulated_postgres& table,
                    const rules& with)
      : world_(world), process_(process), table_(table), with_(with) {}

  std::function<void()> on_up;
  std::function<void()> on_lost;
  std::function<flow::position()> how_far;
  std::function<bool()> is_loading;

  bool up() const { return up_; }
  // When the latest question was put that the relay has an answer to.
  clock::time_point answered_at() const { return answered_at_; }
  // The server wants no writes, as the latest answer says.
  bool turned_read_only() const { return read_only_; }

  void connect() {
    world_.after(world_.millis(1, 150), [this, mine = client_] {
      if (mine != client_ || process_.killed()) return;
      server_ = table_.tick();  // a number that no other has
      first_page_ = first_resume_ = first_dead_ = true;
      read_only_ = false;
      process_.run([this, mine] {
        if (mine != client_) return;
        up_ = true;
        on_up();
      });
    });
  }

  // Takes the lead of a shard that nobody leads, none of these.
  void take_lead(std::vector<std::int64_t> but, std::function<void(std::optional<int>)> then) {
    to_server([this, but = std::move(but), then] {
      for (std::size_t shard = 0; shard < table_.shards(); ++shard)
        if (std::ranges::find(but, static_cast<std::int64_t>(shard)) == but.end() &&
            table_.try_lead(shard, server_)) {
          shard_ = shard;
          return to_client([then, shard] { then(static_cast<int>(shard)); });
        }
      to_client([then] { then(std::nullopt); });
    });
  }
  void load(std::function<void(flow::saved_position)> then) {
    to_server([this, then] { to_client([then, saved = table_.load(shard_)] { then(saved); }); });
  }
  void release(std::function<void()> then) {
    to_server([this, then] {
      table_.unlock(server_);
      to_client(then);
    });
  }
  // A statement that changes nothing here.
  void ask(std::function<void()> then) {
    to_server([this, then] { to_client(then); });
  }

  // Takes PRESENT, or gives it back.
  void show(bool able, std::function<void()> then) {
    to_server([this, able, then] {
      table_.show(server_, able);
      to_client(then);
    });
  }
  void count(std::function<void(int)> then) {
    to_server([this, then] { to_client([then, relays = table_.present()] { then(relays); }); });
  }

  // Whether somebody who may asks for the lead.
  void look(std::function<void(bool)> then) {
    to_server([this, then] { to_client([then, asked = table_.is_requested(shard_)] { then(asked); }); });
  }

  void execute(flow::store_request what, std::function<void(flow::store_answer)> then) {
    auto job = std::make_shared<work>(std::move(what), std::move(then));
    job->put_at = world_.now();
    to_server([this, job] { step(job); });
  }

  // Server and client notice it each in their own time.
  void cut(clock::duration server_after, clock::duration client_after) {
    if (server_after == clock::duration(0))
      end_server(server_);
    else
      world_.after(server_after, [this, mine = server_] { end_server(mine); });
    world_.after(client_after, [this, mine = client_] {
      process_.run([this, mine] {
        if (mine == client_) lose();
      });
    });
  }
  std::uint64_t server_session() const { return server_; }

 private:
  struct work {
    work(flow::store_request what, std::function<void(flow::store_answer)> told)
        : asked(std::move(what)), then(std::move(told)) {}
    flow::store_request asked;
    std::function<void(flow::store_answer)> then;
    flow::store_answer answer;
    int next = 0;
    clock::time_point put_at{};
  };

  void end_server(std::uint64_t which) {
    if (which == 0) return;
    table_.end_session(which);
    if (which == server_) server_ = 0;
  }

  void lose() {
    ++client_;
    const bool was = std::exchange(up_, false);
    // A session that the server still has is another one's now.
    if (server_ != 0)
      world_.after(world_.millis(0, 300), [this, mine = std::exchange(server_, 0)] { end_server(mine); });
    if (was) on_lost();
    connect();
  }

  void to_server(std::function<void()> what) {
    world_.after(world_.micros(20, 700), [this, mine = server_, what = std::move(what)] {
      if (mine != 0 && mine == server_) what();
    });
  }
  void to_client(std::function<void()> what) {
    world_.after(world_.micros(20, 700), [this, mine = client_, what = std::move(what)] {
      process_.run([this, mine, what] {
        if (mine == client_) what();
      });
    });
  }

  // Each statement has a snapshot of its own.
  void step(const std::shared_ptr<work>& job) {
    while (job->next < 16) {
      run(*job, job->next++);
      if (world_.chance(60)) {
        world_.after(world_.micros(1, 3000), [this, job, mine = server_] {
          if (mine != 0 && mine == server_) step(job);
        });
        return;
      }
    }
    to_client([this, job, read_only = table_.is_read_only()] {
      answered_at_ = job->put_at;
      read_only_ = read_only;
      job->then(std::move(job->answer));
    });
  }

  void run(work& job, int which) {
    const flow::store_request& asked = job.asked;
    flow::store_answer& to = job.answer;
    if (!with_.look_up_after_records) which = which == 0 ? 8 : which == 8 ? 0 : which;
    if (!with_.laggards_after_read) which = which == 3 ? 14 : which == 14 ? 3 : which;
    switch (which) {
      case 0:
        if (!asked.failures.empty()) to.failures = record(asked.failures);
        return;
      case 1:
        if (!asked.marks.keys.empty()) to.marks = table_.mark(asked.marks);
        return;
      case 2:
        if (!asked.save) return;
        to.saved =
            table_.save(shard_, with_.saved_below_unsettled ? *asked.save : how_far(), asked.save_unsettled);
        return;
      case 3:
        if (asked.read) to.read = table_.read(shard_, *asked.read, asked.passing_over, asked.keys_only);
        if (!with_.going_back_alone && asked.read && to.read.answer.late > asked.read->events)
          go_back_later(*asked.read, to.read.answer);
        return;
      case 4:
        if (asked.walk_from) to.walk = table_.walk(shard_, *asked.walk_from, asked.passing_over);
        if (asked.check_from && with_.background_walk)
          to.checked = table_.walk(shard_, *asked.check_from, asked.passing_over, 200);
        return;
      case 5:
        if (!asked.due) return;
        to.due = table_.due(shard_, *asked.due, asked.due_events, asked.keys_only);
        return;
      case 6:
        if (!asked.fetch.empty()) to.fetched = table_.fetch(asked.fetch, asked.fetch_is_measured);
        return;
      case 7:
        if (!asked.left.empty()) to.left = table_.left(shard_, asked.left, asked.keys_only);
        return;
      case 8:
        if (!asked.release.empty())
          to.released = table_.release(asked.release, asked.release_events, asked.keys_only);
        if (!with_.release_below_position)
          for (auto& one : to.released.answer.rows) one.what.seq = std::min(one.what.seq, how_far().seq);
        return;
      case 9:
        if (asked.recall_after) to.recalled = table_.recall(shard_);
        return;
      case 10:
        if (asked.pauses) to.pauses = table_.in_force();
        return;
      case 14:
        if (asked.laggards) to.laggards = table_.laggards(shard_, *asked.laggards, asked.keys_only);
        return;
      case 12:
        if (asked.dead_after && (with_.dead_first || !std::exchange(first_dead_, false)))
          to.dead = table_.dead(shard_, *asked.dead_after);
        return;
      case 13:
        if (!asked.looks.empty()) to.looked = table_.look(asked.looks);
        return;
      case 11:
        if (!asked.resume) return;
        if (with_.resumed_at_start || !std::exchange(first_resume_, false))
          to.resumed = table_.resumed(shard_, *asked.resume, asked.keys_only);
        return;
      default:
        if (!asked.blocked_after) return;
        if (!with_.look_up_unasked && !is_loading()) {  // a page on which nothing is said of anybody
          to.blocked.answer.upto = *asked.blocked_after;
          return;
        }
        if (with_.blocked_first || !std::exchange(first_page_, false))
          to.blocked = table_.blocked(shard_, *asked.blocked_after);
    }
  }

  // The rows are used, and only the next read goes back.
  void go_back_later(const flow::read_request& asked, flow::read_answer& to) {
    late_ = !late_;
    if (!late_) return to.rows.clear();
    to.now = asked.from.seen;
    to.saw_all = true;
    to.late = 0;
    to.late_low.reset();
    to.top.reset();
  }

  flow::write_answer record(std::vector<flow::failure_record> what) {
    if (with_.dead_awaited) return table_.record(what);
    std::vector<flow::failure_record> dead;
    std::copy_if(what.begin(), what.end(), std::back_inserter(dead),
                 [](const auto& one) { return one.to == flow::exception::dead; });
    std::erase_if(what, [](const auto& one) { return one.to == flow::exception::dead; });
    world_.after(world_.micros(100, 30'000), [this, dead, mine = server_] {
      if (mine == server_) table_.record(dead);
    });
    return table_.record(what);
  }

  virtual_world& world_;
  virtual_process& process_;
  simulated_postgres& table_;
  const rules& with_;
  std::size_t shard_ = 0;  // whose lead it took last
  bool up_ = false;
  bool first_page_ = true;
  bool first_resume_ = true;
  bool first_dead_ = true;
  bool late_ = false;       // it has to go back
  bool read_only_ = false;  // as the latest answer said
  clock::time_point answered_at_{};
  std::uint64_t client_ = 1;  // counts the relay's connections
  std::uint64_t server_ = 0;  // the session that the server has; 0: none
};

}  // namespace outboxd::test
