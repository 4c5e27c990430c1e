// http_listener_test: ports that are taken, and the files of Unix sockets.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "http/listener.hpp"

namespace http_listener_test {

using namespace outboxd::http;

namespace {

class socket_folder {
 public:
  socket_folder()
      : path_(std::filesystem::temp_directory_path() / ("outboxd-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~socket_folder() { std::filesystem::remove_all(path_); }
  socket_folder(const socket_folder&) = delete;
  socket_folder& operator=(const socket_folder&) = delete;

  std::string file() const { return path_ / "http.sock"; }

 private:
  std::filesystem::path path_;
};

std::string refusal(boost::asio::io_context& io, const address& where) {
  listener one(io.get_executor());
  const auto found = one.open(where);
  return found ? "" : found.error().message;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("port 0 finds a port, and a port that is taken is named with its setting") {
  boost::asio::io_context io;
  listener first(io.get_executor());
  const auto found = first.open(tcp_address{"127.0.0.1", 0});
  REQUIRE(found.has_value());
  CHECK(std::get<tcp_address>(*found).port != 0);
  const auto refused = refusal(io, *found);
  CHECK(has(refused, url_of(*found)));
  CHECK(has(refused, "http.listen"));
  CHECK(has(refused, "listens there already"));
}

TEST_CASE("no address is every address of this machine") {
  boost::asio::io_context io;
  listener every(io.get_executor());
  const auto found = every.open(tcp_address{"", 0});
  REQUIRE(found.has_value());
  CHECK(has(refusal(io, tcp_address{"127.0.0.1", std::get<tcp_address>(*found).port}), "already"));
}

TEST_CASE("an address of another machine is refused in words") {
  boost::asio::io_context io;
  CHECK(has(refusal(io, tcp_address{"192.0.2.1", 0}), "http://192.0.2.1:0 (http.listen)"));
}

TEST_CASE("a Unix socket is for its user and group, and goes when it is closed") {
  const socket_folder in;
  boost::asio::io_context io;
  listener one(io.get_executor());
  REQUIRE(one.open(unix_address{in.file()}).has_value());
  struct stat file {};
  REQUIRE(::stat(in.file().c_str(), &file) == 0);
  CHECK((file.st_mode & 07777) == 0660);
  CHECK(has(refusal(io, unix_address{in.file()}), "listens there already"));
  CHECK(std::filesystem::exists(in.file()));
  one.close();
  CHECK_FALSE(std::filesystem::exists(in.file()));
}

TEST_CASE("a Unix socket that nobody listens on any more is replaced") {
  const socket_folder in;
  boost::asio::io_context io;
  {
    listener dead(io.get_executor());
    REQUIRE(dead.open(unix_address{in.file()}).has_value());
    std::filesystem::rename(in.file(), in.file() + ".kept");
  }
  std::filesystem::rename(in.file() + ".kept", in.file());
  CHECK(refusal(io, unix_address{in.file()}).empty());
}

TEST_CASE("a file that is no socket is left alone") {
  const socket_folder in;
  std::ofstream(in.file()) << "mine";
  boost::asio::io_context io;
  CHECK(has(refusal(io, unix_address{in.file()}), "is no socket"));
  CHECK(std::filesystem::file_size(in.file()) == 4);
  CHECK(has(refusal(io, unix_address{in.file() + "/not/there"}), "cannot listen on unix:"));
}

TEST_CASE("a file that has taken the socket's place is left alone") {
  const socket_folder in;
  boost::asio::io_context io;
  listener one(io.get_executor());
  REQUIRE(one.open(unix_address{in.file()}).has_value());
  std::filesystem::remove(in.file());
  listener other(io.get_executor());
  REQUIRE(other.open(unix_address{in.file()}).has_value());
  one.close();
  CHECK(std::filesystem::exists(in.file()));
}

}  // namespace http_listener_test
