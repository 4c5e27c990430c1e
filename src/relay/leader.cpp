#include "relay/leader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "pg/binary.hpp"
#include "pg/transport_risk.hpp"

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;

// How often a standby tries to take a lead that may have become free.
constexpr auto try_interval = 100ms;

// How often it looks for a leader that hangs.
constexpr auto hang_check_interval = 500ms;

// Each statement that writes once, for no event: a privilege that is missing shows now and not with the first
// event.
void add_privilege_probe(pg::pipeline& to) {
  const auto none = pg::uuid_array({});
  const auto no_tx = pg::xid8_array({});
  const auto no_number = pg::int8_array(std::vector<std::int64_t>());
  const auto no_text = pg::text_array({});
  to.run(std::string(pg::statement::mark),
         {none, pg::tid_array({}), no_number, no_tx, pg::int8(0), pg::int8(0)});
  to.run(std::string(pg::statement::mark_by_key),
         {none, no_number, no_tx, pg::xid_array({}), pg::bytea_array({})});
  to.run(std::string(pg::statement::record),
         {none, no_number, no_tx, no_text, no_number, no_number, no_number, no_text, no_text, no_text});
  to.run(std::string(pg::statement::save), {pg::int4(-1), pg::int8(0), "3:3:", no_number});
  to.run(std::string(pg::statement::by_key),
         {pg::int8(0), pg::int8(0), pg::int8(0), none, no_number, no_tx, pg::int8(0)});
}

boost::asio::awaitable<void> keep(std::shared_ptr<sleep_lock> lock) {
  co_await lock->run();
}

}  // namespace

leader::leader(const boost::asio::any_io_executor& on, const leader_settings& settings, flow::lanes& lanes,
               leader_host& host)
    : executor_(on),
      settings_(settings),
      lanes_(lanes),
      host_(host),
      pause_(on),
      stream_(lanes, settings.stream,
              {.on_progress =
                   [this] {
                     if (current_ != nullptr) current_->interrupt();
                   },
               .on_published = [this](std::size_t events,
                                      const std::string& route) { count_published(events, route); },
               .on_delivered =
                   [this](std::chrono::microseconds after) { host_.so_far().delivery_times.add(after); },
               .on_failed = [this](const event& which, const flow::destination& to,
                                   const flow::failure_record& how) { host_.on_failed(which, to, how); },
               .on_stuck = [this](const event& which, const std::string& why) { host_.on_stuck(which, why); },
               .on_changed_after_send = [this](const event& which) { host_.on_changed_after_send(which); },
               .on_pauses = [this](const std::vector<flow::pause>& all) { host_.on_pauses(all); },
               .steps = host.steps()}),
      doorbell_(settings.doorbell),
      culprits_(settings.database.schema, settings.database.claim_timeout) {
  view_.largest = std::max<std::int64_t>(1, settings.stream.batch_bytes / settings.stream.read.batch);
  view_.together = settings.stream.batch_bytes;
  view_.patience = settings.database.claim_timeout;
}

boost::asio::awaitable<void> leader::run() {
  while (!lead_.stopping()) {
    latest_step_ = clock::now();
    pg::connection link(executor_);
    current_ = &link;
    const auto opened = co_await open(link);
    if (opened) {
      host_.on_link_up(peer::database);
      if (const auto risk = pg::transport_risk(link.server(), link.encrypted(), link.sslmode()))
        host_.on_open_to_network(*risk);
      const error why = co_await serve(link);
      host_.on_link_down(peer::database, why);
    } else {
      host_.on_link_refused(peer::database, opened.error());
    }
    current_ = nullptr;
    present_ = false;
    if (!lead_.stopping()) co_await pause_.wait();
  }
}

boost::asio::awaitable<result<void>> leader::open(pg::connection& link) {
  const auto found = co_await open_session(link, settings_.database, session_use::stream);
  if (!found) co_return tl::make_unexpected(found.error());
  auto succeeds = co_await succeed(link, settings_.database, session_);
  if (!succeeds) co_return tl::make_unexpected(succeeds.error());
  session_ = std::move(*succeeds);
  if (found->version > pg::schema_version) host_.on_newer_schema(found->version);
  if (const auto why = misfit(settings_.stream.route, found->payload)) co_return permanent(*why);
  payload_ = found->payload;
  pg::pipeline steps;
  for (auto& one :
       pg::relay_statements(settings_.database.schema, *payload_, settings_.database.after_publish))
    steps.prepare(std::move(one.name), std::move(one.sql));
  add_privilege_probe(steps);
  const auto prepared = co_await link.execute(std::move(steps), settings_.database.connect_timeout);
  if (!prepared) co_return tl::make_unexpected(prepared.error());
  co_return result<void>();
}

boost::asio::awaitable<error> leader::serve(pg::connection& link) {
  next_hang_check_ = next_shard_check_ = clock::now();
  while (!lead_.stopping()) {
    const auto leads = co_await stand_by(link);
    if (!leads) co_return leads.error();
    if (!*leads) continue;
    const auto led = co_await lead(link);
    stream_.lost();
    lead_.on_lost();
    for (const auto what : {kept_from::sleeping, kept_from::writing, kept_from::quiet, kept_from::ringing})
      culprits_.set(what, false, clock::now());
    queue_ = flow::notify_queue();
    queue_fills_since_.reset();
    deaf_since_.reset();
    if (sleep_lock_) std::exchange(sleep_lock_, nullptr)->stop();
    host_.on_gave_up(*std::exchange(shard_, std::nullopt));
    if (!led) co_return led.error();
  }
  co_return error{fault::transient, "stopped"};
}

// True: it has the lead.
boost::asio::awaitable<result<bool>> leader::stand_by(pg::connection& link) {
  latest_step_ = clock::now();
  const auto shown = co_await show_presence(link);
  if (!shown) co_return tl::make_unexpected(shown.error());
  if (clock::now() >= next_hang_check_) {
    next_hang_check_ = clock::now() + std::min<std::chrono::milliseconds>(
                                          settings_.database.claim_timeout / 4, hang_check_interval);
    const auto looked = co_await end_hanging_leaders(link, settings_.database);
    if (!looked) co_return tl::make_unexpected(looked.error());
    const auto named = co_await name_culprits(link);
    if (!named) co_return tl::make_unexpected(named.error());
    const auto mended = co_await mend_shards(link);
    if (!mended) co_return tl::make_unexpected(mended.error());
  }
  if (lanes_.any_up() && lead_.may_try(clock::now()) && host_.may_lead(*this)) {
    const auto taken = co_await take_lead(link);
    if (!taken) co_return taken;
    if (link.turned_read_only()) {
      shard_.reset();
      co_return tl::make_unexpected(is_read_only(link));
    }
    culprits_.set(kept_from::leading, !*taken, clock::now());
    if (*taken) {
      const auto kept = co_await keep_lead(link);
      if (!kept || !*kept) shard_.reset();
      co_return kept;
    }
    host_.on_stands_by();
  }
  co_await link.wait_until(clock::now() + try_interval);
  link.take_notifications();
  if (link.lost()) co_return tl::make_unexpected(*link.lost());
  co_return false;
}

boost::asio::awaitable<result<bool>> leader::take_lead(pg::connection& link) {
  pg::pipeline steps;
  steps.run(std::string(pg::statement::lead),
            {pg::int4(pg::lock_class(settings_.database.schema)), pg::int8_array(host_.led_shards())});
  const auto answers = co_await link.execute(std::move(steps), settings_.database.claim_timeout);
  if (!answers) co_return tl::make_unexpected(answers.error());
  if (answers->front().size() == 0) co_return false;
  shard_ = pg::read_int2(answers->front().at(0, 0));
  co_return true;
}

boost::asio::awaitable<result<void>> leader::lead(pg::connection& link) {
  store_session store(link, settings_.database.claim_timeout);
  const auto asked_at = clock::now();
  auto saved = co_await store.load(view_);
  if (!saved) co_return tl::make_unexpected(saved.error());
  const auto now = clock::now();
  next_sweep_ = now;
  lead_.on_taken(now);
  heed_words(link);
  stream_.start(std::move(*saved), *payload_);
  stream_.on_server_time(asked_at, view_.server_time);
  doorbell_.start(now);
  doorbell_.set(flow::doorbell::obstacle::no_lock_session, true, now);
  doorbell_.set(flow::doorbell::obstacle::deaf, true, now);
  doorbell_.set(flow::doorbell::obstacle::no_bell, !view_.rings, now);
  probe_.begin(now);
  if (view_.rings) {
    sleep_lock_ = std::make_shared<sleep_lock>(executor_, settings_.database, *shard_, host_,
                                               [this](sleep_news news) { on_sleep_lock(news); });
    boost::asio::co_spawn(executor_, keep(sleep_lock_), boost::asio::detached);
  }
  host_.on_led(*this, view_);
  co_return co_await relay_events(link);
}

boost::asio::awaitable<result<void>> leader::relay_events(pg::connection& link) {
  store_session store(link, settings_.database.claim_timeout);
  for (;;) {
    if (link.lost()) co_return tl::make_unexpected(*link.lost());
    const auto now = latest_step_ = clock::now();
    take_notifications(link);
    follow_hints(now);
    const auto heard = co_await heed_flood(link);
    if (!heard) co_return heard;
    if (lead_.wants_look(now)) {
      const auto looked = co_await look_for_request(link);
      if (!looked) co_return tl::make_unexpected(looked.error());
    }
    lead_.on_broker(lanes_.any_up(), now);
    if (lead_.wants_count(now)) {
      const auto counted = co_await count_relays(link);
      if (!counted) co_return counted;
      lead_.on_broker(lanes_.any_up(), clock::now());
    }
    const bool done = heed_lead(now) || stream_.drained();  // to drain may have been all
    if (done && lead_.leaving()) co_return tl::make_unexpected(is_read_only(link));
    if (done) co_return co_await give_up(link);
    if (now >= next_sweep_) {
      sweep(now);
      const auto looked = co_await make_rounds(link);
      if (!looked) co_return looked;
    }
    if (now >= doorbell_.next_poll()) {
      doorbell_.on_poll();
      stream_.ring();
    }
    act_on_doorbell();
    if (auto request = stream_.next()) {
      const bool reads = request->read.has_value();
      if (reads) doorbell_.on_read_sent();
      latest_question_ = now;
      auto answer = co_await store.execute(*request, view_);
      if (!answer) co_return tl::make_unexpected(answer.error());
      if (reads) pause_.reset();  // what can be read is well
      count(*request, now);
      if (link.turned_read_only()) {
        const auto heeded = co_await heed_read_only(link);
        if (!heeded) co_return heeded;
      }
      const bool tells = request->reads_or_writes_events();
      const bool put_off = !answer->deferral().empty();
      if (tells)
        watch_deferrals(answer->deferral(), !request->failures.empty() || !request->marks.keys.empty());
      const auto news = stream_.on_answer(std::move(*answer));
      if (tells) culprits_.set(kept_from::writing, put_off || stream_.meets_lock(), clock::now());
      if (news.queue_usage) heed_usage(*news.queue_usage);
      if (reads)
        doorbell_.on_read(news.found, news.complete, clock::now(), view_.shards > 1 ? news.passed : 0);
      continue;
    }
    const auto kept = co_await keep_session(link);
    if (!kept) co_return kept;
    const auto until =
        std::min({stream_.next_at(), doorbell_.next_poll(), next_sweep_, due_.next(), pauses_.next(),
                  flood_.next(), lead_.next(stream_.meets_lock()), next_question()});
    co_await link.wait_until(until);
  }
}

// Nothing more is read or sent. What was sent is marked all the same, or the next leader would send it again:
// the setting is only what transactions begin with.
boost::asio::awaitable<result<void>> leader::heed_read_only(pg::connection& link) {
  lead_.leave();
  drain(clock::now());
  const auto writes = co_await ask(link, "SET default_transaction_read_only = off");
  if (!writes) co_return tl::make_unexpected(writes.error());
  co_return result<void>();
}

boost::asio::awaitable<result<pg::rows>> leader::ask(pg::connection& link, std::string sql) {
  latest_question_ = clock::now();
  pg::pipeline steps;
  steps.text(std::move(sql));
  auto answers = co_await link.execute(std::move(steps), settings_.database.claim_timeout);
  if (!answers) co_return tl::make_unexpected(answers.error());
  co_return std::move(answers->front());
}

void leader::count_published(std::size_t events, const std::string& route) {
  host_.so_far().published_by_route[route] += events;
  host_.so_far().published += events;
  host_.so_far().last_published = std::chrono::system_clock::now();
}

void leader::count(const flow::store_request& what, clock::time_point asked_at) {
  counts& all = host_.so_far();
  if (!what.marks.keys.empty()) ++all.marks;
  if (!what.read) return;
  ++all.reads;
  all.read_times.add(clock::now() - asked_at);
}

void leader::adopt() {
  stream_.retry_by(settings_.stream.retry);
  stream_.route_by(settings_.stream.route);
  doorbell_.poll_within(settings_.doorbell.longest_poll);
  next_sweep_ = std::min(next_sweep_, clock::now() + settings_.sweep_interval);
  if (shard_ && current_ != nullptr) current_->interrupt();  // not a session that is being opened
}

void leader::stop() {
  lead_.stop();
  pause_.stop();
  if (current_ == nullptr) return;
  if (shard_)
    current_->interrupt();
  else
    current_->close();
}

void leader::abandon() {
  say_in_doubt(flow::event_state::offered);
  stream_.abandon();
  if (current_ != nullptr) current_->interrupt();
}

void leader::say_in_doubt(flow::event_state which) {
  if (const auto keys = stream_.events_in(which); !keys.empty()) host_.on_in_doubt(keys);
}

void leader::cut() {
  say_in_doubt(flow::event_state::confirmed);
  if (current_ != nullptr) current_->close();
}

}  // namespace outboxd::relay
