#include "app/config/setting_flags.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "app/config/setting_keys.hpp"

namespace outboxd::app {
namespace {

constexpr const char* default_file = "/etc/outboxd/outboxd.toml";
constexpr const char* default_folder = "/etc/outboxd/outboxes.d";
constexpr const char* common_group = "Settings";
constexpr const char* other_group = "Other settings";

// --help lists only the common settings.
class common_help : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == other_group) return {};
    return CLI::Formatter::make_group(std::move(group), positional, std::move(options));
  }
};

}  // namespace

setting_flags::setting_flags(CLI::App& app) {
  app.formatter(std::make_shared<common_help>());
  config_ = app.add_option("--config", file_, fmt::format("TOML file; {} if there is one", default_file))
                ->type_name("FILE");
  outboxes_ = app.add_option("--outboxes", folder_,
                             fmt::format("folder of TOML files that each give one outbox; {} if it has any",
                                         default_folder))
                  ->type_name("FOLDER");
  for (const setting_key& one : setting_keys) {
    const auto fallback = one.fallback.empty() ? std::string() : fmt::format(" [{}]", one.fallback);
    add(app, {one.key(), one.flag(), {}, nullptr, one.how()}, std::string(one.help) + fallback);
    if (one.secret)
      add(app, {one.key() + "_file", one.flag() + "-file", {}, nullptr, one.how()},
          "a file that holds it; read again at each reconnect");
  }
}

void setting_flags::add(CLI::App& app, flag what, const std::string& help) {
  flag& one = flags_.emplace_back(std::move(what));
  const std::string names = one.key == "outbox.schema" ? "--schema," + one.name : one.name;
  one.option = app.add_option(names, one.value, help)
                   ->type_name("")
                   ->group(one.how == rank::common ? common_group : other_group)
                   ->take_last();
}

std::string setting_flags::help() const {
  std::vector<const CLI::Option*> all;
  for (const flag& one : flags_)
    if (one.how != rank::deprecated) all.push_back(one.option);
  return CLI::Formatter().make_group(common_group, false, all);
}

result<raw_settings> setting_flags::gather() const {
  raw_settings flags;
  for (const flag& one : flags_)
    if (one.option->count() > 0) flags[one.key] = {one.value, fmt::format("flag {}", one.name)};
  auto environment = read_environment(environ);
  if (!environment) return environment;
  raw_settings all = merge(std::move(flags), *environment);
  const auto chosen = configuration_file();
  if (!chosen) return all;
  auto file = read_file(chosen->text, chosen->origin);
  if (!file) return file;
  return merge(std::move(all), *file);
}

result<std::vector<outbox_file>> setting_flags::outboxes() const {
  const char* const variable = std::getenv(outboxes_variable.data());
  const bool named = outboxes_->count() > 0 || variable != nullptr;
  if (!named) {
    if (config_->count() > 0 || std::getenv(config_variable.data()) != nullptr) return {};
    if (::access(default_folder, F_OK) != 0) return {};
    return outbox_files_in(default_folder);
  }
  const std::string folder = outboxes_->count() > 0 ? folder_ : variable;
  auto files = outbox_files_in(folder);
  if (files && files->empty())
    return permanent(fmt::format("the folder {} of outboxes has no file whose name ends with .toml", folder));
  return files;
}

std::optional<raw_value> setting_flags::configuration_file() const {
  if (config_->count() > 0) return raw_value{file_, "flag --config"};
  if (const char* const path = std::getenv(config_variable.data()); path != nullptr)
    return raw_value{path, fmt::format("environment {}", config_variable)};
  if (::access(default_file, F_OK) == 0) return raw_value{default_file, "the default"};
  return std::nullopt;
}

}  // namespace outboxd::app
