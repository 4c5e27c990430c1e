// simulated_session: one session of a relay with the simulated PostgreSQL: it may be cut at any moment, on
// either side first.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "request_by_name.hpp"
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

  void execute(flow::shared_request what, std::function<void(flow::store_answer)> then) {
    auto job = std::make_shared<work>(std::move(what), std::move(then));
    job->put_at = world_.now();
    job->order = order_of(*job->asked);
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
    work(flow::shared_request what, std::function<void(flow::store_answer)> told)
        : asked(std::move(what)), then(std::move(told)), answer(named_answers().in_order_of(*asked)) {}
    flow::shared_request asked;
    std::function<void(flow::store_answer)> then;
    flow::store_answer answer;
    std::vector<std::size_t> order;  // of the questions that are left, the last one first
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

  std::vector<std::size_t> order_of(const flow::store_request& asked) const {
    std::vector<std::size_t> out(asked.questions.size());
    std::iota(out.begin(), out.end(), std::size_t{0});
    const auto turn_round = [&]<class First, class Second>() {
      const auto holds = [&]<class Kind>(std::size_t one) {
        return std::holds_alternative<Kind>(asked.questions[one]);
      };
      const auto first =
          std::ranges::find_if(out, [&](auto one) { return holds.template operator()<First>(one); });
      const auto second =
          std::ranges::find_if(out, [&](auto one) { return holds.template operator()<Second>(one); });
      if (first != out.end() && second != out.end()) std::iter_swap(first, second);
    };
    if (!with_.look_up_after_records)
      turn_round.template operator()<flow::record_request, flow::release_request>();
    if (!with_.laggards_after_read)
      turn_round.template operator()<flow::read_request, flow::laggards_request>();
    std::ranges::reverse(out);
    return out;
  }

  // Each statement has a snapshot of its own.
  void step(const std::shared_ptr<work>& job) {
    while (!job->order.empty()) {
      const auto at = job->order.back();
      job->order.pop_back();
      std::visit(
          [&](const auto& one) {
            using answer = typename std::decay_t<decltype(one)>::answer;
            std::get<answer>(job->answer.replies[at]) = carry_out(one, *job->asked);
          },
          job->asked->questions[at]);
      if (world_.chance(150)) {
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

  flow::record_request::answer carry_out(const flow::record_request& what, const flow::store_request&) {
    return record(what.failures);
  }
  flow::mark_request::answer carry_out(const flow::mark_request& what, const flow::store_request&) {
    return table_.mark(what);
  }
  flow::save_request::answer carry_out(const flow::save_request& what, const flow::store_request&) {
    return flow::save_answer{
        table_.save(shard_, with_.saved_below_unsettled ? what.at : how_far(), what.unsettled)};
  }
  flow::look_request::answer carry_out(const flow::look_request& what, const flow::store_request&) {
    return table_.look(what.rows);
  }
  flow::fetch_request::answer carry_out(const flow::fetch_request& what, const flow::store_request&) {
    return table_.fetch(what.keys, what.measured);
  }
  flow::walk_request::answer carry_out(const flow::walk_request& what, const flow::store_request& all) {
    return table_.walk(shard_, what.from, all.passing_over);
  }
  flow::read_request::answer carry_out(const flow::read_request& what, const flow::store_request& all) {
    auto out = table_.read(shard_, what, all.passing_over, all.keys_only);
    if (!with_.going_back_alone && out.answer.late > what.events) go_back_later(what, out.answer);
    return out;
  }
  flow::check_request::answer carry_out(const flow::check_request& what, const flow::store_request& all) {
    return with_.background_walk ? table_.walk(shard_, what.from, all.passing_over, 200)
                                 : flow::check_request::answer();
  }
  flow::due_request::answer carry_out(const flow::due_request& what, const flow::store_request& all) {
    return table_.due(shard_, what.after, what.events, all.keys_only);
  }
  flow::laggards_request::answer carry_out(const flow::laggards_request& what,
                                           const flow::store_request& all) {
    return table_.laggards(shard_, what, all.keys_only);
  }
  flow::left_request::answer carry_out(const flow::left_request& what, const flow::store_request& all) {
    return table_.left(shard_, what.seqs, all.keys_only);
  }
  flow::release_request::answer carry_out(const flow::release_request& what, const flow::store_request& all) {
    auto out = table_.release(what.of, what.events, all.keys_only);
    if (!with_.release_below_position)
      for (auto& one : out.answer.rows) one.what.seq = std::min(one.what.seq, how_far().seq);
    return out;
  }
  flow::pauses_request::answer carry_out(const flow::pauses_request&, const flow::store_request&) {
    return table_.in_force();
  }
  flow::dead_request::answer carry_out(const flow::dead_request& what, const flow::store_request&) {
    return with_.dead_first || !std::exchange(first_dead_, false) ? table_.dead(shard_, what.after)
                                                                  : flow::dead_request::answer();
  }
  flow::held_request::answer carry_out(const flow::held_request& what, const flow::store_request&) {
    flow::held_request::answer out;
    if (!with_.look_up_unasked && !is_loading())
      out.answer.upto = what.after;  // a page on which nothing is said of anybody
    else if (with_.held_first || !std::exchange(first_page_, false))
      out = table_.held(shard_, what.after);
    return out;
  }
  flow::failing_destinations_request::answer carry_out(const flow::failing_destinations_request& what,
                                                       const flow::store_request&) {
    return with_.waits_found ? table_.waits(shard_, what) : flow::failing_destinations_request::answer();
  }
  flow::waiting_events_request::answer carry_out(const flow::waiting_events_request& what,
                                                 const flow::store_request& all) {
    return table_.waiting(shard_, what, all.keys_only);
  }
  flow::resume_request::answer carry_out(const flow::resume_request& what, const flow::store_request& all) {
    return with_.resumed_at_start || !std::exchange(first_resume_, false)
               ? table_.resumed(shard_, what, all.keys_only)
               : flow::resume_request::answer();
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
