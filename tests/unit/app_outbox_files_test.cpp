// app_outbox_files_test: which files give outboxes, and where the settings of each come from.
#include "app/config/outbox_files.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/config/settings.hpp"

namespace app_outbox_files_test {

using namespace outboxd;
using namespace outboxd::app;

namespace {

// A folder with files; it goes with the object.
class folder {
 public:
  folder() : path_(std::filesystem::temp_directory_path() / ("outboxd-files-" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~folder() { std::filesystem::remove_all(path_); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  std::string path() const { return path_.string(); }
  outbox_file write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return outbox_file_at((path_ / name).string());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("each visible file whose name ends with .toml gives an outbox with its name, in order") {
  const folder in;
  for (const char* name : {"b.toml", "a.1.toml", ".hidden.toml", "..data", "notes.txt", "c.toml.bak"})
    in.write(name, "");
  const auto found = outbox_files_in(in.path());
  REQUIRE(found.has_value());
  REQUIRE(found->size() == 2);
  CHECK(found->at(0).name == "a.1");
  CHECK(found->at(1).name == "b");
  CHECK_FALSE(outbox_files_in(in.path() + "/none").has_value());
}

TEST_CASE("the file of an outbox wins over all defaults, and its routes replace theirs") {
  const folder in;
  const raw_settings defaults{{"amqp.url", {"amqp://shared", "environment OUTBOXD_AMQP_URL"}},
                              {"relay.lanes", {"4", "flag --relay-lanes"}},
                              {"database.url_file", {"/run/secret", "main.toml:2"}},
                              {"route[1].name", {"main", "main.toml:5"}},
                              {"route[2].name", {"other", "main.toml:9"}}};
  const auto plain = settings_of_outbox(in.write("plain.toml", "[relay]\nlanes = 1\n"), defaults);
  REQUIRE(plain.has_value());
  CHECK(plain->at("relay.lanes").text == "1");
  CHECK(plain->at("amqp.url").text == "amqp://shared");
  CHECK(plain->at("route[2].name").text == "other");
  const auto routed = settings_of_outbox(
      in.write("routed.toml", "[database]\nurl = \"postgresql:///own\"\n[[route]]\nname = \"own\"\n"),
      defaults);
  REQUIRE(routed.has_value());
  CHECK(routed->at("database.url").text == "postgresql:///own");
  CHECK_FALSE(routed->contains("database.url_file"));
  CHECK(routed->at("route[1].name").text == "own");
  CHECK_FALSE(routed->contains("route[2].name"));
}

TEST_CASE("a setting of the process in the file of an outbox is an error that names its line") {
  const folder in;
  for (const char* text : {"[http]\nlisten = \"off\"\n", "[log]\nlevel = \"warn\"\n",
                           "[console]\nlisten = \"off\"\n", "[relay]\nshutdown_grace = \"1s\"\n"}) {
    CAPTURE(text);
    const auto one = in.write("one.toml", text);
    const auto read = settings_of_outbox(one, {});
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().message.find(one.path + ":2") != std::string::npos);
    CHECK(read.error().message.find("is a setting of the process") != std::string::npos);
  }
  CHECK(settings_of_outbox(in.write("one.toml", "[console]\naccess = \"act\"\n"), {}).has_value());
}

TEST_CASE("an outbox cannot be called all, nor by a name that labels and file names cannot have") {
  const folder in;
  for (const std::string name : {"all", "", "-a", "a b", "a\"b", "é", "a%sb"}) {
    CAPTURE(name);
    CHECK_FALSE(settings_of_outbox({name, in.write("x.toml", "").path}, {}).has_value());
  }
  CHECK(settings_of_outbox({std::string(63, 'a'), in.write("x.toml", "").path}, {}).has_value());
  CHECK_FALSE(settings_of_outbox({std::string(64, 'a'), in.write("x.toml", "").path}, {}).has_value());
}

TEST_CASE("a limit of memory lowers what a read brings, and never raises it") {
  auto read = read_settings({{"relay.batch_bytes", {"8MB", "here"}}});
  REQUIRE(read.has_value());
  auto& stream = read->relay.leader.stream;
  limit_memory(read->relay, 1'000'000'000);
  CHECK(stream.batch_bytes == 8'000'000);
  CHECK(stream.read.batch == 1'500);
  limit_memory(read->relay, 8'000'000);
  CHECK(stream.batch_bytes == 2'000'000);
  CHECK(stream.read.batch == 375);
  limit_memory(read->relay, 1);
  CHECK(stream.batch_bytes == 1);
  CHECK(stream.read.batch == 1);
}

}  // namespace app_outbox_files_test
