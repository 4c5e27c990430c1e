// login: a PostgreSQL user of a test's own.
#pragma once

#include <string>

#include "stage.hpp"

namespace outboxd::test {

class login {
 public:
  /// A user who may log in and is a member of `role` ("" for none).
  explicit login(const std::string& role, const std::string& password = "pa55word");
  ~login();
  login(const login&) = delete;
  login& operator=(const login&) = delete;

  const std::string& name() const { return name_; }
  void change_password(const std::string& password) const;
  /// The stage's database with this user's name and password.
  std::string url(const stage& on, const std::string& password = "pa55word") const;

 private:
  std::string name_;
};

}  // namespace outboxd::test
