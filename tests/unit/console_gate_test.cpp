// console_gate_test: who is let into the console, and what an attacker gets instead.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "console/gate.hpp"
#include "console/origin.hpp"
#include "core/base64.hpp"

namespace console_gate_test {

using namespace outboxd;
using namespace outboxd::console;
using namespace std::chrono_literals;
using outboxd::app::console_access;
using outboxd::app::console_settings;

namespace {

constexpr std::string_view read_token = "read-read-read-read";
constexpr std::string_view act_token = "act-act-act-act-act";

using headers = std::vector<std::pair<std::string, std::string>>;

// A request that owns its texts.
struct asking {
  std::string method = "GET";
  headers with{};
  std::string body{};
  std::string peer = "127.0.0.1";

  http::request request() const {
    http::request out{method, "/api/now", {}, body, peer};
    for (const auto& [name, value] : with) out.headers.emplace_back(name, value);
    return out;
  }
};

std::function<result<std::string>()> secret(std::string_view text) {
  return [text = std::string(text)]() -> result<std::string> { return text; };
}

console_settings both_tokens(console_access access = console_access::act) {
  console_settings out;
  out.access = access;
  out.read_token = secret(read_token);
  out.act_token = secret(act_token);
  return out;
}

const gate::clock::time_point start = gate::clock::time_point(1h);

int status_of(const gate::decision& found) {
  const auto* why = std::get_if<http::response>(&found);
  return why == nullptr ? 200 : why->status;
}

headers bearer(std::string_view token) {
  return {{"Authorization", "Bearer " + std::string(token)}};
}

const headers own_page{
    {"Host", "127.0.0.1:9465"}, {"Origin", "http://127.0.0.1:9465"}, {"Content-Type", "application/json"}};

headers operator+(headers one, const headers& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

asking login_with(std::string_view token, const headers& with = own_page) {
  return {"POST", with, nlohmann::json{{"token", token}}.dump()};
}

std::string header_of(const http::response& from, std::string_view name) {
  for (const auto& [one, value] : from.headers)
    if (one == name) return value;
  return {};
}

// What the browser sends back.
headers cookie_of(const http::response& from) {
  const auto line = header_of(from, "Set-Cookie");
  return {{"Cookie", line.substr(0, line.find(';'))}};
}

std::string csrf_of(gate& door, const asking& who) {
  const auto told = door.session(who.request(), start, nlohmann::json::object());
  REQUIRE(told.status == 200);
  return nlohmann::json::parse(told.body).at("csrf").get<std::string>();
}

}  // namespace

TEST_CASE("without any credential everybody may look, and nobody may act, whatever console.access says") {
  console_settings on;
  on.access = console_access::act;
  logins known;
  gate door(on, known);
  CHECK(status_of(door.look(asking{}.request(), start)) == 200);
  const asking post{"POST", own_page};
  CHECK(status_of(door.look(post.request(), start)) == 403);
}

TEST_CASE("with a credential nobody is let in without one, and each token gives its own rights") {
  const auto on = both_tokens();
  logins known;
  gate door(on, known);
  const auto refused = door.look(asking{}.request(), start);
  REQUIRE(status_of(refused) == 401);
  CHECK(header_of(std::get<http::response>(refused), "WWW-Authenticate").starts_with("Bearer"));
  const auto may = [&](const headers& with) {
    return std::get<principal>(door.look(asking{.with = with}.request(), start)).may;
  };
  CHECK(may(bearer(read_token)) == level::read);
  CHECK(may(bearer(act_token)) == level::act);
  CHECK(may({{"authorization", "bearer  " + std::string(act_token)}}) == level::act);
  std::string basic = "Basic ";
  append_base64(basic, "anybody:" + std::string(read_token));
  CHECK(may({{"Authorization", basic}}) == level::read);
}

TEST_CASE("what is near a token is none") {
  const auto on = both_tokens();
  const std::string token(act_token);
  std::string without_user = "Basic ";
  append_base64(without_user, token);
  for (const auto& wrong : {"Bearer " + token.substr(1), "Bearer " + token + "x", std::string("Bearer "),
                            std::string("Bearer"), token, "Token " + token, without_user,
                            std::string("Basic ===="), "Bearer " + std::string(1'000'000, 'a')}) {
    CAPTURE(wrong.substr(0, 60));
    logins known;
    gate door(on, known);
    CHECK(status_of(door.look(asking{.with = {{"Authorization", wrong}}}.request(), start)) == 401);
  }
  logins known;
  gate door(on, known);
  const auto twice = bearer(act_token) + bearer(act_token);
  CHECK(status_of(door.look(asking{.with = twice}.request(), start)) == 401);
}

TEST_CASE("console.access = read lets nobody act, not even who has the token for it") {
  const auto on = both_tokens(console_access::read);
  logins known;
  gate door(on, known);
  const asking who{.with = bearer(act_token)};
  CHECK(std::get<principal>(door.look(who.request(), start)).may == level::read);
  const asking post{"POST", bearer(act_token) + own_page};
  CHECK(status_of(door.look(post.request(), start)) == 403);
}

TEST_CASE("after ten wrong tokens none is looked at for a while, and a session goes on") {
  const auto on = both_tokens();
  logins known;
  gate door(on, known);
  const auto logged_in = door.login(login_with(read_token).request(), start);
  REQUIRE(logged_in.status == 200);
  int wrong = 0;
  for (int i = 0; i < 100; ++i)
    wrong += door.login(login_with("guess").request(), start).status == 401 ? 1 : 0;
  CHECK(wrong == login_pace::at_once);
  const auto later = door.login(login_with(act_token).request(), start);
  CHECK(later.status == 429);
  CHECK(header_of(later, "Retry-After") == "6");
  CHECK(status_of(door.look(asking{.with = bearer(act_token)}.request(), start)) == 429);
  CHECK(status_of(door.look(asking{.with = cookie_of(logged_in)}.request(), start)) == 200);
  CHECK(door.login(login_with(act_token).request(), start + 6s).status == 200);
}

TEST_CASE("a login makes a session that lasts while it is used, and not for ever") {
  const auto on = both_tokens();
  logins known;
  gate door(on, known);
  const auto logged_in = door.login(login_with(act_token).request(), start);
  REQUIRE(logged_in.status == 200);
  const asking who{.with = cookie_of(logged_in)};
  CHECK(std::get<principal>(door.look(who.request(), start)).may == level::act);
  for (auto at = start; at < start + 12h; at += 50min) CHECK(status_of(door.look(who.request(), at)) == 200);
  CHECK(status_of(door.look(who.request(), start + 12h)) == 401);
}

TEST_CASE("an idle session ends, and so does one that is logged out") {
  const auto on = both_tokens();
  logins known;
  gate door(on, known);
  const asking idle{.with = cookie_of(door.login(login_with(act_token).request(), start))};
  CHECK(status_of(door.look(idle.request(), start + 59min)) == 200);
  CHECK(status_of(door.look(idle.request(), start + 3h)) == 401);
  const auto cookie = cookie_of(door.login(login_with(act_token).request(), start));
  const auto out = door.logout(asking{"POST", cookie + own_page}.request());
  CHECK(out.status == 200);
  CHECK(header_of(out, "Set-Cookie").find("Max-Age=0") != std::string::npos);
  CHECK(status_of(door.look(asking{.with = cookie}.request(), start)) == 401);
}

TEST_CASE("a session ends when the token that began it is changed") {
  std::string token(act_token);
  console_settings on;
  on.act_token = [&]() -> result<std::string> { return token; };
  logins known;
  gate door(on, known);
  const asking who{.with = cookie_of(door.login(login_with(act_token).request(), start))};
  CHECK(status_of(door.look(who.request(), start)) == 200);
  token = "another-another-another";
  CHECK(status_of(door.look(who.request(), start)) == 401);
  token = act_token;
  CHECK(status_of(door.look(who.request(), start)) == 401);
}

TEST_CASE("a session that was known before the login is not the one after it") {
  const auto on = both_tokens();
  logins known;
  gate door(on, known);
  const headers planted{{"Cookie", "outboxd_console=0123456789abcdef"}};
  const auto logged_in = door.login(login_with(act_token, own_page + planted).request(), start);
  REQUIRE(logged_in.status == 200);
  CHECK(status_of(door.look(asking{.with = planted}.request(), start)) == 401);
  // Nor is an earlier session of this browser kept beside the new one.
  const auto again = door.login(login_with(act_token, own_page + cookie_of(logged_in)).request(), start);
  CHECK(status_of(door.look(asking{.with = cookie_of(logged_in)}.request(), start)) == 401);
  CHECK(status_of(door.look(asking{.with = cookie_of(again)}.request(), start)) == 200);
  // A cookie that somebody has set beside ours makes it unclear which one it is.
  const headers two{{"Cookie", cookie_of(again).front().second + "; outboxd_console=x"}};
  CHECK(status_of(door.look(asking{.with = two}.request(), start)) == 401);
}

TEST_CASE("the cookie is for no script and no other site, and for TLS alone where there is some") {
  auto on = both_tokens();
  on.public_url = *http::parse_url("https://ops.example/outbox", 80, 443);
  logins known;
  gate door(on, known);
  const auto plain = header_of(door.login(login_with(act_token).request(), start), "Set-Cookie");
  CHECK(plain.ends_with("; Path=/; HttpOnly; SameSite=Strict"));
  const headers proxied{
      {"Host", "127.0.0.1:9465"}, {"Origin", "https://ops.example"}, {"Content-Type", "application/json"}};
  const auto secure = header_of(door.login(login_with(act_token, proxied).request(), start), "Set-Cookie");
  CHECK(secure.ends_with("; Path=/outbox/; HttpOnly; SameSite=Strict; Secure"));
}

TEST_CASE("a POST needs the console's own origin, JSON, the right to act, and the token of this reader") {
  const auto on = both_tokens();
  logins known;
  gate door(on, known);
  const auto cookie = cookie_of(door.login(login_with(act_token).request(), start));
  const auto csrf = csrf_of(door, asking{.with = cookie});
  const auto reader = cookie_of(door.login(login_with(read_token).request(), start));
  const headers token{{"X-CSRF-Token", csrf}};
  const headers host{{"Host", "127.0.0.1:9465"}};
  const headers json{{"Content-Type", "application/json"}};
  const auto status = [&](const headers& with) {
    return status_of(door.look(asking{"POST", with}.request(), start));
  };
  CHECK(status(cookie + own_page + token) == 200);
  CHECK(status(cookie + own_page) == 403);
  CHECK(status(cookie + own_page + headers{{"X-CSRF-Token", "0" + csrf.substr(1) + "0"}}) == 403);
  CHECK(status(cookie + own_page + token + token) == 403);
  CHECK(status(cookie + host + json + token) == 403);
  for (const auto* foreign : {"http://evil.example", "null", "http://127.0.0.1:8080", "http://127.0.0.1",
                              "http://127.0.0.1:9465.evil.example", ""})
    CHECK(status(cookie + host + json + token + headers{{"Origin", foreign}}) == 403);
  CHECK(status(cookie + own_page + token + headers{{"Sec-Fetch-Site", "same-site"}}) == 403);
  CHECK(status(cookie + own_page + token + headers{{"Sec-Fetch-Site", "same-origin"}}) == 200);
  const headers form{{"Host", "127.0.0.1:9465"},
                     {"Origin", "http://127.0.0.1:9465"},
                     {"Content-Type", "application/x-www-form-urlencoded"}};
  CHECK(status(cookie + form + token) == 415);
  CHECK(status(reader + own_page + headers{{"X-CSRF-Token", csrf_of(door, asking{.with = reader})}}) == 403);
  // The token of one reader is none for another session, even of the same person.
  const auto other = cookie_of(door.login(login_with(act_token).request(), start));
  CHECK(status(other + own_page + token) == 403);
}

TEST_CASE("a program that sends its token itself need not be a page, and a page that does must be ours") {
  const auto on = both_tokens();
  logins known;
  gate door(on, known);
  const auto with =
      bearer(act_token) + headers{{"Host", "127.0.0.1:9465"}, {"Content-Type", "application/json"}};
  const headers csrf{{"X-CSRF-Token", csrf_of(door, asking{.with = bearer(act_token)})}};
  const auto status = [&](const headers& all) {
    return status_of(door.look(asking{"POST", all}.request(), start));
  };
  CHECK(status(with + csrf) == 200);
  CHECK(status(with) == 403);
  CHECK(status(with + csrf + headers{{"Origin", "http://evil.example"}}) == 403);
}

TEST_CASE("a page of another site gets no data and no login") {
  const auto on = both_tokens();
  logins known;
  gate door(on, known);
  for (const auto* site : {"cross-site", "same-site", "anything"}) {
    const auto with = bearer(act_token) + headers{{"Sec-Fetch-Site", site}};
    CHECK(status_of(door.look(asking{.with = with}.request(), start)) == 403);
  }
  const headers foreign{
      {"Host", "127.0.0.1:9465"}, {"Origin", "http://evil.example"}, {"Content-Type", "application/json"}};
  CHECK(door.login(login_with(act_token, foreign).request(), start).status == 403);
  CHECK(door.logout(asking{"POST", foreign}.request()).status == 403);
}

TEST_CASE("a login that is none says what one is, and a GET is none") {
  const auto on = both_tokens();
  logins known;
  gate door(on, known);
  for (const auto* body : {"", "{", "[]", "{}", "{\"token\": 1}", "\"token\"", "null"})
    CHECK(door.login(asking{"POST", own_page, body}.request(), start).status == 400);
  CHECK(door.login(asking{"GET", own_page, ""}.request(), start).status == 405);
  CHECK(door.logout(asking{"GET", own_page, ""}.request()).status == 405);
}

TEST_CASE("a name in the proxy's header counts from the proxy alone") {
  console_settings on;
  on.access = console_access::act;
  on.proxy_header = "X-Remote-User";
  on.proxy_addresses = {"10.0.0.7"};
  on.act_users = {"alice"};
  logins known;
  gate door(on, known);
  const headers alice{{"x-remote-user", "alice"}};
  const auto found = door.look(asking{.with = alice, .peer = "10.0.0.7"}.request(), start);
  CHECK(std::get<principal>(found).name == "alice");
  CHECK(std::get<principal>(found).may == level::act);
  const headers bob{{"X-Remote-User", "bob"}};
  CHECK(std::get<principal>(door.look(asking{.with = bob, .peer = "10.0.0.7"}.request(), start)).may ==
        level::read);
  for (const auto* peer : {"10.0.0.8", "127.0.0.1", ""})
    CHECK(status_of(door.look(asking{.with = alice, .peer = peer}.request(), start)) == 401);
  CHECK(status_of(door.look(asking{.with = alice + bob, .peer = "10.0.0.7"}.request(), start)) == 401);
  CHECK(status_of(door.look(asking{.with = {{"X-Remote-User", ""}}, .peer = "10.0.0.7"}.request(), start)) ==
        401);
  // The proxy sends it for whoever the browser belongs to: a POST needs what every other one needs.
  const asking post{.method = "POST", .with = alice + own_page, .peer = "10.0.0.7"};
  CHECK(status_of(door.look(post.request(), start)) == 403);
}

TEST_CASE("a refusal tells nothing of what the tokens are") {
  const auto on = both_tokens();
  logins known;
  gate door(on, known);
  const auto found = door.look(asking{.with = bearer("guess-guess-guess-guess")}.request(), start);
  const auto& body = std::get<http::response>(found).body;
  CHECK(body.find("guess") == std::string::npos);
  CHECK(body.find(read_token) == std::string::npos);
}

TEST_CASE("the origin of a page is written as a browser writes it") {
  const auto of = [](const char* url) { return origin_of(*http::parse_url(url, 80, 443)); };
  CHECK(of("https://Ops.Example/outbox") == "https://ops.example");
  CHECK(of("https://ops.example:8443") == "https://ops.example:8443");
  CHECK(of("http://[::1]:9465") == "http://[::1]:9465");
  CHECK(of("http://ops.example:443") == "http://ops.example:443");
}

}  // namespace console_gate_test
