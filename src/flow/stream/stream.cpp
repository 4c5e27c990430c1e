#include "flow/stream/stream.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace outboxd::flow {
namespace {

// The number of transactions by which a newer snapshot is worth saving: a fraction of those that a leader
// scans in one read.
constexpr xid worth_saving = 5'000;

// Maximum unmarkable events that are saved individually; the next leader reads the others again.
constexpr std::size_t most_saved_unsettled = 100;

}  // namespace

stream::stream(lanes& over, stream_limits limits, observer tell, step_observers steps)
    : state_{.pool = over, .limits = std::move(limits), .tell = std::move(tell), .steps = std::move(steps)} {}

void stream::start(saved_position from, payload_type payload) {
  saved_ = from.at;
  save_ = false;
  state_.server_clock = {};
  load();
  dispatcher_.start(payload);
  intake_.start(std::move(from.at), std::move(from.unsettled));
}

void stream::load() {
  state_.phase = phase::loading;
  loads_since_ = state_.now();
}

void stream::drain() {
  state_.phase = phase::draining;
  save_ = true;
  dispatcher_.withdraw();
  forget_unsent();
}

void stream::go_on() {
  forget_unsent();
  load();
  intake_.start_again();
}

void stream::abandon() {
  // A round trip may still be under way that began before the stop.
  if (state_.phase != phase::idle) state_.phase = phase::draining;
  dispatcher_.abandon();
  forget_unsent();
}

void stream::forget_unsent() {
  intake_.on_forgotten(dispatcher_.forget_unsent());
}

void stream::lost() {
  intake_.lost(asked_ && asked_->makes_texts());
  dispatcher_.clear();
  settlement_.clear();
  state_.phase = phase::idle;
  state_.events.clear();
  state_.blocked.clear();
  state_.asked_at = {};
  asked_.reset();
  save_ = false;
}

template <class Which>
std::vector<event_key> stream::keys_of(Which which) const {
  std::vector<event_key> out;
  state_.events.for_each([&](slot, const unsettled::entry& one) {
    if (which(one)) out.push_back(one.it.what.key());
  });
  return out;
}

std::vector<event_key> stream::in_flight() const {
  return keys_of([](const unsettled::entry& one) { return one.is_offered(); });
}

std::vector<event_key> stream::unmarked() const {
  return keys_of([](const unsettled::entry& one) { return one.is<stage::confirmed>(); });
}

std::vector<event_key> stream::unwritten() const {
  return keys_of([](const unsettled::entry& one) {
    return one.is<stage::confirmed>() || one.is<stage::dying>() || one.is<stage::leaving>();
  });
}

// All events are settled, except rows that PostgreSQL refuses to write.
bool stream::all_settled() const {
  return !asked_ && settlement_.idle() && state_.events.size() == settlement_.refused().size();
}

bool stream::drained() const {
  return state_.phase == phase::draining && !save_ && all_settled();
}

void stream::sweep() {
  if (!state_.runs()) return;
  save_ = true;
  intake_.sweep();
}

void stream::on_lanes_changed() {
  if (!state_.runs()) return forget_unsent();
  dispatcher_.offer_all();
  intake_.ring();
}

// While nothing is sent, events returned by the lanes are left for the next leader or a later read.
void stream::on_progress() {
  if (!state_.runs()) forget_unsent();
  state_.tell(notice::wake_driver{});
}

// True if nothing may be sent until a reply proves the lead; then a request is needed even if there is
// nothing else to ask, as with full memory.
bool stream::owes_proof() const {
  return state_.phase != phase::loading && !is_sure_of_lead() && state_.events.size() > 0;
}

clock::time_point stream::next_at() const {
  constexpr auto never = clock::time_point::max();
  constexpr auto at_once = clock::time_point::min();
  if (state_.phase == phase::idle || asked_) return never;
  if (state_.phase == phase::loading) return intake_.next_to_load();
  if (owes_proof()) return at_once;
  if (state_.phase == phase::draining) return all_settled() ? at_once : settlement_.next();
  return save_ ? at_once : std::min(settlement_.next(), intake_.next());
}

shared_request stream::next() {
  if (state_.phase == phase::idle || asked_) return nullptr;
  store_request out;
  if (state_.phase == phase::loading) intake_.ask_to_load(out);
  // If a slow read delayed the reply, the reply would prove the lead only for an earlier time.
  if (state_.runs() && !owes_proof()) intake_.ask(out);
  const bool may_save = state_.phase != phase::draining || all_settled();
  if (owes_proof()) saved_.reset();  // any reply proves the lead
  if (owes_proof() || (save_ && may_save)) {
    if (may_save) save_ = false;
    ask_to_save(out);
  }
  settlement_.ask(out, intake_.most_marks());
  if (out.questions.empty()) return nullptr;
  asked_ = std::make_shared<const store_request>(std::move(out));
  state_.asked_at = state_.now();
  return asked_;
}

// Events that PostgreSQL refuses to mark do not hold back the saved position; they are listed separately.
void stream::ask_to_save(store_request& to) const {
  position now = intake_.at();
  auto refused = settlement_.refused();
  if (refused.size() > most_saved_unsettled) refused.resize(most_saved_unsettled);
  state_.events.for_each([&](slot which, const unsettled::entry& one) {
    if (one.it.from != exception::none || std::find(refused.begin(), refused.end(), which) != refused.end())
      return;
    now.seq = std::min(now.seq, one.it.what.seq - 1);
  });
  if (const auto lowest = intake_.lowest_passed_over()) now.seq = std::min(now.seq, *lowest - 1);
  // Saving takes a transaction, and a slightly newer snapshot is not worth one.
  if (saved_ && saved_->seq == now.seq && now.seen.xmax < saved_->seen.xmax + worth_saving) return;
  save_request out{std::move(now)};
  for (const slot which : refused) {
    const auto seq = state_.events.at(which).it.what.seq;
    if (seq <= out.at.seq) out.unsettled.push_back(seq);
  }
  to.add(std::move(out));
}

stream::news stream::on_answer(store_answer answer) {
  // It is only certain that the answer was sent after the request: a suspended process may find an old answer
  // in its socket after it has lost the lead.
  dispatcher_.trust_lead_until(state_.asked_at + state_.limits.lead_lasts);
  const auto asked = std::exchange(asked_, nullptr);
  news out;
  for (std::size_t i = 0; i < asked->questions.size(); ++i)
    std::visit(
        [&](const auto& question) {
          using answer_to_it = typename std::decay_t<decltype(question)>::answer;
          take(question, std::get<answer_to_it>(answer.replies[i]), out);
        },
        asked->questions[i]);
  if (asked->asks_one_of<due_request, release_request, waiting_events_request>()) intake_.pause_returning();
  if (state_.phase == phase::loading && intake_.has_loaded()) state_.phase = phase::running;
  state_.pool.pump();
  return out;
}

// Answers to requests from before a drain are ignored, except for what they wrote.
template <class Question, class Answer>
void stream::take(const Question& asked, Answer& got, news& out) {
  if constexpr (std::is_same_v<Question, record_request>) {
    on_recorded(got);
  } else if constexpr (std::is_same_v<Question, mark_request>) {
    settlement_.on_marked(got);
  } else if constexpr (std::is_same_v<Question, save_request>) {
    if (got.saved) saved_ = asked.at;
  } else if (state_.phase != phase::draining) {
    if constexpr (std::is_same_v<Question, read_request>)
      out = intake_.take(asked, got);
    else if constexpr (std::is_same_v<Question, pauses_request>) {
      if (intake_.take(asked, got)) on_lanes_changed();
    } else {
      intake_.take(asked, got);
    }
  }
}

void stream::on_recorded(const write_answer& got) {
  for (const slot which : settlement_.on_recorded(got)) {
    const failure_record how = settlement_.record_of(which);
    if (how.to == exception::dead)
      dispatcher_.on_recorded_dead(which);
    else
      intake_.on_recorded(which, how);
  }
}

}  // namespace outboxd::flow
