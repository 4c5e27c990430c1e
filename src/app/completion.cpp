#include "app/completion.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace outboxd::app {
namespace {

struct word {
  std::string text;  // run, --config
  std::string help;
};

// One command with what may follow it; the first is outboxd itself, whose flags may follow every command.
struct place {
  std::string path;  // "dead list"
  std::vector<word> commands;
  std::vector<word> flags;
};

struct tree {
  std::vector<place> places;
  std::vector<std::string> file_flags;   // a file's name comes behind them
  std::vector<std::string> value_flags;  // or something else that nobody can complete
  std::vector<std::string> plain_flags;
};

bool is_file(const CLI::Option& one, const std::string& name) {
  return one.get_type_name() == "FILE" || name.ends_with("-file");
}

void add_flags(const CLI::App& app, place& to, tree& all) {
  for (const CLI::Option* one : app.get_options()) {
    // Every command has its own help and version; once is enough.
    if (!to.path.empty() && one == app.get_help_ptr()) continue;
    for (const std::string& name : one->get_lnames()) {
      const std::string flag = "--" + name;
      to.flags.push_back({flag, one->get_description()});
      const bool plain = one->get_items_expected_max() == 0;
      (plain ? all.plain_flags : is_file(*one, flag) ? all.file_flags : all.value_flags).push_back(flag);
    }
  }
}

void add_places(const CLI::App& app, const std::string& path, tree& all) {
  place here{path, {}, {}};
  add_flags(app, here, all);
  const auto shown = app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
  for (const CLI::App* one : shown) here.commands.push_back({one->get_name(), one->get_description()});
  all.places.push_back(std::move(here));
  for (const CLI::App* one : shown)
    add_places(*one, path.empty() ? one->get_name() : path + " " + one->get_name(), all);
}

// --payload has a value at one command and none at another: something is offered behind it at both.
void keep_unambiguous(std::vector<std::string>& flags, const std::vector<std::string>& plain) {
  std::sort(flags.begin(), flags.end());
  flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
  std::erase_if(flags,
                [&](const std::string& one) { return std::count(plain.begin(), plain.end(), one) > 0; });
}

std::string joined(const std::vector<std::string>& words, std::string_view with) {
  return fmt::format("{}", fmt::join(words, with));
}

std::string joined(const std::vector<word>& words) {
  std::string out;
  for (const word& one : words) out += (out.empty() ? "" : " ") + one.text;
  return out;
}

// In single quotes; `within` is how the shell writes one inside of them.
std::string escaped(std::string_view text, std::string_view within) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(within) : std::string(1, c);
  return out + "'";
}

// The part that bash and zsh share: walks over the words before the cursor to the command that they name.
std::string walk(const tree& all, std::string_view words, std::string_view first, std::string_view last) {
  std::string out = fmt::format("  for ((i = {}; i < {}; i++)); do\n    word=${{{}[i]}}\n    case $word in\n",
                                first, last, words);
  out += fmt::format("      {}) ((i++)) ;;\n      *)\n        case \"$at $word\" in\n",
                     joined(all.value_flags, "|") + "|" + joined(all.file_flags, "|"));
  for (const place& one : all.places)
    for (const word& command : one.commands)
      out += fmt::format("          '{} {}') at='{}{}{}' ;;\n", one.path, command.text, one.path,
                         one.path.empty() ? "" : " ", command.text);
  return out + "        esac ;;\n    esac\n  done\n";
}

std::string bash_script(const tree& all) {
  std::string out =
      "# bash completion for outboxd, made by `outboxd completion bash`\n"
      "_outboxd() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} at='' commands='' flags='' word i\n"
      "  COMPREPLY=()\n";
  out += fmt::format(
      "  case ${{COMP_WORDS[COMP_CWORD - 1]}} in\n"
      "    {}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n"
      "    {}) return ;;\n"
      "  esac\n",
      joined(all.file_flags, "|"), joined(all.value_flags, "|"));
  out += walk(all, "COMP_WORDS", "1", "COMP_CWORD");
  out += "  case $at in\n";
  for (const place& one : all.places)
    out += fmt::format("    '{}') commands='{}' flags='{}' ;;\n", one.path, joined(one.commands),
                       joined(one.flags));
  out += "  esac\n";
  out += fmt::format("  if [ -n \"$at\" ]; then flags+=' {}'; fi\n", joined(all.places.front().flags));
  out +=
      "  if [[ $current == -* ]]; then commands=$flags; fi\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$current\")\n"
      "}\n"
      "complete -F _outboxd outboxd\n";
  return out;
}

std::string zsh_list(const std::vector<word>& words) {
  std::string out;
  for (const word& one : words) out += "\n      " + escaped(one.text + ":" + one.help, "'\\''");
  return out;
}

std::string zsh_script(const tree& all) {
  std::string out =
      "#compdef outboxd\n"
      "# zsh completion for outboxd, made by `outboxd completion zsh`\n"
      "_outboxd() {\n"
      "  local at='' word i\n"
      "  local -a commands flags\n";
  out +=
      fmt::format("  case ${{words[CURRENT - 1]}} in\n    {}) _files; return ;;\n    {}) return ;;\n  esac\n",
                  joined(all.file_flags, "|"), joined(all.value_flags, "|"));
  out += walk(all, "words", "2", "CURRENT");
  for (const place& one : all.places) {
    const auto condition =
        one.path.empty() ? std::string("true") : fmt::format("[[ $at == '{}' ]]", one.path);
    out += fmt::format("  if {}; then\n    commands=({})\n    flags+=({})\n  fi\n", condition,
                       zsh_list(one.commands), zsh_list(one.flags));
  }
  out +=
      "  if [[ ${words[CURRENT]} == -* ]]; then _describe -o flag flags; else _describe command commands; "
      "fi\n"
      "}\n"
      "if [[ $funcstack[1] == _outboxd ]]; then _outboxd \"$@\"; else compdef _outboxd outboxd; fi\n";
  return out;
}

std::string fish_script(const tree& all) {
  std::string out = fmt::format(
      "# fish completion for outboxd, made by `outboxd completion fish`\n"
      "function __outboxd_at\n"
      "  set -l at\n"
      "  set -l skip 0\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    if test $skip = 1\n"
      "      set skip 0\n"
      "    else if contains -- $word {} {}\n"
      "      set skip 1\n"
      "    else if not string match -q -- '-*' $word\n"
      "      set -a at $word\n"
      "    end\n"
      "  end\n"
      "  test \"$at\" = \"$argv\"\n"
      "end\n"
      "complete -c outboxd -f\n",
      joined(all.value_flags, " "), joined(all.file_flags, " "));
  for (const place& one : all.places) {
    const auto at = escaped("__outboxd_at " + one.path, "");
    for (const word& command : one.commands)
      out += fmt::format("complete -c outboxd -n {} -a {} -d {}\n", at, command.text,
                         escaped(command.help, "\\'"));
    for (const word& flag : one.flags) {
      const bool file = std::count(all.file_flags.begin(), all.file_flags.end(), flag.text) > 0;
      const bool value = std::count(all.value_flags.begin(), all.value_flags.end(), flag.text) > 0;
      out += fmt::format("complete -c outboxd{} -l {}{} -d {}\n", one.path.empty() ? "" : " -n " + at,
                         flag.text.substr(2),
                         file    ? " -rF"
                         : value ? " -x"
                                 : "",
                         escaped(flag.help, "\\'"));
    }
  }
  return out;
}

}  // namespace

std::optional<shell> parse_shell(std::string_view word) {
  if (word == "bash") return shell::bash;
  if (word == "zsh") return shell::zsh;
  if (word == "fish") return shell::fish;
  return std::nullopt;
}

std::string completion_script(const CLI::App& app, shell of) {
  tree all;
  add_places(app, "", all);
  keep_unambiguous(all.file_flags, all.plain_flags);
  keep_unambiguous(all.value_flags, all.plain_flags);
  switch (of) {
    case shell::bash:
      return bash_script(all);
    case shell::zsh:
      return zsh_script(all);
    case shell::fish:
      return fish_script(all);
  }
  return {};
}

}  // namespace outboxd::app
