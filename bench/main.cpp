// main: runs one benchmark, or all of them, against dedicated servers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "parts/part.hpp"
#include "report/summary.hpp"
#include "stage/interruption.hpp"

extern char** environ;

namespace {

using outboxd::bench::part;
using outboxd::bench::report;
using outboxd::bench::setup;

struct options {
  std::string database_url;
  std::string amqp_url;
  bool use_this_database = false;
  bool quick = false;
  std::string output = "build/bench";
  std::vector<std::string> relay_flags;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Settings of the user's own outboxd would distort the measurement.
void forget_settings() {
  std::vector<std::string> names;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view entry(*one);
    const bool kept = entry.starts_with("OUTBOXD_TEST_") || entry.starts_with("OUTBOXD_SERVICES_");
    if ((entry.starts_with("OUTBOXD_") && !kept) || entry.starts_with("PG"))
      names.emplace_back(entry.substr(0, entry.find('=')));
  }
  for (const auto& name : names) ::unsetenv(name.c_str());
}

setup prepare(const options& chosen) {
  if (chosen.database_url.empty() != chosen.amqp_url.empty())
    throw std::runtime_error("--database-url and --amqp-url go together");
  setup on;
  on.programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  on.output =
      chosen.quick ? std::filesystem::path(chosen.output) / "quick" : std::filesystem::path(chosen.output);
  on.relay_flags = chosen.relay_flags;
  on.own_servers = !chosen.use_this_database;
  on.database_url = chosen.database_url.empty() ? variable("OUTBOXD_DATABASE_URL") : chosen.database_url;
  on.amqp_url = chosen.amqp_url.empty() ? variable("OUTBOXD_AMQP_URL") : chosen.amqp_url;
  forget_settings();
  if (!chosen.use_this_database) require_own_servers(on);
  return on;
}

std::string command_line(const part& which, int argc, char** argv) {
  std::string out = "tools/bench";
  bool named = false;
  for (int i = 1; i < argc; ++i) named = named || std::strcmp(argv[i], which.name()) == 0;
  if (!named) out += fmt::format(" {}", which.name());
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    // A URL may contain a password.
    const bool secret = word.find("://") != std::string_view::npos;
    out += fmt::format(" {}", secret ? std::string_view("...") : word);
  }
  return out;
}

// Returns true on success.
bool run(part& which, const setup& on, const std::string& command, bool quick) {
  try {
    report out(which.name(), on.output, command, quick);
    which.run(on, out);
    out.write();
    return true;
  } catch (const std::exception& failed) {
    fmt::print(stderr, "bench: {}: {}\n", which.name(), failed.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  options chosen;
  CLI::App app{"Measures outboxd, each figure beside its baseline in the same run"};
  app.fallthrough();
  app.require_subcommand(0, 1);
  app.add_option("--database-url", chosen.database_url, "another server than the benchmarks' own");
  app.add_option("--amqp-url", chosen.amqp_url, "another broker than the benchmarks' own");
  app.add_flag("--yes-use-this-database", chosen.use_this_database, "needed with either");
  app.add_flag("--quick", chosen.quick, "tiny sizes: does everything work? The figures mean nothing");
  app.add_option("--output", chosen.output, "the directory for JSON, plots and summary.json");
  app.add_option("--relay-flag", chosen.relay_flags, "passed on to every outboxd run");

  // Other options override --quick, so --quick must be known before they are read.
  for (int i = 1; i < argc; ++i) chosen.quick = chosen.quick || std::strcmp(argv[i], "--quick") == 0;
  auto parts = outboxd::bench::all_parts();
  for (const auto& one : parts) {
    if (chosen.quick) one->be_quick();
    one->add_options(*app.add_subcommand(one->name(), one->help()));
  }
  CLI11_PARSE(app, argc, argv);

  bool good = true;
  outboxd::bench::note_signals();
  try {
    const auto on = prepare(chosen);
    const auto named = app.get_subcommands();
    for (const auto& one : parts) {
      if (!named.empty() && named.front()->get_name() != one->name()) continue;
      outboxd::bench::stop_if_interrupted();
      good = run(*one, on, command_line(*one, argc, argv), chosen.quick) && good;
    }
    outboxd::bench::print_summary(on.output / "summary.json");
  } catch (const std::exception& failed) {
    fmt::print(stderr, "bench: {}\n", failed.what());
    return 1;
  }
  return good ? 0 : 1;
}
