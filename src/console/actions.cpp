#include "console/actions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "app/command/outcome.hpp"
#include "console/action_work.hpp"
#include "console/wanted.hpp"

namespace outboxd::console {
namespace asio = boost::asio;
using nlohmann::json;

namespace {

http::response as_response(const json& body) {
  return {200, "application/json", body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", {}};
}

http::response unknown() {
  return refused(
      404, "no_preview",
      "this preview is not known any more: it is older than a quarter of an hour, or the console was "
      "started anew. Nothing has been done now; look again, and see under Actions what was done "
      "before");
}

std::string text_in(const json& given, const char* name) {
  const auto at = given.find(name);
  return at != given.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// The lambda is created here instead of in the coroutine that awaits it: see console/api.cpp.
std::function<desk::answer()> planning(const app::settings& from, const app::order& what,
                                       const std::string& who, const std::shared_ptr<action_plan>& into) {
  return [&from, what, who, into]() -> desk::answer {
    OUTBOXD_TRY(auto plan, make_plan(from, what, who));
    *into = std::move(plan);
    return json();
  };
}

std::function<void()> working(const app::settings& from, const std::shared_ptr<action>& at) {
  return [&from, at] {
    try {
      work_at(from, *at);
    } catch (const std::exception& why) {  // such as bad_alloc
      at->end(action_state::failed, why.what(), action::clock::now());
    }
  };
}

// Distinguishes running actions from each other. Cannot be used as a token.
std::string short_name(const action& of) {
  constexpr std::size_t digits = 12;
  return hexadecimal(sha256(of.token())).substr(0, digits);
}

}  // namespace

actions::~actions() {
  stop();
  if (threads_) threads_->join();
}

std::shared_ptr<action> actions::find(std::string_view token) {
  return book_.find(token, action::clock::now());
}

asio::awaitable<http::response> actions::post(std::string_view path, const http::request& asked,
                                              const principal& by) {
  const auto given = json::parse(asked.body, nullptr, false);
  if (!given.is_object()) co_return refused(400, "no_object", "the body has to be a JSON object");
  if (path == "/api/action/preview") co_return co_await preview(given, by);
  if (path == "/api/action/apply") co_return apply(given);
  if (path == "/api/action/stop") co_return stop(given);
  co_return refused(404, "no_action", "there is no such action");
}

http::response actions::shown(const action& one) const {
  auto out = one.told();
  auto others = running();
  std::erase_if(others.get_ref<json::array_t&>(),
                [own = short_name(one)](const json& other) { return other.at("id") == own; });
  out["running"] = std::move(others);
  return as_response(out);
}

asio::awaitable<http::response> actions::preview(const json& given, const principal& by) {
  if (const auto former = text_in(given, "rest_of"); !former.empty()) co_return preview_rest(former, by);
  const auto what = read_wanted(given);
  if (!what) co_return refused(400, "wrong_action", what.error().message);
  const auto& edit = what->edit;
  if ((edit.payload || edit.headers) && !gate_.may_see_payloads(by))
    co_return refused(403, "no_payloads",
                      "payloads and headers are edited by those who may see them: see console.payloads");
  const auto plan = std::make_shared<action_plan>();
  const auto work = planning(from_, *what, by.name, plan);
  const auto planned = co_await previews_.work(work);
  if (!planned) {
    const bool by_who_asks = planned.error().status == app::exit_usage;
    co_return refused(by_who_asks ? 400 : 503, by_who_asks ? "wrong_action" : "database",
                      planned.error().message);
  }
  co_return shown(*book_.add(std::move(*plan), action::clock::now()));
}

http::response actions::preview_rest(const std::string& token, const principal& by) {
  const auto former = find(token);
  if (!former) return unknown();
  const auto state = former->state();
  if (state != action_state::stopped && state != action_state::failed)
    return refused(409, "no_rest", "that action has not ended early: there is no rest of it");
  if (former->figures().unsure > 0)
    return refused(409, "no_rest", "which events are left is not known; select them anew");
  return shown(*book_.add(rest_of(*former, by.name), action::clock::now()));
}

http::response actions::apply(const json& given) {
  const auto one = find(text_in(given, "token"));
  if (!one) return unknown();
  const std::optional<std::string> reason = text_in(given, "reason");
  // A repeated request gets the result of the first one.
  if (one->state() != action_state::previewed) return shown(*one);
  if (!app::check_reason(reason) || reason->find('\0') != std::string::npos)
    return refused(400, "no_reason", "say why, in up to 1000 bytes, for example: ticket 4711");
  const auto running = book_.running();
  const auto changes = std::count_if(running.begin(), running.end(),
                                     [](const auto& other) { return other->plan().what.changes_events(); });
  if (changes >= most_at_once && one->plan().what.changes_events())
    return refused(
        409, "busy",
        fmt::format("{} other actions run; this one can begin when one of them has ended", changes));
  if (!threads_) threads_.emplace(most_at_once + 1);
  if (one->begin(*reason, action::clock::now())) asio::post(*threads_, working(from_, one));
  return shown(*one);
}

http::response actions::stop(const json& given) {
  const auto one = find(text_in(given, "token"));
  if (!one) return unknown();
  one->stop();
  return shown(*one);
}

http::response actions::progress(std::string_view token) {
  const auto one = find(token);
  return one ? shown(*one) : unknown();
}

json actions::running() const {
  auto out = json::array();
  for (const auto& one : book_.running()) {
    const auto what = one->what();
    out.push_back({{"id", short_name(*one)},
                   {"what", app::words_of(what.what).name},
                   {"who", one->plan().who},
                   {"command", app::command_line_of(what)},
                   {"matched", one->matched()},
                   {"handled", one->figures().handled}});
  }
  return out;
}

std::vector<std::shared_ptr<const action>> actions::stop() {
  std::vector<std::shared_ptr<const action>> out;
  for (const auto& one : book_.running()) {
    one->stop();
    out.push_back(one);
  }
  return out;
}

}  // namespace outboxd::console
