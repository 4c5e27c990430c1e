#include "console/console_command.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>

#include "app/command/outcome.hpp"
#include "app/daemon/log.hpp"
#include "console/actions.hpp"
#include "console/api.hpp"
#include "console/audit_name.hpp"
#include "console/outlook.hpp"
#include "http/ip_address.hpp"
#include "http/server.hpp"

namespace outboxd::console {
namespace {

namespace asio = boost::asio;

// Of a request: a selection of some ten thousand ids does not fit, a reason does.
constexpr std::size_t longest_body = 64 * 1024;

http::allowed_hosts hosts_of(const app::console_settings& on) {
  constexpr std::string_view setting = "console.public_url";
  std::string name = on.public_url ? on.public_url->host : "";
  if (http::is_ipv4(name) || http::is_ipv6(name)) name.clear();  // addresses are allowed anyway
  // A host of a URL is a name here, too.
  return http::allowed_hosts::parse(name, setting).value_or(http::allowed_hosts());
}

void say_access(const app::console_settings& on, spdlog::logger& log) {
  if (!on.asks_who())
    log.info("no login is needed: everybody who reaches the address may look, and nobody may act");
  else if (on.access == app::console_access::read)
    log.info("a token is needed to look, and nobody may act (console.access = read)");
}

void say_how_far(const action& of, spdlog::logger& log) {
  if (of.state() == action_state::done) return;
  log.warn("{} by {} was stopped after {} of {} events{}", app::words_of(of.plan().what.what).name,
           audit_name(of.plan().who), of.figures().handled, of.matched(),
           of.is_running() ? ", in the middle of some; outbox.audit has how many were changed" : "");
}

// Actions end with the portion that they are at. What does not answer is not waited for: a question only
// reads, and a portion is a transaction.
asio::awaitable<void> leave(const desk& asks, actions& acts, spdlog::logger& log) {
  constexpr std::chrono::milliseconds look_every{20};
  constexpr std::chrono::seconds longest{5};
  const auto stopped = acts.stop();
  asio::steady_timer next(co_await asio::this_coro::executor);
  const auto until = std::chrono::steady_clock::now() + longest;
  while (!acts.idle() && std::chrono::steady_clock::now() < until) {
    next.expires_after(look_every);
    co_await next.async_wait(asio::use_awaitable);
  }
  for (const auto& one : stopped) say_how_far(*one, log);
  log.flush();
  if (!asks.idle() || !acts.idle() || acts.previews()) ::_exit(app::exit_success);
}

int serve(const app::settings& from) {
  const auto log = app::make_logger(from.log);
  for (const auto& warning : from.warnings) log->warn(warning);
  std::signal(SIGPIPE, SIG_IGN);  // a closed log pipe or socket is an error of its write
  asio::io_context io(1);
  desk asks(from);
  outlook sees(io.get_executor(), from, asks);
  gate door(from.console);
  actions acts(from, door);
  api answers(io.get_executor(), from, door, asks, sees, acts);
  http::server server(io.get_executor(), answers.handler(), hosts_of(from.console),
                      {.body_bytes = longest_body});
  for (const auto& where : from.console.listen) {
    const auto found = server.listen(where);
    if (!found) {
      log->error(found.error().message);
      return app::exit_failure;
    }
    log->info("the console is at {}", http::url_of(*found));
  }
  say_access(from.console, *log);
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& cancelled, int) {
    if (cancelled) return;
    log->info("stopping");
    server.stop();
    sees.stop();
    asio::co_spawn(io, leave(asks, acts, *log), asio::detached);
  });
  asio::co_spawn(io, sees.run(), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  io.run();
  return app::exit_success;
}

}  // namespace

void add_console_command(CLI::App& app, app::command_set& to) {
  CLI::App* const console = app.add_subcommand("console", "serve a web page to look at the outbox");
  to.push_back({console, app::purpose::console, serve});
}

}  // namespace outboxd::console
