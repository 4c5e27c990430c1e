#include "console/console_command.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
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
#include "app/daemon/relay_host.hpp"
#include "console/audit_name.hpp"
#include "console/site.hpp"
#include "http/ip_address.hpp"
#include "http/server.hpp"

namespace outboxd::console {
namespace {

namespace asio = boost::asio;

// The size limit of a request: a selection of ten thousand ids does not fit, a reason does.
constexpr std::size_t longest_body = 64 * 1024;

http::allowed_hosts hosts_of(const app::console_settings& on) {
  constexpr std::string_view setting = "console.public_url";
  std::string name = on.public_url ? on.public_url->host : "";
  if (http::is_ipv4(name) || http::is_ipv6(name)) name.clear();  // addresses are allowed anyway
  // The host of the URL is added as an allowed name.
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

using all_pages = site::all_pages;

bool none_acts(const all_pages& pages) {
  return std::all_of(pages.begin(), pages.end(), [](const auto& one) { return one->acts().idle(); });
}

bool all_idle(const all_pages& pages) {
  return std::all_of(pages.begin(), pages.end(), [](const auto& one) {
    return one->asks().idle() && one->acts().idle() && !one->acts().previews();
  });
}

// Actions end after their current portion. Statements without a reply are not awaited: queries only read, and
// a portion is a transaction.
asio::awaitable<void> leave(all_pages& pages, spdlog::logger& log) {
  constexpr std::chrono::milliseconds look_every{20};
  constexpr std::chrono::seconds longest{5};
  std::vector<std::shared_ptr<const action>> stopped;
  for (const auto& one : pages)
    for (auto& each : one->acts().stop()) stopped.push_back(std::move(each));
  asio::steady_timer next(co_await asio::this_coro::executor);
  const auto until = std::chrono::steady_clock::now() + longest;
  while (!none_acts(pages) && std::chrono::steady_clock::now() < until) {
    next.expires_after(look_every);
    co_await next.async_wait(asio::use_awaitable);
  }
  for (const auto& one : stopped) say_how_far(*one, log);
  log.flush();
  if (!all_idle(pages)) ::_exit(app::exit_success);
}

// What the console shows: the pages of each outbox, and outboxes whose settings are wrong.
struct shown_outboxes {
  all_pages pages;
  std::vector<site::wrong_outbox> wrong;
};

shown_outboxes open_pages(const asio::any_io_executor& on, const app::host_plan& plan, logins& of) {
  shown_outboxes out;
  const bool many = plan.outboxes.size() > 1;
  for (const auto& one : plan.outboxes) {
    auto read = one.raw.and_then(
        [](const app::raw_settings& raw) { return app::read_settings(raw, app::purpose::console); });
    if (!read) {
      out.wrong.push_back({one.name, read.error().message});
      continue;
    }
    if (many) read->outbox = one.name;
    out.pages.push_back(std::make_unique<outbox_pages>(on, *std::move(read), of));
  }
  return out;
}

int serve(const app::settings& main, const app::setting_flags& flags) {
  const auto files = flags.outboxes();
  if (!files) return app::refuse(files.error().message);
  const auto log = app::make_logger(main.log);
  for (const auto& warning : main.warnings) log->warn(warning);
  std::signal(SIGPIPE, SIG_IGN);  // writing to a closed log pipe or socket returns an error instead
  asio::io_context io(1);
  logins who;
  const auto plan = app::plan_of(main.raw, *files);
  auto shown = open_pages(io.get_executor(), plan, who);
  for (const auto& one : shown.wrong) log->error("outbox {}: {}", one.name, one.why);
  if (shown.pages.empty()) return app::exit_usage;
  const bool many = plan.outboxes.size() > 1;
  const auto& process = many ? main : shown.pages.front()->from();
  site all(process, who, shown.pages, shown.wrong);
  http::server server(io.get_executor(), many ? all.handler() : shown.pages.front()->answers().handler(),
                      hosts_of(process.console), {.body_bytes = longest_body});
  for (const auto& where : process.console.listen) {
    const auto found = server.listen(where);
    if (!found) {
      log->error(found.error().message);
      return app::exit_failure;
    }
    log->info("the console is at {}", http::url_of(*found));
  }
  say_access(process.console, *log);
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& cancelled, int) {
    if (cancelled) return;
    log->info("stopping");
    server.stop();
    for (const auto& one : shown.pages) one->sees().stop();
    asio::co_spawn(io, leave(shown.pages, *log), asio::detached);
  });
  for (const auto& one : shown.pages)
    asio::co_spawn(io, one->sees().run(), [](std::exception_ptr thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
  io.run();
  return app::exit_success;
}

}  // namespace

void add_console_command(CLI::App& app, const app::setting_flags& flags, app::command_set& to) {
  CLI::App* const console = app.add_subcommand("console", "serve a web page to look at the outbox");
  to.push_back({console, app::purpose::console,
                [&flags](const app::settings& main) { return serve(main, flags); }, app::scope::process});
}

}  // namespace outboxd::console
