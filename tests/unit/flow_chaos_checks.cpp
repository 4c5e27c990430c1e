// flow_chaos: what must hold whatever happens.
#include <fmt/format.h>

#include "flow_chaos.hpp"

namespace outboxd::test {

// What is committed when the other takes its seq goes out before it.
bool flow_chaos::is_before(const table_row& earlier, const table_row& later) const {
  return earlier.visible && !earlier.gone && !earlier.scheduled && !earlier.touched && !later.scheduled &&
         !later.touched && earlier.of == later.of && earlier.seq < later.seq && earlier.landed < later.born;
}

void flow_chaos::on_sent(std::size_t row, int content) {
  require(!looks_again_ || table_.may_be_sent(row, content),
          fmt::format("what is sent is what its row said in the latest second ({})", row));
  table_.rows[row].sent = content;
}

void flow_chaos::on_delivered(std::size_t row) {
  table_row& one = table_.rows[row];
  history_ += fmt::format("{} ", row);
  if (table_.on_step) table_.on_step(row, "delivered");
  require(one.landed > 0, "what is delivered has been committed");
  require(world_.now() >= one.not_before, "a scheduled event is not delivered before it is due");
  if (one.delivered++ > 0) {
    ++duplicates_;
    if (!how_.faults) require(false, fmt::format("without faults every event is delivered once ({})", row));
    return;
  }
  const bool is_pipelined = how_.order == order_mode::pipelined;
  if (sequence_tricks_) return;
  for (const table_row& other : table_.rows)
    if (is_before(other, one) && other.delivered == 0 &&
        !(is_pipelined && (other.refused || other.ill != ailment::none)) &&
        (how_.after_dead == flow::after_dead::hold || other.now.status != row_status::dead)) {
      require(false,
              fmt::format("an event is delivered after the earlier ones of its aggregate ({} after {})",
                          &other - table_.rows.data(), row));
      return;
    }
}

void flow_chaos::on_published(std::size_t row) {
  const table_row& one = table_.rows[row];
  const auto session = table_.leader_of(table_.shard_of(one.of));
  require(std::any_of(relays_.begin(), relays_.end(),
                      [&](const auto& each) { return each->has_ack(row) && each->has_session(session); }),
          fmt::format("published means acknowledged ({})", row));
}

// What is below a position and visible in it has been read.
void flow_chaos::check_position() {
  for (const auto& one : relays_)
    for (std::size_t shard = 0; shard < table_.shards(); ++shard) {
      const simulated_leader* const leader = one->leader_of(shard);
      if (one->killed() || leader == nullptr || !leader->settled() || leader->server_session() == 0) continue;
      if (table_.leader_of(shard) != leader->server_session()) continue;
      const flow::stream& stream = leader->stream();
      if (stream.now_in() != flow::stream::phase::running) continue;
      std::set<std::size_t> known;
      stream.events().for_each([&](flow::slot, const flow::unsettled::entry& entry) {
        if (const auto row = table_.find(entry.it.what.key())) known.insert(*row);
      });
      const std::set<std::int64_t> owed(leader->owed().begin(), leader->owed().end());
      for (std::size_t row = 0; row < table_.rows.size(); ++row) {
        const table_row& it = table_.rows[row];
        if (!it.visible || it.gone || it.now.status != row_status::pending || table_.shard_of(it.of) != shard)
          continue;
        if (!it.restored && it.seq <= stream.at().seq && stream.at().seen.sees(it.tx) &&
            !stream.passes_over(it.of, it.seq))
          require(known.contains(row) || owed.contains(it.seq),
                  fmt::format("what the position has passed has been read ({})", row));
      }
    }
}

bool flow_chaos::at_rest() const {
  for (std::size_t shard = 0; shard < table_.shards(); ++shard)
    if (std::none_of(relays_.begin(), relays_.end(),
                     [&](const auto& one) { return !one->killed() && one->leader_of(shard) != nullptr; }))
      return false;
  for (const table_row& one : table_.rows)
    if (!table_.is_stuck(one) && (one.visible ? !table_.is_finished(one) : !one.gone)) return false;
  for (const auto& one : relays_)
    for (std::size_t shard = 0; shard < table_.shards(); ++shard)
      if (const auto* const leader = one->leader_of(shard);
          !one->killed() && leader != nullptr &&
          std::max(leader->stream().events().size(), leader->stream().held()) > table_.stuck_in(shard))
        return false;
  return true;
}

void flow_chaos::check_end() {
  for (std::size_t shard = 0; shard < table_.shards(); ++shard)
    require(std::any_of(relays_.begin(), relays_.end(),
                        [&](const auto& one) { return !one->killed() && one->leader_of(shard) != nullptr; }),
            "in the end each shard has a leader");
  for (std::size_t row = 0; row < table_.rows.size(); ++row) {
    const table_row& one = table_.rows[row];
    if (one.gone || table_.is_stuck(one)) continue;
    require(one.visible, "every transaction has ended");
    require(table_.is_finished(one), fmt::format("in the end no event is left ({})", row));
    const bool dead = one.now.status == row_status::dead;
    if (!one.touched)
      require(!table_.is_finished(one) || dead == (one.ill != ailment::none),
              fmt::format("dead is exactly what was bad by itself ({})", row));
    require(dead || one.delivered > 0, fmt::format("no event is lost ({})", row));
    require(dead || one.sent == one.now.content || one.now.failure == "changed_after_send",
            fmt::format("a row that is published says what was sent, or that it does not ({})", row));
  }
  for (const auto& one : relays_)
    for (std::size_t shard = 0; shard < table_.shards(); ++shard)
      if (const auto* const leader = one->leader_of(shard); !one->killed() && leader != nullptr) {
        const auto& stream = leader->stream();
        std::string states;
        stream.events().for_each([&](flow::slot, const flow::unsettled::entry& entry) {
          states += fmt::format(" {}:{}{}", simulated_postgres::row_of(entry.it.what.aggregate_id),
                                entry.now.index(), entry.it.withheld ? "w" : "");
        });
        say(fmt::format("shard {}: {}, next at {}, phase {}, held {}, at {}/{}, bytes {}, events{}", shard,
                        leader->settled() ? "settled" : "asked",
                        std::chrono::duration<double>(stream.next_at().time_since_epoch()).count() - 3600,
                        static_cast<int>(stream.now_in()), stream.held(), stream.at().seq,
                        stream.at().seen.text(), stream.events().bytes(), states));
        require(stream.events().size() <= table_.stuck_in(shard), "in the end no event is left in memory");
        require(stream.held() <= table_.stuck_in(shard), "in the end no aggregate is held");
      }
}

void flow_chaos::say(const std::string& what) {
  schedule_ += fmt::format(
      "{:9.3f} {}\n", std::chrono::duration<double>(world_.now().time_since_epoch()).count() - 3600.0, what);
}

void flow_chaos::require(bool holds, const std::string& rule) {
  if (holds || broken_.size() >= 5) return;
  say("BROKEN: " + rule);
  broken_.push_back(rule);
}

}  // namespace outboxd::test
