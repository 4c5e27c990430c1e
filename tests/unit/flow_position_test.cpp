// flow_position_test: snapshots as text, and that reads by a position's rules find every committed row.
#include "flow/stream/position.hpp"

#include <doctest/doctest.h>

#include "simulated_postgres.hpp"

namespace flow_position_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;

TEST_CASE("a snapshot is read and written as PostgreSQL writes it") {
  for (const char* const text : {"10:20:10,14,15", "3:3:", "7:9:", "1:18446744073709551615:5"}) {
    const auto read = snapshot::parse(text);
    REQUIRE(read);
    CHECK(read->text() == text);
  }
  CHECK(snapshot::parse("10:20:10,14,15") == snapshot{10, 20, {10, 14, 15}});
}

TEST_CASE("what is no snapshot is not taken for one") {
  for (const char* const text :
       {"", "10", "10:20", "20:10:", "10:20:9", "10:20:20", "10:20:12,11", "10:20:11,11", "10:20:11,",
        "10:20:,11", "10:20:11 ", "-1:20:", "a:b:", "10:20:11;12", "1:99999999999999999999:"})
    CHECK_FALSE(snapshot::parse(text));
}

TEST_CASE("a snapshot sees what was committed before its end and was not running") {
  const snapshot one{10, 20, {10, 14}};
  CHECK(one.sees(9));
  CHECK_FALSE(one.sees(10));
  CHECK(one.sees(11));
  CHECK_FALSE(one.sees(14));
  CHECK(one.sees(19));
  CHECK_FALSE(one.sees(20));
}

TEST_CASE("a snapshot that is cut has seen nothing from there on") {
  const snapshot one{10, 20, {10, 14}};
  CHECK(one.cut_at(25) == one);
  CHECK(one.cut_at(20) == one);
  CHECK(one.cut_at(14) == snapshot{10, 14, {10}});
  CHECK(one.cut_at(8) == snapshot{8, 8, {}});
}

TEST_CASE("a position advances, and never by a lower seq, and goes back, never by a higher one") {
  position at = position::start({5, 5, {}});
  at.advance(10, {6, 6, {}});
  CHECK(at == position{10, {6, 6, {}}});
  at.advance(8, {7, 7, {}});
  CHECK(at == position{10, {7, 7, {}}});
  at.go_back(4, {8, 8, {}});
  CHECK(at == position{3, {8, 8, {}}});
  at.go_back(9, {9, 9, {}});
  CHECK(at == position{3, {9, 9, {}}});
}

namespace {

// Writers in any order, and a reader that follows the rules: each row that is committed is found, and once if
// it never went back.
class readings {
 public:
  explicit readings(std::uint64_t seed, bool tricks)
      : world_(seed),
        tricks_(tricks),
        table_(world_,
               {.shards = 1,
                .xids_at_once = world_.one_of<xid>({1, 3, 20'000}),
                .rows_at_once = world_.one_of<std::ptrdiff_t>({1, 3, 20'000})},
               rules_),
        at_(position::start(table_.snapshot())) {}

  void run() {
    for (int i = 0; i < 400; ++i) {
      if (world_.chance(20)) table_.burn(static_cast<xid>(world_.between(1, 4'000'000'000)));
      world_.chance(700) ? write() : read();
    }
    while (!open_.empty()) end(open_.size() - 1);
    for (int i = 0; i < 300; ++i) read();
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      const table_row& one = table_.rows[row];
      CHECK_MESSAGE((found_[row] > 0) == (one.visible && !one.gone), "row ", row);
      if (!went_back_) CHECK(found_[row] <= 1);
    }
    CHECK(at_.seen == table_.snapshot());
  }

 private:
  struct writer {
    xid id = 0;
    std::vector<std::int64_t> drawn;  // seqs of rows that are not inserted yet
  };

  void write() {
    if (open_.empty() || world_.chance(200)) open_.push_back({world_.chance(300) ? table_.begin() : 0, {}});
    const auto which =
        static_cast<std::size_t>(world_.between(0, static_cast<std::int64_t>(open_.size()) - 1));
    writer& one = open_[which];
    switch (world_.between(0, 4)) {
      case 0:
      case 1:
        one.drawn.push_back(table_.nextval());
        if (tricks_ && world_.chance(50))
          table_.set_sequence(std::max<std::int64_t>(1, table_.sequence() - world_.between(0, 20)));
        return;
      case 2:
      case 3:
        insert(one);
        return;
      default:
        end(which);
    }
  }

  void insert(writer& by) {
    if (by.drawn.empty()) return;
    if (by.id == 0) by.id = table_.begin();
    table_row row;
    row.seq = by.drawn.back();
    by.drawn.pop_back();
    const auto index = table_.insert(by.id, row);
    if (world_.chance(50)) table_.remove(index);
  }

  void end(std::size_t which) {
    if (open_[which].id != 0) {
      if (world_.chance(100)) table_.prepare(open_[which].id);
      table_.end(open_[which].id, world_.chance(800));
    }
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void read() {
    const int most = static_cast<int>(world_.between(1, 6));
    const std::int64_t limit = at_.seq == position::before_all ? 5 : at_.seq + world_.between(1, 30);
    const auto got = table_.read(0, {at_, limit, most}, {}, false).answer;
    if (got.late > most) {
      CHECK(got.rows.empty());
      at_.go_back(*got.late_low, got.now);
      went_back_ = true;
      return;
    }
    std::int64_t to = at_.seq;
    int fresh = 0;
    for (const stored_event& one : got.rows) {
      const bool is_late = one.what.seq <= at_.seq;
      if (!is_late && !got.saw_all) continue;
      ++found_[simulated_postgres::row_of(one.what.aggregate_id)];
      if (!is_late) to = std::max(to, one.what.seq), ++fresh;
    }
    if (got.saw_all && fresh < most && got.top) to = std::min(*got.top, limit);
    at_.advance(to, got.now);
  }

  rules rules_;
  virtual_world world_;
  bool tricks_;
  simulated_postgres table_;
  position at_;
  std::vector<writer> open_;
  std::map<std::size_t, int> found_;
  bool went_back_ = false;
};

}  // namespace

TEST_CASE(
    "whatever order transactions begin, draw numbers and end in, each committed row is read, and once unless "
    "a read goes back") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    readings(seed, false).run();
  }
}

TEST_CASE("a sequence that is set back hides no row") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    readings(seed, true).run();
  }
}

}  // namespace flow_position_test
